package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/core"
)

// maxImport bounds the file of a client, in bytes.
const maxImport = 4 << 20

// Warning is something in a client's file that could not be taken over as it is.
type Warning struct {
	Server  string // "" for the file itself
	Message string
}

func (w Warning) String() string {
	if w.Server == "" {
		return w.Message
	}
	return w.Server + ": " + w.Message
}

// ParseMCPServers reads the servers in the configuration of a client: the object
// mcpServers of Claude Desktop, Claude Code and Cursor, or servers of VS Code, on
// its own or under mcp; with comments and trailing commas. Servers come sorted by
// name. What the file asks for and we cannot do is told in warnings; a server that
// cannot be registered at all is left out with one. Credentials stay as they are
// written, ${env:X} and ${input:x} become references to the environment.
func ParseMCPServers(raw []byte) ([]core.Server, []Warning, error) {
	if len(raw) > maxImport {
		return nil, nil, core.Errorf(core.InvalidParams, "the file is larger than %d MiB", maxImport>>20)
	}
	file, err := object(plainJSON(raw))
	if err != nil {
		return nil, nil, core.Errorf(core.InvalidParams, "not a JSON object: %v", place(raw, err))
	}
	entries, inputs, err := findServers(file)
	if err != nil {
		return nil, nil, err
	}
	im := importer{inputs: describeInputs(inputs), taken: map[string]bool{}}
	for _, name := range sortedNames(entries) {
		im.add(name, entries[name])
	}
	return im.servers, im.warnings, nil
}

// findServers looks for the servers, and VS Code's inputs beside them.
func findServers(file map[string]json.RawMessage) (servers map[string]json.RawMessage, inputs json.RawMessage, err error) {
	if inner, ok := file["mcp"]; ok && file["mcpServers"] == nil && file["servers"] == nil {
		if file, err = object(inner); err != nil {
			return nil, nil, core.Errorf(core.InvalidParams, `"mcp" is not an object`)
		}
	}
	for _, key := range []string{"mcpServers", "servers"} {
		if found, ok := file[key]; ok {
			if servers, err = object(found); err != nil {
				return nil, nil, core.Errorf(core.InvalidParams, "%q is not an object of servers by name", key)
			}
			return servers, file["inputs"], nil
		}
	}
	return nil, nil, core.Errorf(core.InvalidParams, "the file has neither mcpServers nor servers").
		WithHint("Give the configuration file of Claude Desktop, Claude Code, Cursor or VS Code.")
}

// importer collects what a file gives.
type importer struct {
	inputs   map[string]string // descriptions by id
	taken    map[string]bool   // names
	servers  []core.Server
	warnings []Warning
}

func (im *importer) warn(server, format string, args ...any) {
	im.warnings = append(im.warnings, Warning{Server: server, Message: fmt.Sprintf(format, args...)})
}

func (im *importer) add(name string, raw json.RawMessage) {
	shown := strings.ToValidUTF8(shorten(name), "?")
	fields, err := object(raw)
	if err != nil {
		im.warn(shown, "left out: it is not an object")
		return
	}
	e := entry{importer: im, name: shown, fields: fields, used: map[string]bool{}}
	s := e.server()
	s.Name = im.freeName(shown, name)
	if f := ValidateServer(s); len(f) > 0 {
		im.warn(shown, "left out: %s: %s", at(f[0].Pointer), f[0].Message)
		return
	}
	im.taken[s.Name] = true
	e.leftover()
	im.servers = append(im.servers, s)
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// freeName makes a name that a server may have and that no other one took.
func (im *importer) freeName(shown, name string) string {
	clean := strings.Trim(notInName.ReplaceAllString(name, "-"), "-_.")
	clean = clean[:min(len(clean), maxName-4)] // room for a number
	if clean == "" {
		clean = "server"
	}
	free := clean
	for n := 2; im.taken[free]; n++ {
		free = fmt.Sprintf("%s-%d", clean, n)
	}
	if free != name {
		im.warn(shown, "is registered as %s", free)
	}
	return free
}

// entry is one server of a file, being read.
type entry struct {
	*importer
	name   string
	fields map[string]json.RawMessage
	used   map[string]bool
}

func (e *entry) server() core.Server {
	s := core.Server{Description: e.text("description"), Status: core.Active}
	url := e.text("url")
	if other := e.text("serverUrl"); url == "" {
		url = other
	}
	s.Transport = e.transport(url)
	if s.Transport == core.Stdio {
		s.Command = e.substitute(e.text("command"))
		for _, arg := range e.texts("args") {
			s.Args = append(s.Args, e.substitute(arg))
		}
		s.Env = e.values("env")
	} else {
		s.URL = e.substitute(url)
		s.Headers = e.values("headers")
	}
	if e.flag("disabled") {
		s.Status = core.Inactive
	}
	return s
}

// transport follows the type, or else what there is to follow.
func (e *entry) transport(url string) core.Transport {
	named := e.text("type")
	if other := e.text("transport"); named == "" {
		named = other
	}
	switch strings.ToLower(named) {
	case "stdio":
		return core.Stdio
	case "sse":
		return core.SSE
	case "http", "streamable-http", "streamablehttp", "streamable_http":
		return core.HTTP
	case "":
	default:
		e.warn(e.name, "type %q is not known", shorten(named))
	}
	switch {
	case url == "":
		return core.Stdio
	case strings.HasSuffix(strings.TrimRight(url, "/"), "/sse"):
		e.warn(e.name, "taken for the older SSE transport, as its address ends in /sse")
		return core.SSE
	default:
		return core.HTTP
	}
}

// Fields whose absence changes nothing for us.
var harmless = []string{"alwaysAllow", "autoApprove", "gallery", "version", "icon", "name", "dev", "fromGalleryId"}

// leftover warns of what was asked for and is not done.
func (e *entry) leftover() {
	for _, key := range sortedNames(e.fields) {
		if !e.used[key] && !slices.Contains(harmless, key) {
			e.warn(e.name, "%q is not supported and was left out", shorten(key))
		}
	}
}

func (e *entry) text(key string) string {
	var s string
	e.read(key, &s, "a string")
	return s
}

func (e *entry) texts(key string) []string {
	var list []string
	e.read(key, &list, "a list of strings")
	return list
}

func (e *entry) flag(key string) bool {
	var b bool
	e.read(key, &b, "true or false")
	return b
}

// read decodes a field where there is one.
func (e *entry) read(key string, into any, want string) {
	raw, ok := e.fields[key]
	e.used[key] = true
	if !ok || string(bytes.TrimSpace(raw)) == "null" {
		return
	}
	if json.Unmarshal(raw, into) != nil {
		e.warn(e.name, "%q is not %s and was left out", key, want)
	}
}

// values reads an environment or headers. Numbers and booleans are taken as they
// are written.
func (e *entry) values(key string) map[string]string {
	var raw map[string]json.RawMessage
	e.read(key, &raw, "an object")
	var out map[string]string
	for _, name := range sortedNames(raw) {
		value, ok := scalar(raw[name])
		if !ok {
			e.warn(e.name, "%s %q is not a string and was left out", key, shorten(name))
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = e.substitute(value)
	}
	return out
}

func scalar(raw json.RawMessage) (string, bool) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, string(raw) != "null"
	}
	text := string(bytes.TrimSpace(raw))
	return text, text != "" && text[0] != '{' && text[0] != '['
}

var notInEnv = regexp.MustCompile(`[^A-Z0-9_]+`)

// substitute turns the placeholders of clients into ours: ${NAME}.
func (e *entry) substitute(value string) string {
	return refName.ReplaceAllStringFunc(value, func(found string) string {
		inner := found[2 : len(found)-1]
		if name, ok := strings.CutPrefix(inner, "env:"); ok {
			inner = name
		}
		if id, ok := strings.CutPrefix(inner, "input:"); ok {
			inner = notInEnv.ReplaceAllString(strings.ToUpper(id), "_")
			if inner == "" || inner[0] >= '0' && inner[0] <= '9' {
				inner = "_" + inner
			}
			e.warn(e.name, "set %s in the gateway's environment%s", inner, e.inputs[id])
		}
		switch inner {
		case "userHome":
			inner = "HOME"
		case "/", "pathSeparator":
			return "/"
		case "workspaceFolder", "workspaceFolderBasename":
			e.warn(e.name, "${%s} means nothing here: write the folder instead", inner)
		}
		if name, _, ok := strings.Cut(inner, ":-"); ok && envName.MatchString(name) {
			inner = name
			e.warn(e.name, "the default of ${%s} is not supported: set it in the gateway's environment", name)
		}
		return "${" + inner + "}"
	})
}

// describeInputs reads what VS Code would ask a person for.
func describeInputs(raw json.RawMessage) map[string]string {
	var list []struct {
		ID          string `json:"id"`
		Description string `json:"description"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil // they are only descriptions
	}
	out := make(map[string]string, len(list))
	for _, in := range list {
		if in.Description != "" {
			out[in.ID] = " (" + shorten(in.Description) + ")"
		}
	}
	return out
}

// object decodes a JSON object by its exact keys; null is not one.
func object(raw []byte) (map[string]json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, errors.New("it is null")
	}
	return m, nil
}

// place adds the line to a syntax error.
func place(raw []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	before := raw[:min(int(syntax.Offset), len(raw))]
	return fmt.Errorf("line %d: %w", bytes.Count(before, []byte("\n"))+1, err)
}

func sortedNames(m map[string]json.RawMessage) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
