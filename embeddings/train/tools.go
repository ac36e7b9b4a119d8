package train

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/toolscout/toolscout/embeddings"
	"github.com/toolscout/toolscout/embeddings/words"
)

// Tool is the definition of a tool, as far as there is something to learn from it.
type Tool struct {
	Name              string          `json:"name"`
	Description       string          `json:"description"`
	InputSchema       json.RawMessage `json:"input_schema"`
	Server            string          `json:"server"`
	ServerDescription string          `json:"server_description"`
	// Licence is that of the text, and AlsoIn are servers with the same tool.
	Licence string   `json:"licence"`
	AlsoIn  []string `json:"also_in"`
}

// ReadTools reads a file with one tool a line, as JSON.
func ReadTools(file string) ([]Tool, error) {
	tools, err := ReadRows[Tool](file)
	if err != nil {
		return nil, fmt.Errorf("read tools: %w", err)
	}
	return tools, nil
}

// ReadRows reads a file with one JSON value a line. The error of a broken one says
// which it is.
func ReadRows[T any](file string) ([]T, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []T
	d := json.NewDecoder(bufio.NewReader(f))
	for {
		var row T
		err := d.Decode(&row)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s, row %d: %w", file, len(list)+1, err)
		}
		list = append(list, row)
	}
}

// Licensed keeps the tools whose licence begins with a word: "MIT" keeps "MIT" and
// "MIT (repo)".
func Licensed(tools []Tool, licence string) []Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t Tool) bool {
		first, _, _ := strings.Cut(t.Licence, " ")
		return first != licence
	})
}

// Unlike keeps the tools that have nothing to do with those to be measured with:
// whoever trained on what they are measured with learns nothing of how good they
// are. A tool goes when one of those has its name, and a whole server goes when one
// of those has its name, or the description of one of its tools.
func Unlike(tools, measured []Tool) []Tool {
	names, servers, descriptions := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, t := range measured {
		names[letters(t.Name)] = true
		servers[serverLetters(t.Server)] = true
		descriptions[letters(t.Description)] = true
	}
	delete(servers, "")
	delete(descriptions, "")
	same := make(map[string]bool) // servers with a tool that is measured with
	for _, t := range tools {
		all := append([]string{t.Server}, t.AlsoIn...)
		if descriptions[letters(t.Description)] || slices.ContainsFunc(all, func(s string) bool { return servers[serverLetters(s)] }) {
			same[t.Server] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t Tool) bool { return same[t.Server] || names[letters(t.Name)] })
}

// maxCompared is how many letters of a description are compared: copies often
// differ in their last lines.
const maxCompared = 120

// letters are the first letters and digits of a text, in lower case.
func letters(text string) string {
	var b strings.Builder
	for word := range words.Of(text) {
		if b.Write(word); b.Len() >= maxCompared {
			return b.String()[:maxCompared]
		}
	}
	return b.String()
}

// serverLetters are those of a server's name, without its owner and what every
// server is called.
func serverLetters(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	var b strings.Builder
	for word := range words.Of(name) {
		if w := string(word); w != "mcp" && w != "server" {
			b.WriteString(w)
		}
	}
	return b.String()
}

// ToolPairs makes pairs of tools: what a tool does and what it is called, with its
// parameters and the server it belongs to. Tools of one server should be neighbours.
func ToolPairs(tools []Tool) []Group {
	full, op := Group{Name: "tools/full", Weight: 2}, Group{Name: "tools/op", Weight: 2}
	next, param := Group{Name: "tools/next"}, Group{Name: "tools/param", Weight: 0.5}
	server := Group{Name: "tools/server", Weight: 0.5}
	for _, t := range tools {
		first, rest := FirstSentence(t.Description)
		var names []string
		for _, p := range embeddings.Parameters(t.InputSchema) {
			names = append(names, p.Name)
			param.add(p.Name+" "+t.Name, p.Description)
		}
		parameters := strings.Join(names, " ")
		full.add(first, t.Server+" "+t.Name+" "+parameters)
		op.add(t.Name, t.Description+" "+parameters)
		next.add(first, rest)
		server.add(first, t.Server+" "+t.ServerDescription)
	}
	return slices.DeleteFunc([]Group{full, op, next, param, server}, func(g Group) bool { return len(g.Pairs) == 0 })
}

// add adds a pair, unless a side says nothing.
func (g *Group) add(a, b string) {
	if strings.TrimSpace(a) != "" && strings.TrimSpace(b) != "" {
		g.Pairs = append(g.Pairs, Pair{a, b})
	}
}

// FirstSentence splits a text behind its first sentence or line.
func FirstSentence(text string) (first, rest string) {
	text = strings.TrimSpace(text)
	for i, r := range text {
		stop := r == '.' || r == '!' || r == '?'
		if r == '\n' || stop && i+1 < len(text) && unicode.IsSpace(rune(text[i+1])) {
			return text[:i+1], strings.TrimSpace(text[i+1:])
		}
	}
	return text, ""
}

// ReadSets reads the tools of evaluation sets: tools.jsonl in each of the folders.
func ReadSets(folders []string) ([]Tool, error) {
	var all []Tool
	for _, folder := range folders {
		tools, err := ReadTools(filepath.Join(folder, "tools.jsonl"))
		if err != nil {
			return nil, err
		}
		all = append(all, tools...)
	}
	return all, nil
}
