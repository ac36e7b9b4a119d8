package core

// DefaultLimit and MaxLimit bound how many items a page of a list holds.
const (
	DefaultLimit = 50
	MaxLimit     = 200
)

// Page asks for a part of a list. Cursor is what the part before ended with, ""
// for the first.
type Page struct {
	Limit  int
	Cursor string
}

// List is a part of a list. NextCursor is "" at its end.
type List[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"nextCursor,omitempty"`
}
