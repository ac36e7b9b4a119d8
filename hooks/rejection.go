package hooks

import "github.com/toolscout/toolscout/core"

// Rejection is a hook's decision that a call must not go on, or that its result
// must not be seen. It always stops the call, whatever the entry says of
// failures.
type Rejection struct{ Err *core.Error }

// Reject makes a rejection that the caller sees.
func Reject(kind core.Kind, format string, args ...any) *Rejection {
	return &Rejection{Err: core.Errorf(kind, format, args...)}
}

func (r *Rejection) Error() string {
	if r.Err == nil {
		return "rejected"
	}
	return r.Err.Error()
}

// Unwrap gives the error that the caller sees.
func (r *Rejection) Unwrap() error {
	if r.Err == nil {
		return nil
	}
	return r.Err
}
