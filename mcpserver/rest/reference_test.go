package rest_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the reference and the golden files anew")

// TestReference holds docs/api.md to the OpenAPI document.
func TestReference(t *testing.T) {
	t.Parallel()
	golden(t, "../../docs/api.md", reference(description(t)))
}

// golden compares with a file, or writes it with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got, string(want)); d != "" {
		t.Errorf("%s is not what the code says; write it with: make docs (-got +want)\n%s", file, d)
	}
}

// The parts of an OpenAPI document that a reference shows.
type (
	document struct {
		Info  struct{ Description string }
		Tags  []struct{ Name, Description string }
		Paths map[string]map[string]operation

		Components struct {
			Schemas   map[string]schema
			Responses map[string]response
		}
	}
	operation struct {
		OperationID          string
		Summary, Description string
		Tags                 []string
		Parameters           []parameter
		RequestBody          *struct {
			Required bool
			Content  map[string]media
		}
		Responses map[string]response
	}
	parameter struct {
		Name, In, Description string
		Required              bool
		Schema                schema
	}
	media    struct{ Schema schema }
	response struct {
		Ref         string `json:"$ref"`
		Description string
		Content     map[string]media
	}
	schema struct {
		Ref                  string `json:"$ref"`
		Type                 any
		Description          string
		Enum                 []any
		Default              any
		Minimum, Maximum     *float64
		Examples             []any
		Items                *schema
		Properties           map[string]schema
		Required             []string
		AdditionalProperties any
	}
)

// reference writes the document for people who read it on paper or in a
// repository. /docs is the same to click on.
func reference(doc document) string {
	var b strings.Builder
	b.WriteString("# The REST API\n\n<!-- Written by make docs from the route table in mcpserver/rest. -->\n\n")
	b.WriteString(doc.Info.Description + "\n\n")
	b.WriteString("Every route needs `Authorization: Bearer TOKEN`; those under `/v1/admin/` a token of an admin. A running server describes itself at\n" +
		"`/openapi.json`, and at `/docs` for people; these two need no token. A star marks what is required.\n\n")
	b.WriteString("```sh\ncurl -H \"Authorization: Bearer $TOOLSCOUT_TOKEN\" 'http://127.0.0.1:8080/v1/tools?query=read+a+file'\n```\n")
	for _, tag := range doc.Tags {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", strings.ToUpper(tag.Name[:1])+tag.Name[1:], tag.Description)
		for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
			for _, method := range []string{"get", "post", "put", "patch", "delete"} {
				if op, ok := doc.Paths[path][method]; ok && op.Tags[0] == tag.Name {
					writeOperation(&b, path, method, op)
				}
			}
		}
	}
	b.WriteString("\n## Types\n")
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		fmt.Fprintf(&b, "\n### %s\n\n", name)
		writeFields(&b, doc.Components.Schemas[name])
	}
	return b.String()
}

func writeOperation(b *strings.Builder, path, method string, op operation) {
	fmt.Fprintf(b, "\n### %s %s\n\n%s.", strings.ToUpper(method), path, op.Summary)
	if op.Description != "" {
		b.WriteString(" " + op.Description)
	}
	b.WriteString("\n\n")
	if len(op.Parameters) > 0 {
		b.WriteString("| parameter | type | meaning |\n|---|---|---|\n")
		for _, p := range op.Parameters {
			fmt.Fprintf(b, "| `%s`%s | %s | %s |\n", p.Name, required(p.Required), typeName(p.Schema), meaning(p.Description, p.Schema))
		}
		b.WriteString("\n")
	}
	if op.RequestBody != nil {
		body := op.RequestBody.Content["application/json"].Schema
		if body.Properties == nil {
			fmt.Fprintf(b, "Body: %s.\n\n", typeName(body))
		} else {
			b.WriteString("Body: " + body.Description + "\n\n")
			writeFields(b, body)
			b.WriteString("\n")
		}
	}
	writeAnswers(b, op)
}

func writeAnswers(b *strings.Builder, op operation) {
	var problems []string
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		if r := op.Responses[status]; r.Ref != "" {
			problems = append(problems, status)
		} else if m, ok := r.Content["application/json"]; ok {
			fmt.Fprintf(b, "Answers %s: %s. ", status, typeName(m.Schema))
		} else if m, ok := r.Content["text/event-stream"]; ok {
			fmt.Fprintf(b, "Answers %s: a stream, each message %s. ", status, typeName(m.Schema))
		} else {
			fmt.Fprintf(b, "Answers %s without a body. ", status)
		}
	}
	fmt.Fprintf(b, "Problems: %s.\n", strings.Join(problems, ", "))
}

func writeFields(b *strings.Builder, s schema) {
	b.WriteString("| field | type | meaning |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		fmt.Fprintf(b, "| `%s`%s | %s | %s |\n", name, required(slices.Contains(s.Required, name)), typeName(p), meaning(p.Description, p))
	}
}

func required(yes bool) string {
	if yes {
		return " *"
	}
	return ""
}

func meaning(text string, s schema) string {
	if s.Minimum != nil && s.Maximum != nil {
		text += fmt.Sprintf(" From %v to %v.", *s.Minimum, *s.Maximum)
	}
	if s.Default != nil {
		text += fmt.Sprintf(" Default: `%s`.", compact(s.Default))
	}
	if len(s.Examples) > 0 {
		text += fmt.Sprintf(" Example: `%s`.", compact(s.Examples[0]))
	}
	return strings.ReplaceAll(text, "|", "\\|")
}

func typeName(s schema) string {
	if s.Ref != "" {
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	}
	if len(s.Enum) > 0 {
		var words []string
		for _, e := range s.Enum {
			words = append(words, "`"+compact(e)+"`")
		}
		return strings.Join(words, ", ")
	}
	switch t := s.Type.(type) {
	case nil:
		return "any"
	case []any:
		one := s
		one.Type = t[0]
		return typeName(one) + " or null"
	case string:
		return plainType(t, s)
	default:
		return compact(t)
	}
}

func plainType(t string, s schema) string {
	if t == "array" && s.Items != nil {
		return "list of " + typeName(*s.Items)
	}
	values, ok := s.AdditionalProperties.(map[string]any)
	if t != "object" || !ok {
		return t
	}
	var value schema
	text, _ := json.Marshal(values) // was JSON before
	_ = json.Unmarshal(text, &value)
	return "object of " + typeName(value)
}

func compact(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
