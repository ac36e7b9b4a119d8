package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Setting is one environment variable: the table of them prints the help, the
// reference and is what Load reads.
type Setting struct {
	Name    string
	Also    string // another name that is read where Name is not set
	Default string
	Secret  bool // may also come as NAME_FILE
	Help    string
}

// Settings lists the variables that the server reads.
func Settings() []Setting {
	return []Setting{
		{Name: "TOOLSCOUT_ADDR", Default: "127.0.0.1:8080", Help: "where to listen; port 0 takes a free one, told in the `listening` log line"},
		{Name: "TOOLSCOUT_DATABASE_URL", Also: "DATABASE_URL", Secret: true, Help: "a Postgres with pgvector 0.8 or newer; without it an embedded one is started"},
		{Name: "TOOLSCOUT_DATA_DIR", Help: "where the embedded database, the first admin token and the key for secrets live; default: the XDG data home, for root `/var/lib/toolscout`"},
		{Name: "TOOLSCOUT_CONFIG", Help: "the TOML file; default: `toolscout.toml` in the working folder, where there is one"},
		{Name: "TOOLSCOUT_ADMIN_TOKEN", Secret: true, Help: "the first admin's token; default: made at first start, printed once, kept in the data folder with mode 0600"},
		{Name: "TOOLSCOUT_PUBLIC_URL", Help: "how clients outside reach us, as in `https://tools.example.com`; default: from the address"},
		{Name: "TOOLSCOUT_ALLOWED_ORIGINS", Help: "further origins whose pages may call, separated by commas; our own always may"},
		{Name: "TOOLSCOUT_EMBEDDINGS", Help: "`builtin`, `openai`, `ollama`, or the base URL of any OpenAI-compatible endpoint; default: what the file says, or `builtin`"},
		{Name: "TOOLSCOUT_LOG_LEVEL", Default: "info", Help: "`debug`, `info`, `warn` or `error`"},
		{Name: "TOOLSCOUT_APT_MIRROR", Help: "a mirror of the Debian archive to fetch the embedded Postgres from; default: the one that the machine's apt uses"},
	}
}

// ClientSettings lists the variables that the commands read which talk to a
// running server.
func ClientSettings() []Setting {
	return []Setting{
		{Name: "TOOLSCOUT_URL", Help: "the server that the commands talk to; default: the one that runs with this data folder, or `http://127.0.0.1:8080`"},
		{Name: "TOOLSCOUT_TOKEN", Secret: true, Help: "the token they use; default, for a server on this machine: the first admin's, from the data folder"},
	}
}

// read gives every setting's value: flags first, then the environment, then a
// file named by NAME_FILE, then the default.
func read(src Source, flags map[string]string) (map[string]string, error) {
	return readTable(append(Settings(), ClientSettings()...), src, flags)
}

func readTable(table []Setting, src Source, flags map[string]string) (map[string]string, error) {
	out := map[string]string{}
	for _, s := range table {
		v, err := s.value(src, flags)
		if err != nil {
			return nil, err
		}
		out[s.Name] = v
	}
	return out, nil
}

func (s Setting) value(src Source, flags map[string]string) (string, error) {
	if v := flags[s.Name]; v != "" {
		return v, nil
	}
	v, path := src.Getenv(s.Name), ""
	if s.Secret {
		path = src.Getenv(s.Name + "_FILE")
	}
	switch {
	case v != "" && path != "":
		return "", fmt.Errorf("%s and %s_FILE are both set: unset one", s.Name, s.Name)
	case v != "":
		return v, nil
	case path != "":
		raw, err := src.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("%s_FILE: %w", s.Name, err)
		}
		return strings.TrimSpace(string(raw)), nil
	case s.Also != "" && src.Getenv(s.Also) != "":
		return src.Getenv(s.Also), nil
	}
	return s.Default, nil
}

// Client is what the commands need that talk to a running server.
type Client struct {
	URL, Token, DataDir string
	// Chosen reports that the URL was set, and is not a default.
	Chosen bool
}

// URLFile is where, in its data folder, a running server says how to reach it.
const URLFile = "url"

// LoadClient reads the settings of a command that talks to a running server.
func LoadClient(src Source, flags map[string]string) (Client, error) {
	env, err := read(src, flags)
	if err != nil {
		return Client{}, err
	}
	c := Client{URL: strings.TrimSuffix(env["TOOLSCOUT_URL"], "/"), Token: env["TOOLSCOUT_TOKEN"], DataDir: env["TOOLSCOUT_DATA_DIR"]}
	c.Chosen = c.URL != ""
	if c.DataDir == "" {
		c.DataDir = defaultDataDir(src)
	}
	if !c.Chosen {
		c.URL = "http://127.0.0.1:8080"
		if raw, err := src.ReadFile(filepath.Join(c.DataDir, URLFile)); err == nil {
			c.URL = strings.TrimSpace(string(raw))
		}
	}
	if err := checkOrigin(c.URL); err != nil {
		return Client{}, fmt.Errorf("TOOLSCOUT_URL: %w", err)
	}
	return c, nil
}

// Unknown lists environment variables that look like settings and are none,
// which is most often a slip of the pen. They are warned of and not refused: an
// orchestrator adds variables of its own for a service of this name.
func Unknown(src Source) []string {
	known := func(name string) bool {
		return slices.ContainsFunc(append(Settings(), ClientSettings()...), func(s Setting) bool {
			return name == s.Name || s.Secret && name == s.Name+"_FILE"
		})
	}
	var out []string
	for _, kv := range src.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "TOOLSCOUT_") && !strings.HasPrefix(name, "TOOLSCOUT_TEST_") && !known(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
