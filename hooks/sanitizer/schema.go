package sanitizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/rawjson"
)

// schema is what a JSON Schema says of which members there are, and no more than
// that.
type schema struct {
	members  []named // in the schema's order
	patterns []named
	// additional are the members that are named nowhere; nil when nothing is said.
	additional *schema
	elements   *schema
	prefix     []*schema
	// fallback is the default, nil without one.
	fallback json.RawMessage
	ref      string
	all      []*schema // of allOf
	some     []*schema // of anyOf, oneOf, if, then, else, dependentSchemas: may apply
	// refuses is the schema false; open is one that says what cannot be followed.
	refuses bool
	open    bool
	// closed: it names its members, if only by saying that there are no others.
	closed bool
	// object: it says that the value is one.
	object bool
}

// named is a member, or the pattern of some, with its schema.
type named struct {
	name   string
	match  *regexp.Regexp // nil: of any name
	schema *schema
}

// document is a schema with what its references lead to.
type document struct {
	root *schema
	raw  json.RawMessage

	mu   sync.Mutex
	refs map[string]*schema
	read int // bytes of what references led to
}

// The bounds of schemas; larger ones are not used.
const (
	maxSchemaBytes = 1 << 20
	maxReferences  = 1000
	// maxReferred bounds what references lead to, in bytes: each is read on its own,
	// and one may lead to what holds another's.
	maxReferred = 4 << 20
)

var errSchema = errors.New("not a schema")

func newDocument(raw json.RawMessage) (*document, error) {
	if len(raw) > maxSchemaBytes || rawjson.Check(raw, maxDepth) != nil {
		return nil, errSchema
	}
	text := bytes.TrimSpace(raw)
	if text[0] != '{' {
		return nil, errSchema
	}
	return &document{root: readSchema(text), raw: text, refs: map[string]*schema{}}, nil
}

// readSchema reads a schema; whatever is not one is open: it refuses nothing.
func readSchema(text json.RawMessage) *schema {
	s := &schema{}
	switch string(text) {
	case "true":
		return s
	case "false":
		s.refuses = true
		return s
	}
	err := rawjson.Members(text, func(m rawjson.Member) { s.read(string(m.Name), text[m.Start:m.End]) })
	s.open = s.open || err != nil
	return s
}

func (s *schema) read(keyword string, value json.RawMessage) {
	switch keyword {
	case "properties":
		s.closed = true
		s.members = readNamed(value)
	case "patternProperties":
		s.closed = true
		s.patterns = readNamed(value)
		for i := range s.patterns {
			// A pattern that Go's engine does not know is taken to match.
			s.patterns[i].match, _ = regexp.Compile(s.patterns[i].name)
		}
	case "additionalProperties", "unevaluatedProperties":
		s.closed = true
		if s.additional == nil || s.additional.refuses {
			s.additional = readSchema(value)
		}
	case "items", "additionalItems":
		if value[0] == '[' {
			s.prefix = readList(value)
			return
		}
		s.elements = readSchema(value)
	case "prefixItems":
		s.prefix = readList(value)
	case "allOf":
		s.all = append(s.all, readList(value)...)
	case "anyOf", "oneOf":
		s.some = append(s.some, readList(value)...)
	case "if", "then", "else":
		s.some = append(s.some, readSchema(value))
	case "dependentSchemas":
		for _, n := range readNamed(value) {
			s.some = append(s.some, n.schema)
		}
	case "default":
		s.fallback = value
	case "type":
		s.object = bytes.Contains(value, []byte(`"object"`))
	case "$ref":
		s.ref, _ = unquote(value)
		s.open = s.open || !strings.HasPrefix(s.ref, "#")
	case "$dynamicRef", "$recursiveRef":
		s.open = true
	}
}

func readNamed(text json.RawMessage) []named {
	var list []named
	_ = rawjson.Members(text, func(m rawjson.Member) { // anything else names none
		list = append(list, named{name: string(m.Name), schema: readSchema(text[m.Start:m.End])})
	})
	return list
}

func readList(text json.RawMessage) []*schema {
	var list []*schema
	_ = rawjson.Elements(text, func(start, end int) { list = append(list, readSchema(text[start:end])) })
	return list
}

// resolve gives what a reference leads to within the document; what cannot be found
// is open.
func (d *document) resolve(ref string) *schema {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.refs[ref]; s != nil {
		return s
	}
	s := &schema{open: true}
	if len(d.refs) >= maxReferences {
		return s
	}
	if text := d.find(ref); text != nil && d.read+len(text) <= maxReferred {
		d.read += len(text)
		s = readSchema(text)
	}
	d.refs[ref] = s
	return s
}

// find gives the text that a reference leads to, nil without one.
func (d *document) find(ref string) json.RawMessage {
	tokens, ok := split(strings.TrimPrefix(ref, "#"))
	if !ok || strings.Contains(ref, "%") {
		return nil
	}
	at := d.raw
	for _, token := range tokens {
		if at = inside(at, token); at == nil {
			return nil
		}
	}
	return at
}

// inside gives a member or an element, nil without one.
func inside(value json.RawMessage, token string) json.RawMessage {
	if value[0] == '{' {
		return rawjson.Find(value, token)
	}
	var found json.RawMessage
	i := 0
	_ = rawjson.Elements(value, func(start, end int) { // what is no array has none
		if strconv.Itoa(i) == token {
			found = value[start:end]
		}
		i++
	})
	return found
}

// schemas remembers the schemas of tools.
type schemas struct {
	mu   sync.Mutex
	byID map[string]remembered
}

type remembered struct {
	hash     string
	document *document
	err      error
}

// maxRemembered is how many schemas are remembered before all are forgotten.
const maxRemembered = 1000

func (c *schemas) of(t *core.Tool) (*document, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.byID[t.ID]; ok && r.hash == t.SchemaHash && t.SchemaHash != "" {
		return r.document, r.err
	}
	d, err := newDocument(t.InputSchema)
	if c.byID == nil || len(c.byID) >= maxRemembered {
		c.byID = map[string]remembered{}
	}
	c.byID[t.ID] = remembered{t.SchemaHash, d, err}
	return d, err
}
