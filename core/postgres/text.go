package postgres

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strings"

	"github.com/toolscout/toolscout/core"
)

// clean makes text that Postgres can store: it knows no NUL, and nothing that is
// not UTF-8. Both become U+FFFD.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func cleanAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = clean(s)
	}
	return out
}

func cleanMap(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for name, value := range m {
		out[clean(name)] = clean(value)
	}
	return out
}

// document is raw as a json column takes it: nil where there is none, and
// otherwise the same bytes, escapes like \u0000 included.
func document(raw json.RawMessage) *string {
	if len(raw) == 0 {
		return nil
	}
	s := string(bytes.ToValidUTF8(raw, []byte("\uFFFD")))
	return &s
}

// TextHash is the SHA-256 of everything that the vector of a tool is made of:
// name, title, description, input schema and the name of its server. A vector is
// out of date when it was made for another hash.
func TextHash(t core.Tool, serverName string) []byte {
	h := sha256.New()
	var size [8]byte
	for _, part := range []string{t.Name, t.Title, t.Description, string(t.InputSchema), serverName} {
		part = clean(part)
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	return h.Sum(nil)
}
