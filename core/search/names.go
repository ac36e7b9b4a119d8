package search

import (
	"strings"

	"github.com/toolscout/toolscout/embeddings/words"
)

// squash is a name without its signs and capitals: list_files, listFiles and
// "list files" are one.
func squash(name string) string {
	var b strings.Builder
	for word := range words.Of(name) {
		b.Write(word)
	}
	return b.String()
}

// named gives the names that a query may give exactly: itself, and whatever in it
// is put together of several words as identifiers are.
func named(query string) map[string]bool {
	names := map[string]bool{squash(query): true}
	for field := range strings.FieldsSeq(query) {
		// What stands before a colon, a stroke or a dot may be the server.
		for part := range strings.FieldsFuncSeq(field, func(r rune) bool { return strings.ContainsRune("/:.,;()\"'`", r) }) {
			n := 0
			for range words.Of(part) {
				n++
			}
			if n > 1 {
				names[squash(part)] = true
			}
		}
	}
	delete(names, "")
	return names
}

// namedFirst puts the tools first whose names the query gives.
func (s *search) namedFirst(list []*candidate) []*candidate {
	var first, others []*candidate
	for _, c := range list {
		c.named = s.named[squash(c.name)]
		if c.named {
			first = append(first, c)
		} else {
			others = append(others, c)
		}
	}
	return append(first, others...)
}
