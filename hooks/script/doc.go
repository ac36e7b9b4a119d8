// Package script is the hook that a team writes itself, in Starlark: a small
// Python that can do nothing but compute.
//
//	def before_call(ctx, request):
//	    if ctx.tool == "github_create_issue":
//	        request.arguments.setdefault("repo", config["repo"])
//	    return request.arguments
//
// A script is compiled once and its module-level code run once; what that leaves
// is frozen. Each call then has a thread of its own, so that one script serves many
// calls at once and carries nothing from one to the next but its cache.
//
// The interpreter bounds steps and nothing else: one step can make a string of a
// gigabyte, or compare two lists for an hour. So what costs more than its step is
// written anew in the syntax tree as a call of ours (rewrite.go), which charges the
// run's account (account.go) before it does the work (operators.go, methods.go).
// Memory that was charged is never given back: a run's account bounds what it
// allocates in all, and so what it can hold.
//
// JSON goes in and out as it was wherever the script left it alone (decode.go,
// encode.go): literals of numbers, escapes and the order of keys survive next to a
// member that was changed.
package script
