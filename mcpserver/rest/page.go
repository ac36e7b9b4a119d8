package rest

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/toolscout/toolscout/core"
)

// part cuts a page out of a short list that is at hand whole. key gives each item
// its place; the cursor is the key of the last item of the part before.
func part[From, To any](all []From, page Page, key func(From) string, convert func(From) To) (List[To], error) {
	after, err := base64.RawURLEncoding.DecodeString(page.Cursor)
	if err != nil {
		return List[To]{}, core.Errorf(core.InvalidParams, "the cursor is not one that this list gave out").
			WithHint("start again without a cursor").Because(err)
	}
	all = slices.SortedFunc(slices.Values(all), func(a, b From) int { return cmp.Compare(key(a), key(b)) })
	all = slices.DeleteFunc(all, func(item From) bool { return page.Cursor != "" && key(item) <= string(after) })
	out := core.List[From]{Items: all}
	if limit := page.page().Limit; len(all) > limit {
		out.Items = all[:limit]
		out.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(key(all[limit-1])))
	}
	return listOf(out, convert), nil
}

// modelKey orders models by their number.
func modelKey(m core.Model) string { return fmt.Sprintf("%020d", m.ID) }
