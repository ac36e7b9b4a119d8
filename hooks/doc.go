// Package hooks runs what a team wants to happen before and after every call.
//
// A [Hook] is two functions. An [Entry] says where, when and how strictly one of
// them applies. [Compile] picks the entries that apply to a [Call] and sorts them
// into a [Chain], and a [Runner] sends the call through it, like an arrow through
// an onion: the outermost hook sees the call first and its result last.
//
//	       audit   access   rate limit          the work
//	before   1 ──▶   2   ──▶    3      ──▶  ┌──────────────┐
//	after    6 ◀──   5   ◀──    4      ◀──  └──────────────┘
//
// The rules, each held by a test:
//
//   - Order: scope first (global, server, user, user and server), then priority,
//     then name. After in reverse.
//   - Onion: a hook whose Before was started gets its After, whatever happens
//     further in: a rejection, a failure, a panic, a caller who has gone.
//   - A hook works on a copy. What it changed counts once it returns nil; a hook
//     that fails has changed nothing.
//   - A [Rejection] always stops the call. Any other error, a panic or a timeout
//     is a failure, and the entry's [OnError] says what follows from it.
//   - A Before that sets the result answers in place of everything further in.
//   - Nobody waits for a hook beyond its timeout, even if it ignores its context.
package hooks
