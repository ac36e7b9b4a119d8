package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Kind says what went wrong in a way that a caller can act on. It is itself an
// error, so that errors.Is(err, core.NotFound) asks for it.
type Kind string

// The kinds of refusal. Each transport maps them in one table of its own.
const (
	InvalidParams   Kind = "invalid_params"
	Unauthenticated Kind = "unauthenticated"
	Denied          Kind = "denied"
	NotFound        Kind = "not_found"
	Conflict        Kind = "conflict"
	RateLimited     Kind = "rate_limited"
	Timeout         Kind = "timeout"
	Unavailable     Kind = "unavailable"
	UpstreamError   Kind = "upstream_error"
	HookRejected    Kind = "hook_rejected"
	Internal        Kind = "internal"
)

// Kinds lists every Kind, in the order in which documents name them.
func Kinds() []Kind {
	return []Kind{InvalidParams, Unauthenticated, Denied, NotFound, Conflict, RateLimited,
		Timeout, Unavailable, UpstreamError, HookRejected, Internal}
}

func (k Kind) Error() string { return string(k) }

// Error is a refusal that may be shown to whoever called. Message and Hint are
// fit for a stranger; the private cause is for the log alone.
type Error struct {
	Kind    Kind
	Message string
	// Hint says what the caller can do about it.
	Hint string
	// ToolID names the tool in question, where there is one.
	ToolID string
	// Faults names each invalid argument by its JSON pointer.
	Faults []Fault
	// Candidates are the ids an ambiguous name could mean.
	Candidates []string
	// InputSchema is sent along with invalid arguments, so that a model can mend its call.
	InputSchema json.RawMessage
	// RetryAfter says when another try makes sense; zero when unknown.
	RetryAfter time.Duration

	cause error
}

// Fault is one thing wrong with an input. Pointer is an RFC 6901 JSON pointer,
// "" for the whole input.
type Fault struct {
	Pointer string `json:"pointer"`
	Message string `json:"message"`
}

// Errorf makes an Error of a kind with a message for strangers. Add what they
// must not see with Because.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Because returns e with a private cause.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// WithHint returns e with advice for the caller.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Error gives the kind, the message and, for the log, the cause.
func (e *Error) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("%s: %s", e.Kind, e.Message)
	}
	return fmt.Sprintf("%s: %s: %v", e.Kind, e.Message, e.cause)
}

// Unwrap gives the private cause.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is e's Kind.
func (e *Error) Is(target error) bool {
	k, ok := target.(Kind)
	return ok && k == e.Kind
}

// Public turns any error into what a stranger may see. An *Error is returned as
// it is, an expired or cancelled context becomes Timeout, and everything else is
// Internal with a message that says nothing.
func Public(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return Errorf(Timeout, "the call took longer than it may").Because(err)
	}
	if errors.Is(err, context.Canceled) {
		return Errorf(Timeout, "the call was cancelled").Because(err)
	}
	return Errorf(Internal, "internal error").Because(err)
}
