package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/toolscout/toolscout/core"
)

// file is the TOML file as it is written. Keys it does not name are refused.
type file struct {
	Gateway    fileGateway    `toml:"gateway"`
	Embeddings fileEmbeddings `toml:"embeddings"`
	Search     fileSearch     `toml:"search"`
	Audit      fileAudit      `toml:"audit"`
	Events     fileEvents     `toml:"events"`
	// Hooks holds tables of any name: Config.hooks reads them.
	Hooks map[string]any `toml:"hooks"`
}

type fileGateway struct {
	Enabled           *bool        `toml:"enabled" help:"false sets every server of this file inactive" default:"true"`
	AllowStdioFromAPI bool         `toml:"allow_stdio_from_api" help:"let admins register commands through the API although we listen on more than loopback" default:"false"`
	AllowNetworks     []string     `toml:"allow_networks" help:"private networks that servers registered through the API may be in, as in [\"10.0.0.0/8\"]" default:"[]"`
	CallTimeout       string       `toml:"call_timeout" help:"how long one call of a tool may take where its server says nothing" default:"30s"`
	SyncInterval      string       `toml:"sync_interval" help:"how often every server's list of tools is read again, with jitter" default:"5m"`
	MaxChildren       int          `toml:"max_children" help:"how many stdio servers may run at once" default:"64"`
	MaxResponseBytes  int64        `toml:"max_response_bytes" help:"how large one answer of a server may be, in bytes" default:"16777216"`
	PerServer         int          `toml:"max_calls_per_server" help:"how many calls one server gets at once; more wait for their turn" default:"32"`
	PerUser           int          `toml:"max_calls_per_user" help:"how many calls one user may have under way at once; more wait for their turn" default:"64"`
	Servers           []fileServer `toml:"servers" help:"see below"`
}

type fileServer struct {
	Name           string            `toml:"name" help:"unique; letters, digits, dot, dash, underscore"`
	Description    string            `toml:"description" help:"what it is for; search reads it too"`
	Transport      string            `toml:"transport" help:"stdio, http or sse" default:"stdio with a command, http with a url"`
	URL            string            `toml:"url" help:"of the endpoint, for http and sse"`
	Command        command           `toml:"command" help:"what to run, for stdio: a string, or an array with the arguments"`
	Args           []string          `toml:"args" help:"further arguments"`
	Env            map[string]string `toml:"env" help:"environment of the command; ${NAME} reads ours"`
	Headers        map[string]string `toml:"headers" help:"sent with every request; ${NAME} reads the environment"`
	Prefix         string            `toml:"prefix" help:"put before each tool's name"`
	Domain         string            `toml:"domain" help:"the category of its tools" default:"general"`
	AllowedTools   []string          `toml:"allowed_tools" help:"only these, by their original names; globs allowed" default:"all"`
	BlockedTools   []string          `toml:"blocked_tools" help:"never these"`
	RequiredRoles  []string          `toml:"required_roles" help:"whoever holds none of them does not see the server"`
	AgentAllowlist []string          `toml:"agent_allowlist" help:"only these agents see the server"`
	Tags           []string          `toml:"tags" help:"for your own order"`
	Visibility     string            `toml:"visibility" help:"visible: on for everyone until they switch it off; hidden: for nobody until an admin switches it on for them" default:"visible"`
	Isolation      string            `toml:"isolation" help:"who may share a live session: shared, user or session" default:"shared"`
	Timeout        string            `toml:"timeout" help:"of one call" default:"the gateway's call_timeout"`
}

type fileEmbeddings struct {
	Provider string `toml:"provider" help:"builtin, openai or ollama" default:"builtin"`
	BaseURL  string `toml:"base_url" help:"of the endpoint; for openai any compatible one" default:"the provider's own"`
	Model    string `toml:"model" help:"the model's name; needed with openai and ollama"`
	APIKey   string `toml:"api_key" help:"sent as a bearer token; write ${NAME}" default:"${OPENAI_API_KEY} with openai"`
}

type fileSearch struct {
	Usage *bool `toml:"usage" help:"false: how much a tool is used makes no difference to where it is found" default:"true"`
}

type fileAudit struct {
	Mode      string `toml:"mode" help:"async: rows are written in groups; sync: an answer waits for its row" default:"async"`
	Values    bool   `toml:"values" help:"keep arguments as they are; otherwise only their shape" default:"false"`
	Retention string `toml:"retention" help:"how long rows are kept, as in 2160h; 0 keeps them" default:"0"`
}

type fileEvents struct {
	Retention string `toml:"retention" help:"how long events are kept for those who come back to the stream; 1m or more" default:"24h"`
}

// command takes a string or an array of strings.
type command []string

// UnmarshalText takes the form of a string; the array needs no help.
func (c *command) UnmarshalText(text []byte) error {
	*c = command{string(text)}
	return nil
}

// parseFile decodes strictly: a fault names its line.
func parseFile(name string, raw []byte) (file, error) {
	f, err := decode(raw)
	var strict *toml.StrictMissingError
	var bad *toml.DecodeError
	switch {
	case errors.As(err, &strict):
		return file{}, unknownKeys(name, strict)
	case errors.As(err, &bad):
		row, col := bad.Position()
		return file{}, fmt.Errorf("%s:%d:%d: %s", name, row, col, inPlainWords(bad))
	case err != nil:
		return file{}, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

func decode(raw []byte) (f file, err error) {
	d := toml.NewDecoder(bytes.NewReader(raw)).DisallowUnknownFields()
	return f, d.Decode(&f)
}

// ofAnotherType is how the decoder says that a value has the wrong type.
var ofAnotherType = regexp.MustCompile(`cannot decode TOML (.+) into struct field \S+ of type (.+)$`)

// inPlainWords says what is wrong with a value without Go's words.
func inPlainWords(bad *toml.DecodeError) string {
	text := strings.TrimPrefix(bad.Error(), "toml: ")
	m := ofAnotherType.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	want := "a string"
	switch typ := strings.TrimPrefix(m[2], "*"); {
	case typ == "bool":
		want = "true or false"
	case strings.HasPrefix(typ, "int"):
		want = "a whole number"
	case strings.HasPrefix(typ, "map["), strings.HasPrefix(typ, "config.file"):
		want = "a table"
	case typ == "[]string":
		want = "an array of strings"
	case strings.HasPrefix(typ, "[]"):
		want = "an array of tables"
	}
	return fmt.Sprintf("%s: want %s, not %s", strings.Join(bad.Key(), "."), want, m[1])
}

func unknownKeys(name string, strict *toml.StrictMissingError) error {
	var out []error
	for _, e := range strict.Errors {
		row, _ := e.Position()
		out = append(out, fmt.Errorf("%s:%d: unknown key %q", name, row, strings.Join(e.Key(), ".")))
	}
	return errors.Join(out...)
}

func (c *Config) fromFile(f file, lookup func(string) (string, bool)) error {
	var err error
	fail := func(key string, e error) {
		if e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", c.At(key), e))
		}
	}
	g := f.Gateway
	count := func(key string, n, fallback int) int {
		if n < 0 {
			fail(key, fmt.Errorf("%d: want 1 or more", n))
		}
		return cmp.Or(n, fallback)
	}
	c.Gateway = Gateway{Enabled: g.Enabled == nil || *g.Enabled, AllowStdioFromAPI: g.AllowStdioFromAPI,
		MaxChildren:      count("gateway.max_children", g.MaxChildren, 64),
		PerServer:        count("gateway.max_calls_per_server", g.PerServer, 32),
		PerUser:          count("gateway.max_calls_per_user", g.PerUser, 64),
		MaxResponseBytes: cmp.Or(g.MaxResponseBytes, 16<<20)}
	if c.Gateway.MaxResponseBytes < 1<<10 {
		fail("gateway.max_response_bytes", errors.New("want 1024 or more"))
	}
	c.Gateway.CallTimeout = duration("gateway.call_timeout", g.CallTimeout, 30*time.Second, time.Second, fail)
	c.Gateway.SyncInterval = duration("gateway.sync_interval", g.SyncInterval, 5*time.Minute, 10*time.Second, fail)
	for _, n := range g.AllowNetworks {
		p, e := netip.ParsePrefix(n)
		fail("gateway.allow_networks", e)
		c.Gateway.AllowNetworks = append(c.Gateway.AllowNetworks, p)
	}
	for i, s := range g.Servers {
		server, e := s.server(filepath.Dir(c.File))
		fail(fmt.Sprintf("gateway.servers[%d].timeout", i), e)
		c.Gateway.Servers = append(c.Gateway.Servers, server)
	}
	c.Embeddings = Embeddings{Provider: f.Embeddings.Provider, Model: f.Embeddings.Model}
	var e error
	c.Embeddings.BaseURL, e = expand(f.Embeddings.BaseURL, lookup)
	fail("embeddings.base_url", e)
	c.Embeddings.APIKey, e = expand(f.Embeddings.APIKey, lookup)
	fail("embeddings.api_key", e)
	c.Search = Search{Usage: f.Search.Usage == nil || *f.Search.Usage}
	switch f.Audit.Mode {
	case "", "async", "sync":
	default:
		fail("audit.mode", fmt.Errorf("%q: want async or sync", f.Audit.Mode))
	}
	c.Audit = Audit{Sync: f.Audit.Mode == "sync", Values: f.Audit.Values,
		Retention: duration("audit.retention", f.Audit.Retention, 0, 0, fail)}
	c.Events = Events{Retention: duration("events.retention", f.Events.Retention, 24*time.Hour, time.Minute, fail)}
	c.hooks(f.Hooks, fail)
	return err
}

func duration(key, s string, fallback, least time.Duration, fail func(string, error)) time.Duration {
	if s == "" || s == "0" && least == 0 {
		return fallback
	}
	d, err := parseDuration(s)
	if err == nil && d < least {
		err = fmt.Errorf("%q: want %s or more", s, strings.Replace(least.String(), "m0s", "m", 1))
	}
	fail(key, err)
	return d
}

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q: want a duration, as 500ms, 30s and 2h are", s)
	}
	return d, nil
}

// folderReference stands for the folder of the file. It is replaced as the file is
// read: whoever starts the server later, from wherever, may not know the file.
const folderReference = "${TOOLSCOUT_CONFIG_DIR}"

func (s fileServer) server(folder string) (core.Server, error) {
	out := core.Server{TenantID: core.DefaultTenant, Name: s.Name, Description: s.Description, Domain: s.Domain,
		Transport: core.Transport(s.Transport), URL: s.URL, Args: s.Args, Env: s.Env, Headers: s.Headers, Prefix: s.Prefix,
		AllowedTools: s.AllowedTools, BlockedTools: s.BlockedTools, RequiredRoles: s.RequiredRoles, AgentAllowlist: s.AgentAllowlist,
		Tags: s.Tags, Visibility: core.Visibility(s.Visibility), Isolation: core.Isolation(s.Isolation),
		Status: core.Active, Origin: core.FromFile}
	if len(s.Command) > 0 {
		out.Command, out.Args = s.Command[0], append(s.Command[1:len(s.Command):len(s.Command)], s.Args...)
	}
	out.Command = strings.ReplaceAll(out.Command, folderReference, folder)
	for i, arg := range out.Args {
		out.Args[i] = strings.ReplaceAll(arg, folderReference, folder)
	}
	for name, value := range out.Env {
		out.Env[name] = strings.ReplaceAll(value, folderReference, folder)
	}
	if s.Timeout == "" {
		return out, nil
	}
	var err error
	out.Timeout, err = parseDuration(s.Timeout)
	return out, err
}

// expand replaces ${NAME}. One that is not set is an error.
func expand(s string, lookup func(string) (string, bool)) (string, error) {
	var missing []string
	out := core.ReplaceReferences(s, func(name string) string {
		v, ok := lookup(name)
		if !ok {
			missing = append(missing, name)
		}
		return v
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("environment variable %s is not set", strings.Join(missing, ", "))
	}
	return out, nil
}

// embeddingsFrom lays TOOLSCOUT_EMBEDDINGS over the file's table.
func (c *Config) embeddingsFrom(setting string, src Source) error {
	e := &c.Embeddings
	switch {
	case setting == "":
	case strings.HasPrefix(setting, "http://"), strings.HasPrefix(setting, "https://"):
		e.Provider, e.BaseURL = "openai", setting
	default:
		if e.Provider != setting {
			*e = Embeddings{Provider: setting}
		}
	}
	if e.Provider == "" {
		e.Provider = "builtin"
	}
	if e.Provider == "openai" && e.APIKey == "" {
		e.APIKey = src.Getenv("OPENAI_API_KEY")
	}
	switch e.Provider {
	case "builtin":
		if e.Model != "" || e.BaseURL != "" {
			return fmt.Errorf(`%s: model and base_url go with provider "openai" or "ollama", not with the built-in model`, c.At("embeddings"))
		}
	case "openai":
		if e.Model == "" {
			e.Model = "text-embedding-3-small"
		}
	case "ollama":
		if e.Model == "" {
			e.Model = "nomic-embed-text"
		}
	default:
		where := "TOOLSCOUT_EMBEDDINGS"
		if setting == "" {
			where = c.At("embeddings.provider")
		}
		return fmt.Errorf("%s: %q: want builtin, openai, ollama, or in TOOLSCOUT_EMBEDDINGS the base URL of an OpenAI-compatible endpoint", where, e.Provider)
	}
	return nil
}
