package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// hashed are the fields that make a tool what it is to a model and to a policy. A
// change in any of them, also one that cannot be seen, is another hash.
var hashed = []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"}

// hash is the SHA-256, in hex, of a definition's canonical JSON: the hashed
// fields as the server sent them, keys sorted, without space, number literals as
// they are.
func hash(fields map[string]json.RawMessage) string {
	kept := map[string]any{}
	for _, key := range hashed {
		raw, ok := fields[key]
		if !ok {
			continue
		}
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber()
		var v any
		if d.Decode(&v) != nil {
			v = string(raw) // cannot be: raw is a part of a document that was read
		}
		kept[key] = v
	}
	canonical, err := json.Marshal(kept) // sorts keys
	if err != nil {
		panic(err) // it was JSON before
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// short is a mark of a text, stable and fit for a name.
func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:3])
}
