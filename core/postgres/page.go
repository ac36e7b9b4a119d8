package postgres

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/toolscout/toolscout/core"
)

// limit is how many items a page holds: what was asked for, within bounds.
func limit(p core.Page) int {
	if p.Limit <= 0 {
		return core.DefaultLimit
	}
	return min(p.Limit, core.MaxLimit)
}

// cursor is the last key of a page: what the list is ordered by, and the id.
type cursor struct {
	Key string `json:"k,omitempty"`
	ID  string `json:"i"`
}

func (c cursor) String() string {
	raw, err := json.Marshal(c)
	if err != nil {
		panic(err) // two strings
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// readCursor gives back what String made; the zero cursor for "".
func readCursor(s string) (cursor, error) {
	if s == "" {
		return cursor{}, nil
	}
	var c cursor
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return cursor{}, badCursor(err)
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return cursor{}, badCursor(err)
	}
	if !isID(c.ID) || clean(c.Key) != c.Key {
		return cursor{}, badCursor(nil)
	}
	return c, nil
}

func badCursor(cause error) error {
	return core.Errorf(core.InvalidParams, "the cursor is not one that this list gave out").
		WithHint("start again without a cursor").Because(cause)
}

// time reads the key of a list that is ordered by time.
func (c cursor) time() (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, c.Key)
	if err != nil {
		return time.Time{}, badCursor(err)
	}
	return t, nil
}

// page makes a list of items that were fetched with one more than n of them, so
// that the end is known.
func page[T any](items []T, n int, key func(T) cursor) core.List[T] {
	if len(items) <= n {
		if items == nil {
			items = []T{}
		}
		return core.List[T]{Items: items}
	}
	items = items[:n]
	return core.List[T]{Items: items, NextCursor: key(items[n-1]).String()}
}
