package upstream

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// headerValue writes s as protocol 2026-07-28 wants it in a header: as it is where
// HTTP allows it, else in base64 with a mark.
func headerValue(s string) string {
	for i := range len(s) {
		if s[i] < ' ' && s[i] != '\t' || s[i] > '~' {
			return encodedHeader(s)
		}
	}
	if strings.TrimSpace(s) != s || strings.HasPrefix(s, "=?base64?") && strings.HasSuffix(s, "?=") {
		return encodedHeader(s)
	}
	return s
}

func encodedHeader(s string) string {
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// schemaNode is the part of a schema that says which arguments are mirrored.
type schemaNode struct {
	Header     string                     `json:"x-mcp-header"`
	Properties map[string]json.RawMessage `json:"properties"`
}

// mirrored gives the arguments that a tool's schema wants repeated in headers, by
// the header's name after "Mcp-Param-".
func mirrored(schema, args json.RawMessage) map[string]string {
	if !bytes.Contains(schema, []byte(`"x-mcp-header"`)) {
		return nil
	}
	out := map[string]string{}
	mirror(schema, args, out, 0)
	return out
}

// maxMirrorDepth bounds how deep schemas are searched.
const maxMirrorDepth = 16

func mirror(schema, value json.RawMessage, out map[string]string, depth int) {
	var node schemaNode
	if json.Unmarshal(schema, &node) != nil || depth > maxMirrorDepth {
		return
	}
	if node.Header != "" && token(node.Header) {
		if s, ok := primitive(value); ok {
			out[node.Header] = headerValue(s)
		}
	}
	if len(node.Properties) == 0 {
		return
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(value, &fields) != nil {
		return
	}
	for name, property := range node.Properties {
		if field, ok := fields[name]; ok {
			mirror(property, field, out, depth+1)
		}
	}
}

// primitive gives a string, boolean or safe integer as a header holds it.
func primitive(value json.RawMessage) (string, bool) {
	var v any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return "", false
	}
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return string(bytes.TrimSpace(value)), true
	case json.Number:
		const safe = 1<<53 - 1 // what a double holds exactly
		n, err := v.Int64()
		return v.String(), err == nil && n <= safe && n >= -safe
	}
	return "", false
}

// token reports whether s may be part of a header's name (RFC 9110, section 5.6.2).
func token(s string) bool {
	return strings.Trim(s, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && s != ""
}
