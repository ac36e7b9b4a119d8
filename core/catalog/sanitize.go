package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/toolscout/toolscout/core"
)

// The bounds of what is taken over from a definition, in bytes unless said.
const (
	maxOriginName  = 1000 // characters
	maxTitle       = 500
	maxDescription = 16 << 10
	maxSchema      = 1 << 20
	// A schema above this is taken over, but costs a model a good part of its
	// attention: one of 53 KB has been seen.
	largeSchema = 32 << 10
	// The database and every program that reads schemas recurse into them.
	maxNesting = 200
	// An exposed name beyond this is shortened, so that there is room for a prefix.
	maxExposed = 500
)

// standardName is what a tool's name should be (MCP 2025-11-25, tools).
var standardName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// anyObject is in force where a server gives no schema that could be used.
var anyObject = json.RawMessage(`{"type":"object"}`)

// Sanitize makes a tool of the definition that a server sent. Whatever can be
// listed is, and what is odd is told in the tool's warnings; the error is for a
// definition without a name by which it could be called.
//
// Name is the original name without hidden characters, to which a prefix can be
// added. The schemas keep the server's own bytes.
func Sanitize(raw json.RawMessage) (core.Tool, error) {
	d, err := decode(raw)
	if err != nil {
		return core.Tool{}, err
	}
	var t core.Tool
	if t.OriginName, err = d.name(); err != nil {
		return core.Tool{}, err
	}
	t.Definition = d.kept(raw)
	t.Name = d.exposed(t.OriginName)
	t.InputSchema = d.inputSchema()
	t.OutputSchema = d.outputSchema()
	t.Annotations = d.annotations()
	t.Title = d.title()
	t.Description = d.description()
	t.SchemaHash = hash(d.fields)
	t.Warnings = d.warnings
	return t, nil
}

// definition is a tool's definition, being read. Fields go by their exact names:
// encoding/json alone would also take "Name" for "name".
type definition struct {
	fields   map[string]json.RawMessage
	warnings []string
}

func decode(raw json.RawMessage) (*definition, error) {
	var d definition
	if err := json.Unmarshal(raw, &d.fields); err != nil || d.fields == nil {
		return nil, errors.New("a tool that is not an object")
	}
	return &d, nil
}

func (d *definition) warn(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
}

// kept gives the definition as the server sent it, unless the database could not
// take it.
func (d *definition) kept(raw json.RawMessage) json.RawMessage {
	if nesting(raw) > maxNesting {
		d.warn("the definition is nested too deeply to be kept")
		return json.RawMessage("{}")
	}
	return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
}

// name gives the original name. It must come back from the database as it went
// in, or the server would not know it.
func (d *definition) name() (string, error) {
	raw, ok := d.fields["name"]
	var name string
	switch {
	case !ok:
		return "", errors.New("a tool without a name")
	case json.Unmarshal(raw, &name) != nil || string(raw) == "null":
		return "", errors.New("a tool whose name is not a string")
	case name == "":
		return "", errors.New("a tool with an empty name")
	case !utf8.Valid(raw) || strings.ContainsAny(name, "\x00\uFFFD"):
		return "", fmt.Errorf("a tool with a broken name, %.60q", name)
	case utf8.RuneCountInString(name) > maxOriginName:
		return "", fmt.Errorf("a tool with a name of %d characters, %.60q", utf8.RuneCountInString(name), name)
	}
	return name, nil
}

// exposed makes the name that can be shown of the original one.
func (d *definition) exposed(origin string) string {
	name, hidden := cleanText(origin)
	name = strings.TrimSpace(strings.NewReplacer("\n", " ", "\t", " ", "\r", " ").Replace(name))
	if name == "" {
		name = "unnamed-" + short(origin)
	}
	if len(name) > maxExposed {
		name = clip(name, maxExposed) + "-" + short(origin)
	}
	switch {
	case len(origin) > maxExposed:
		d.warn("the name of %d bytes is shown shortened", len(origin))
	case hidden || name != origin:
		d.warn("the name holds characters that cannot be seen: it is shown without them")
	case !standardName.MatchString(name):
		d.warn("the name is outside the standard (letters, digits, _ . -, at most 128)")
	}
	return name
}

// title comes from the field of that name, or else from the annotations, as
// older servers have it.
func (d *definition) title() string {
	title := d.text("title")
	if title == "" {
		var a map[string]json.RawMessage
		if json.Unmarshal(d.fields["annotations"], &a) == nil {
			_ = json.Unmarshal(a["title"], &title) // a wrong type is told by annotations
		}
	}
	title, hidden := cleanText(title)
	if hidden {
		d.warn("hidden characters were taken out of the title")
	}
	if len(title) > maxTitle {
		d.warn("the title was cut to %d bytes", maxTitle)
	}
	return clip(title, maxTitle)
}

func (d *definition) description() string {
	text, hidden := cleanText(d.text("description"))
	if hidden {
		d.warn("hidden characters were taken out of the description")
	}
	if strings.TrimSpace(text) == "" {
		d.warn("there is no description")
		return ""
	}
	if len(text) > maxDescription {
		d.warn("the description of %d bytes was cut to %d", len(text), maxDescription)
	}
	return clip(text, maxDescription)
}

// text reads a field that should be a string.
func (d *definition) text(key string) string {
	raw, ok := d.field(key)
	if !ok {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		d.warn("%s is not a string", key)
	}
	return s
}

// field gives a field that is there and not null.
func (d *definition) field(key string) (json.RawMessage, bool) {
	raw, ok := d.fields[key]
	return raw, ok && string(raw) != "null"
}

// hints are the annotations whose types the standard fixes.
var hints = []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}

// annotations gives what the server says about the tool: its own bytes, or, when
// something in them has a wrong type, the rest.
func (d *definition) annotations() json.RawMessage {
	raw, ok := d.field("annotations")
	if !ok {
		return nil
	}
	var a map[string]json.RawMessage
	if json.Unmarshal(raw, &a) != nil || len(raw) > maxSchema || nesting(raw) > maxNesting {
		d.warn("annotations are not an object")
		return nil
	}
	var wrong []string
	for _, hint := range hints {
		if v, ok := a[hint]; ok && string(v) != "true" && string(v) != "false" && string(v) != "null" {
			wrong = append(wrong, hint)
		}
	}
	if v, ok := a["title"]; ok && v[0] != '"' && string(v) != "null" {
		wrong = append(wrong, "title")
	}
	if len(wrong) == 0 {
		return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	d.warn("annotations with a wrong type were left out: %s", strings.Join(wrong, ", "))
	for _, key := range wrong {
		delete(a, key)
	}
	rest, err := json.Marshal(a)
	if err != nil || len(a) == 0 {
		return nil
	}
	return rest
}
