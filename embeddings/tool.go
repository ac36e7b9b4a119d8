package embeddings

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/core"
)

// Tool is what a tool is found by: its vector is made of it, and so are its
// entries in the word index.
type Tool struct {
	Name        string
	Title       string
	Description string
	Parameters  []Parameter
	// Server is the name of the tool's server; "" leaves it out.
	Server string
}

// Parameter is one argument of a tool.
type Parameter struct {
	Name        string
	Description string
}

const (
	maxParameterText = 200  // characters of a parameter's description that count
	maxText          = 2000 // characters of a composed text: small models take 512 tokens
)

// Describe gives what a stored tool of the named server is found by.
func Describe(t core.Tool, server string) Tool {
	return Tool{Name: t.Name, Title: t.Title, Description: t.Description,
		Parameters: Parameters(t.InputSchema), Server: server}
}

// property is what we read of a JSON schema. Everything is raw, because one
// fault in a schema from the wild must not hide the rest of it.
type property struct {
	Description json.RawMessage `json:"description"`
	Properties  json.RawMessage `json:"properties"`
}

// Parameters lists the properties of an input schema, two levels deep, by name.
// What it cannot read it leaves out.
func Parameters(schema json.RawMessage) []Parameter {
	var top property
	if json.Unmarshal(schema, &top) != nil {
		return nil
	}
	return top.parameters(nil, 2)
}

func (p property) parameters(list []Parameter, levels int) []Parameter {
	var properties map[string]json.RawMessage
	if levels == 0 || json.Unmarshal(p.Properties, &properties) != nil {
		return list
	}
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		var child property
		var description string
		if json.Unmarshal(properties[name], &child) == nil {
			// Not a string: then it describes nothing.
			_ = json.Unmarshal(child.Description, &description)
		}
		list = append(list, Parameter{Name: name, Description: description})
		list = child.parameters(list, levels-1)
	}
	return list
}

// partWeights belong to the parts in the order of parts. They were found on
// development sets of public tool retrieval benchmarks.
var partWeights = []float32{0.7, 1, 0.25, 0.15, 0.3}

// parts are names, description, parameter names, parameter descriptions, server.
func (t *Tool) parts() []string {
	var names, descriptions strings.Builder
	for _, p := range t.Parameters {
		names.WriteString(p.Name)
		names.WriteByte(' ')
		descriptions.WriteString(clip(p.Description, maxParameterText))
		descriptions.WriteByte(' ')
	}
	return []string{t.Name + " " + t.Title, t.Description, names.String(), descriptions.String(), t.Server}
}

// Text is the tool as one text, for models that read sentences.
func (t *Tool) Text() string {
	var b strings.Builder
	line := func(label, text string) {
		if text = strings.TrimSpace(text); text != "" {
			b.WriteString(label)
			b.WriteString(text)
			b.WriteByte('\n')
		}
	}
	line("", t.Name)
	line("", t.Title)
	line("", t.Description)
	line("Server: ", t.Server)
	for _, p := range t.Parameters {
		if b.Len() > maxText {
			break
		}
		line("Parameter ", strings.TrimSuffix(p.Name+": "+clip(p.Description, maxParameterText), ": "))
	}
	return clip(strings.TrimSpace(b.String()), maxText)
}

// clip cuts a text to n characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
