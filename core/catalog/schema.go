package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// inputSchema gives the schema that is in force for the arguments: the server's
// own bytes wherever they describe an object, even if they do not compile.
func (d *definition) inputSchema() json.RawMessage {
	raw, ok := d.field("inputSchema")
	if !ok {
		d.warn("there is no input schema: any arguments are taken")
		return anyObject
	}
	if why := unusable(raw); why != "" {
		d.warn("the input schema %s: any arguments are taken", why)
		return anyObject
	}
	if len(raw) > largeSchema {
		d.warn("the input schema is large: %d KB", len(raw)>>10)
	}
	d.check("input schema", raw, "arguments are not checked")
	return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
}

// outputSchema gives the schema of results, or nil.
func (d *definition) outputSchema() json.RawMessage {
	raw, ok := d.field("outputSchema")
	if !ok {
		return nil
	}
	if why := unusable(raw); why != "" {
		d.warn("the output schema %s: it was left out", why)
		return nil
	}
	d.check("output schema", raw, "it is passed on as it is")
	return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
}

// unusable says why a schema cannot describe an object; "" when it may.
func unusable(raw json.RawMessage) string {
	var s map[string]json.RawMessage
	if json.Unmarshal(raw, &s) != nil {
		return "is not an object"
	}
	if nesting(raw) > maxNesting {
		return "is nested too deeply"
	}
	if len(raw) > maxSchema {
		return fmt.Sprintf("is larger than %d KB", maxSchema>>10)
	}
	var one string
	var several []string
	switch t := s["type"]; {
	case json.Unmarshal(t, &one) == nil && one != "" && one != "object":
		return fmt.Sprintf("describes a %.20s", one)
	case json.Unmarshal(t, &several) == nil && len(several) > 0 && !slices.Contains(several, "object"):
		return "does not describe an object"
	}
	return ""
}

// check warns of a schema that does not compile, or that hides text.
func (d *definition) check(what string, raw json.RawMessage, consequence string) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(bytes.ToValidUTF8(raw, []byte("\uFFFD"))))
	if err != nil {
		d.warn("the %s cannot be read: %s", what, consequence)
		return
	}
	if hides(doc) {
		d.warn("the %s holds characters that cannot be seen", what)
	}
	if err := compile(doc); err != nil {
		d.warn("the %s does not compile: %s (%s)", what, consequence, brief(err))
	}
}

// errRemote is why a schema that points elsewhere does not compile: following the
// pointer would let a server choose whom we call.
var errRemote = errors.New("it refers to another document")

// nowhere loads nothing.
type nowhere struct{}

func (nowhere) Load(string) (any, error) { return nil, errRemote }

// compile reports whether a schema is valid: draft 2020-12 unless it names
// another one, and without references to other documents. The library has been
// seen to panic on schemas from the wild; that is an error like any other.
func compile(doc any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the compiler panicked: %v", r)
		}
	}()
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	if err := c.AddResource("tool:schema", doc); err != nil {
		return err
	}
	_, err = c.Compile("tool:schema")
	return err
}

// brief is the gist of a compiler's complaint, fit for a warning.
func brief(err error) string {
	if errors.Is(err, errRemote) {
		return errRemote.Error()
	}
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		err = invalid.Err
	}
	text, _ := cleanText(err.Error())
	return clip(strings.Join(strings.Fields(text), " "), 200)
}

// hides reports whether any text in a document holds hidden characters.
func hides(doc any) bool {
	switch v := doc.(type) {
	case string:
		_, hidden := cleanText(v)
		return hidden
	case []any:
		if slices.ContainsFunc(v, hides) {
			return true
		}
	case map[string]any:
		for k, e := range v {
			if hides(k) || hides(e) {
				return true
			}
		}
	}
	return false
}

// nesting is how deep the brackets of a JSON document go.
func nesting(raw []byte) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}
