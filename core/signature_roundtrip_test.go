package core_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/schema"
	"github.com/toolscout/toolscout/core/tokens"
)

// reader makes arguments of a signature, knowing nothing else of the tool, as a model
// would that takes it at its word.
type reader struct {
	rest string
	all  bool // optional parameters too
}

// arguments are those that a signature calls for.
func arguments(signature string, all bool) (args string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	r := &reader{rest: signature, all: all}
	r.expect("(")
	args = r.members(")")
	if r.rest != "" {
		panic("left over: " + r.rest)
	}
	return args, nil
}

func (r *reader) expect(s string) {
	if !r.accept(s) {
		panic(fmt.Sprintf("want %q before %q", s, r.rest))
	}
}

func (r *reader) accept(s string) (ok bool) {
	if strings.HasPrefix(r.rest, s) {
		r.rest, ok = r.rest[len(s):], true
	}
	return ok
}

// members reads parameters up to the end of an object, and gives it.
func (r *reader) members(end string) string {
	var list []string
	for !r.accept(end) {
		r.accept(", ")
		if r.accept("…") {
			continue
		}
		name := r.name()
		optional := r.accept("?")
		r.expect(": ")
		value := r.value()
		if !optional || r.all {
			list = append(list, name+":"+value)
		}
	}
	return "{" + strings.Join(list, ",") + "}"
}

// name reads a parameter's name and gives it as JSON.
func (r *reader) name() string {
	if strings.HasPrefix(r.rest, `"`) {
		return r.literal()
	}
	end := strings.IndexAny(r.rest, "?:")
	if end < 1 {
		panic("no name: " + r.rest)
	}
	name := r.rest[:end]
	r.rest = r.rest[end:]
	quoted, _ := json.Marshal(name)
	return string(quoted)
}

func (r *reader) literal() string {
	dec := json.NewDecoder(strings.NewReader(r.rest))
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		panic(err)
	}
	r.rest = r.rest[dec.InputOffset():]
	return string(raw)
}

// value reads a type and gives a value of it: of a union, the first that is not null.
func (r *reader) value() string {
	options := []string{r.single()}
	for r.accept("|") {
		options = append(options, r.single())
	}
	if options[0] == "null" && len(options) > 1 {
		return options[1]
	}
	return options[0]
}

func (r *reader) single() string {
	value := r.plain()
	for r.accept("[]") {
		n := 1
		if r.accept("<") {
			n = int(r.least())
			r.expect(">")
		}
		value = "[" + strings.Join(slices.Repeat([]string{value}, n), ",") + "]"
	}
	return value
}

func (r *reader) plain() string {
	for word, value := range words {
		if r.accept(word) {
			if (word == "number" || word == "integer") && r.accept("<") {
				value = strconv.FormatFloat(r.least(), 'f', -1, 64)
				r.expect(">")
			}
			if word == "string" && r.accept("<") {
				return r.form()
			}
			return value
		}
	}
	switch {
	case r.accept("["):
		list := []string{r.value()}
		for r.accept(", ") {
			list = append(list, r.value())
		}
		r.expect("]")
		return "[" + strings.Join(list, ",") + "]"
	case r.accept("("):
		value := r.value()
		r.expect(")")
		return value
	case r.accept("{"):
		return r.members("}")
	case r.accept("…"):
		return `"…"`
	}
	return r.literal()
}

// least reads bounds, and gives the lower one; 0 where there are none.
func (r *reader) least() float64 {
	bounds, _, _ := strings.Cut(r.rest[:strings.IndexAny(r.rest, " >")], "..")
	least, err := strconv.ParseFloat(bounds, 64)
	if err != nil {
		return 0
	}
	r.rest = r.rest[strings.IndexAny(r.rest, " >"):]
	r.accept(" ")
	return least
}

// form reads what a text must look like, and gives one.
func (r *reader) form() string {
	least := int(r.least())
	if !r.accept("/") {
		name, rest, _ := strings.Cut(r.rest, ">")
		r.rest = rest
		return cmp.Or(formats[name], long("text", least))
	}
	pattern, rest, _ := strings.Cut(r.rest, "/>")
	r.rest = rest
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return long("text", least)
	}
	return long(example(parsed.Simplify()), least)
}

// long is a text as JSON, repeated to have so many characters.
func long(text string, least int) string {
	if least > 0 && text != "" {
		text = strings.Repeat(text, least/len(text)+1)[:least]
	}
	quoted, _ := json.Marshal(text)
	return string(quoted)
}

var formats = map[string]string{"uri": `"https://example.com/"`, "url": `"https://example.com/"`, "email": `"ada@example.com"`,
	"date": `"2026-01-31"`, "date-time": `"2026-01-31T12:00:00Z"`, "time": `"12:00:00Z"`, "ipv4": `"192.0.2.1"`, "ipv6": `"2001:db8::1"`,
	"uuid": `"123e4567-e89b-42d3-a456-426614174000"`, "hostname": `"example.com"`, "duration": `"P1D"`}

// example is a text that a regular expression matches.
func example(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		for _, c := range "a1-_ " { // not a control character, if it can be avoided
			for i := 0; i+1 < len(re.Rune); i += 2 {
				if re.Rune[i] <= c && c <= re.Rune[i+1] {
					return string(c)
				}
			}
		}
		return string(re.Rune[0])
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a"
	case syntax.OpCapture, syntax.OpPlus:
		return example(re.Sub[0])
	case syntax.OpRepeat:
		return strings.Repeat(example(re.Sub[0]), re.Min)
	case syntax.OpAlternate:
		return example(re.Sub[0])
	case syntax.OpConcat:
		var b strings.Builder
		for _, sub := range re.Sub {
			b.WriteString(example(sub))
		}
		return b.String()
	}
	return ""
}

var words = map[string]string{"string": `"text"`, "number": "1", "integer": "1", "boolean": "true", "null": "null",
	"any": `"text"`, "object": "{}"}

// faultsOf validates what was made of a schema's signature. An error says that there
// is nothing to validate with.
func faultsOf(input json.RawMessage, all bool) (args string, faults []core.Fault, err error) {
	compiled := schema.Compile(input)
	if why := compiled.Unusable(); why != "" {
		return "", nil, errors.New(why)
	}
	if args, err = arguments(core.Signature(input), all); err != nil {
		return "", []core.Fault{{Message: err.Error()}}, nil
	}
	in, faults := schema.DecodeObject([]byte(args))
	if len(faults) == 0 {
		faults, _ = compiled.Check(in)
	}
	return args, faults, nil
}

// BenchmarkRoundTrip says for how many of the real tools in TOOLSCOUT_EVAL_DIR the
// arguments made of nothing but the signature are valid: with what is required alone,
// and with every parameter.
func BenchmarkRoundTrip(b *testing.B) {
	inputs := corpus(b)
	for _, all := range []bool{false, true} {
		b.Run(map[bool]string{false: "required", true: "all"}[all], func(b *testing.B) {
			valid, total, cost := 0, 0, 0
			for b.Loop() {
				valid, total, cost = 0, 0, 0
				for _, input := range inputs {
					args, faults, err := faultsOf(input, all)
					if err != nil {
						continue
					}
					total++
					cost += tokens.Estimate(core.Signature(input))
					if len(faults) == 0 {
						valid++
					} else if os.Getenv("SHOW") != "" {
						fmt.Printf("%s\n\t%s\n\t%v\n\t%.600s\n", core.Signature(input), args, faults, input)
					}
				}
			}
			b.ReportMetric(100*float64(valid)/float64(max(1, total)), "%valid")
			b.ReportMetric(float64(total), "tools")
			b.ReportMetric(float64(cost)/float64(max(1, total)), "tokens/signature")
		})
	}
}

// corpus gives the input schemas of real tools, or those of TestRoundTrip.
func corpus(b *testing.B) (inputs []json.RawMessage) {
	b.Helper()
	folder := os.Getenv("TOOLSCOUT_EVAL_DIR")
	if folder == "" {
		for _, input := range callable {
			inputs = append(inputs, json.RawMessage(input))
		}
		return inputs
	}
	f, err := os.Open(filepath.Join(folder, "corpus", "mcp_tools.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for dec := json.NewDecoder(bufio.NewReader(f)); ; {
		var row struct {
			InputSchema json.RawMessage `json:"input_schema"`
		}
		if err := dec.Decode(&row); errors.Is(err, io.EOF) {
			return inputs
		} else if err != nil {
			b.Fatal(err)
		}
		inputs = append(inputs, row.InputSchema)
	}
}

// TestRoundTrip makes arguments of signatures alone: they are valid, whatever form
// the schema describes them in.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for name, input := range callable {
		for _, all := range []bool{false, true} {
			args, faults, err := faultsOf(json.RawMessage(input), all)
			if err != nil || len(faults) > 0 {
				t.Errorf("%s: %s of %s: %v %v", name, args, core.Signature(json.RawMessage(input)), faults, err)
			}
		}
	}
}

// callable are forms that schemas in the wild have, each of which a signature once
// lost something of.
var callable = map[string]string{
	"order":            `{"properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["a"]}`,
	"enum_and_const":   `{"properties":{"a":{"enum":["x","y"]},"b":{"const":7}},"required":["a","b"]}`,
	"nullable_enum":    `{"properties":{"a":{"anyOf":[{"enum":["OPEN","DONE"],"type":"string"},{"type":"null"}]}},"required":["a"]}`,
	"within_an_object": `{"properties":{"o":{"type":"object","properties":{"s":{"anyOf":[{"enum":[3,4]},{"type":"null"}]}},"required":["s"]}},"required":["o"]}`,
	"deep": `{"properties":{"f":{"type":"array","items":{"type":"object","properties":{"g":{"type":"array","items":{"type":"object",
		"properties":{"name":{"type":"string"},"op":{"enum":["EQ","NEQ"]},"note":{"type":"string"}},"required":["name","op"]}}},"required":["g"]}}},"required":["f"]}`,
	"union_of_objects": `{"properties":{"a":{"type":"array","items":{"anyOf":[{"type":"object","properties":{"k":{"const":"x"},"v":{"type":"number"}},"required":["k","v"]},
		{"type":"object","properties":{"k":{"const":"y"}},"required":["k"]}]}}},"required":["a"]}`,
	"all_of":        `{"properties":{"a":{"allOf":[{"type":"string"},{"type":"string","enum":["true","false"]}]}},"required":["a"]}`,
	"never":         `{"properties":{"a":{"anyOf":[{"not":{}},{"type":"integer"}]}},"required":["a"]}`,
	"tuple":         `{"properties":{"a":{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"minItems":2,"maxItems":2,"items":false}},"required":["a"]}`,
	"formats":       `{"properties":{"u":{"type":"string","format":"uri"},"m":{"type":"string","format":"email"},"d":{"type":"string","format":"date-time"},"i":{"type":"string","format":"uuid"}},"required":["u","m","d","i"]}`,
	"pattern":       `{"properties":{"a":{"type":"string","pattern":"^\\d{4}-(Q[1-4]|H[12])$"}},"required":["a"]}`,
	"not_described": `{"properties":{"a":{"type":"string"}},"required":["a","b"]}`,
	"reference":     `{"$defs":{"P":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}},"properties":{"p":{"$ref":"#/$defs/P"}},"required":["p"]}`,
	"pointer":       `{"properties":{"p":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}},"q":{"type":"array","items":{"$ref":"#/properties/p/items"}}},"required":["q"]}`,
	"very_deep": `{"properties":{"a":{"type":"object","properties":{"b":{"type":"object","properties":{"c":{"type":"object","properties":{"d":{"type":"object",
		"properties":{"e":{"type":"object","properties":{"f":{"type":"object","properties":{"g":{"type":"number"}},"required":["g"]}},"required":["f"]}},"required":["e"]}},"required":["d"]}},"required":["c"]}},"required":["b"]}},"required":["a"]}`,
	"union_in_union": `{"properties":{"a":{"anyOf":[{"anyOf":[{"anyOf":[{"type":"object","properties":{"k":{"const":1}},"required":["k"]}]}]}]}},"required":["a"]}`,
	"variants":       `{"properties":{"a":{"type":"object","oneOf":[{"properties":{"k":{"const":1}},"required":["k"]},{"properties":{"l":{"type":"string"}},"required":["l"]}]}},"required":["a"]}`,
	"bounds": `{"properties":{"n":{"type":"integer","minimum":10,"maximum":100},"s":{"type":"string","minLength":2,"maxLength":2},"l":{"type":"array","items":{"type":"string"},"minItems":3},
		"p":{"type":"string","pattern":"^\\d+$","minLength":8,"maxLength":8},"f":{"type":"number","minimum":2.5}},"required":["n","s","l","p","f"]}`,
	"many_required":  manyRequired(30, `{"type":"string"}`),
	"many_long_ones": manyRequired(20, `{"enum":["a-long-value-of-an-enum","another-long-value-of-it","a-third-long-value-of-it","a-fourth"]}`),
	"nothing":        `{"type":"object"}`,
}

// manyRequired is a schema with n required parameters.
func manyRequired(n int, schema string) string {
	var properties, names []string
	for i := range n {
		names = append(names, fmt.Sprintf(`"parameter_%d"`, i))
		properties = append(properties, names[i]+":"+schema)
	}
	return `{"properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(names, ",") + `]}`
}
