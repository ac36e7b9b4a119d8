package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolscout/toolscout/core"
)

const (
	// maxBody bounds a request body, unless its route says otherwise (DESIGN.md, rule 11).
	maxBody = 4 << 20
	// maxDepth bounds how deep a body may nest. Real tool arguments stay below 20.
	maxDepth = 100
	// maxNumber bounds the length of a number and its exponent. JavaScript's
	// numbers end at 1e308.
	maxNumber = 400
)

// readBody reads a JSON body of so many bytes at most. An absent body is nil.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, refuse(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", tooLarge.Limit)
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the body could not be read").because(err)
	}
	if len(data) == 0 {
		return nil, nil
	}
	return data, checkContentType(r)
}

// checkContentType accepts JSON, and a body that does not say what it is.
func checkContentType(r *http.Request) error {
	header := r.Header.Get("Content-Type")
	if header == "" {
		return nil
	}
	media, _, err := mime.ParseMediaType(header)
	patch := r.Method == http.MethodPatch && media == "application/merge-patch+json"
	if err == nil && (media == "application/json" || patch) {
		return nil
	}
	return refuse(http.StatusUnsupportedMediaType, "the content type is %q", clip(header)).
		withHint("send Content-Type: application/json")
}

// parse reads exactly one JSON value, more strictly than encoding/json: text must
// be UTF-8, a key may stand in an object only once, and nesting is bounded.
// Number literals are kept as they are.
func parse(data []byte) (any, error) {
	if !utf8.Valid(data) {
		return nil, refuse(http.StatusBadRequest, "the body is not UTF-8")
	}
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, malformed(data, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return parseValue(dec, nil)
}

// malformed says where JSON breaks off.
func malformed(data []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return refuse(http.StatusBadRequest, "the body is not JSON").because(err)
	}
	before := data[:min(int(syntax.Offset), len(data))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n') - 1
	return refuse(http.StatusBadRequest, "the body is not JSON: line %d, column %d: %v", line, column, err)
}

func parseValue(dec *json.Decoder, path []string) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the body is not JSON").because(err)
	}
	if len(path) > maxDepth {
		return nil, refuse(http.StatusBadRequest, "the body nests deeper than %d levels", maxDepth)
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return parseObject(dec, path)
		}
		return parseArray(dec, path)
	case json.Number:
		return parseNumber(t, path)
	default:
		return t, nil
	}
}

// parseNumber keeps the literal. One with an endless exponent is refused: the
// validator would write it out.
func parseNumber(n json.Number, path []string) (any, error) {
	_, exponent, found := strings.Cut(strings.ToLower(string(n)), "e")
	if e, err := strconv.Atoi(exponent); len(n) <= maxNumber && (!found || err == nil && max(e, -e) <= maxNumber) {
		return n, nil
	}
	e := core.Errorf(core.InvalidParams, "the body holds a number that is out of range")
	e.Faults = []core.Fault{{Pointer: clip(pointer(path)), Message: "the number is out of range"}}
	return nil, e
}

func parseObject(dec *json.Decoder, path []string) (any, error) {
	object := map[string]any{}
	for dec.More() {
		token, err := dec.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			return nil, refuse(http.StatusBadRequest, "the body is not JSON").because(err)
		}
		at := append(path, key)
		if _, ok := object[key]; ok {
			return nil, refuse(http.StatusBadRequest, "the key %q stands twice in one object", clip(key)).
				at(clip(pointer(at)), "duplicate key")
		}
		if object[key], err = parseValue(dec, at); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return object, err
}

func parseArray(dec *json.Decoder, path []string) (any, error) {
	array := []any{}
	for dec.More() {
		value, err := parseValue(dec, append(path, strconv.Itoa(len(array))))
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := dec.Token()
	return array, err
}

// pointer writes a path as an RFC 6901 JSON pointer.
func pointer(path []string) string {
	var b strings.Builder
	for _, key := range path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
	}
	return b.String()
}
