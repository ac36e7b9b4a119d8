package core

import (
	"bytes"
	"encoding/json"
)

// EncodeJSON is v as JSON that is read by models and people: nothing in it is
// escaped for HTML, and what servers wrote stays as they wrote it.
func EncodeJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
