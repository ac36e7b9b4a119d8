// Package config reads Toolscout's settings: the environment, by one table that
// also prints the help and the reference, and the TOML file. It decides nothing
// else: cmd/toolscout hands each part its own few values.
package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolscout/toolscout/core"
)

// Config is everything that is set, with defaults filled in.
type Config struct {
	Addr           string
	DatabaseURL    string // "" starts an embedded database
	DataDir        string
	File           string // "" when there is none
	AdminToken     string // "" makes one at first start
	PublicURL      string
	AllowedOrigins []string
	LogLevel       string

	Gateway    Gateway
	Embeddings Embeddings
	Search     Search
	Audit      Audit
	Events     Events
	Hooks      Hooks

	lines map[string]int // of the file's keys
}

// Gateway is the [gateway] table.
type Gateway struct {
	Enabled           bool
	AllowStdioFromAPI bool
	AllowNetworks     []netip.Prefix
	CallTimeout       time.Duration
	SyncInterval      time.Duration
	MaxChildren       int
	MaxResponseBytes  int64
	PerServer         int
	PerUser           int
	Servers           []core.Server
}

// Embeddings is the [embeddings] table.
type Embeddings struct {
	Provider string // builtin, openai or ollama
	BaseURL  string
	Model    string
	APIKey   string
}

// Search is the [search] table.
type Search struct {
	Usage bool
}

// Audit is the [audit] table.
type Audit struct {
	Sync      bool
	Values    bool
	Retention time.Duration // 0 keeps everything
}

// Events is the [events] table.
type Events struct {
	Retention time.Duration
}

// Source is where settings come from: the environment and the file system, as
// functions, so that a test can set both.
type Source struct {
	Getenv   func(string) string
	Environ  func() []string
	ReadFile func(string) ([]byte, error)
	IsRoot   bool
}

// OS is the Source that a real process has.
func OS() Source {
	return Source{Getenv: os.Getenv, Environ: os.Environ, ReadFile: os.ReadFile, IsRoot: os.Geteuid() == 0}
}

// Load reads the environment and the file. Flags, where given, win over the
// environment: they are laid over it by name ("TOOLSCOUT_ADDR").
func Load(src Source, flags map[string]string) (Config, error) {
	env, err := read(src, flags)
	if err != nil {
		return Config{}, err
	}
	c := Config{
		Addr: env["TOOLSCOUT_ADDR"], DatabaseURL: env["TOOLSCOUT_DATABASE_URL"], DataDir: env["TOOLSCOUT_DATA_DIR"],
		AdminToken: env["TOOLSCOUT_ADMIN_TOKEN"], PublicURL: strings.TrimSuffix(env["TOOLSCOUT_PUBLIC_URL"], "/"),
		AllowedOrigins: split(env["TOOLSCOUT_ALLOWED_ORIGINS"]), LogLevel: env["TOOLSCOUT_LOG_LEVEL"],
	}
	if c.DataDir == "" {
		c.DataDir = defaultDataDir(src)
	}
	if c.DataDir, err = filepath.Abs(c.DataDir); err != nil {
		return Config{}, fmt.Errorf("data folder: %w", err)
	}
	if c.File, err = configFile(src, env["TOOLSCOUT_CONFIG"]); err != nil {
		return Config{}, err
	}
	f := file{}
	if c.File != "" {
		raw, err := src.ReadFile(c.File)
		if err != nil {
			if flags["TOOLSCOUT_CONFIG"] != "" {
				return Config{}, fmt.Errorf("--config: %w", err)
			}
			return Config{}, fmt.Errorf("configuration file: %w (unset TOOLSCOUT_CONFIG to start without one)", err)
		}
		if f, err = parseFile(c.File, raw); err != nil {
			return Config{}, err
		}
		c.lines = keyLines(raw)
	}
	if err := c.fromFile(f, c.lookup(src)); err != nil {
		return Config{}, err
	}
	if err := c.embeddingsFrom(env["TOOLSCOUT_EMBEDDINGS"], src); err != nil {
		return Config{}, err
	}
	return c, c.check()
}

// Lookup resolves the ${NAME} references of servers: the environment, and
// TOOLSCOUT_DATA_DIR even where it is not set.
func (c Config) Lookup(src Source) func(string) (string, bool) { return c.lookup(src) }

func (c Config) lookup(src Source) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if v := src.Getenv(name); v != "" {
			return v, true
		}
		if name == "TOOLSCOUT_DATA_DIR" {
			return c.DataDir, true
		}
		return "", false
	}
}

// LoopbackOnly reports whether Addr can only be reached from this machine.
func (c Config) LoopbackOnly() bool {
	host, _, err := net.SplitHostPort(c.Addr)
	return err == nil && isLoopback(host)
}

// Local reports whether whoever calls is on this machine: Addr is loopback, and no
// public URL tells of a proxy that passes others on.
func (c Config) Local() bool {
	if c.PublicURL == "" {
		return c.LoopbackOnly()
	}
	u, err := url.Parse(c.PublicURL)
	return err == nil && isLoopback(u.Hostname()) && c.LoopbackOnly()
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (c Config) check() error {
	if _, port, err := net.SplitHostPort(c.Addr); err != nil || port == "" {
		return fmt.Errorf("TOOLSCOUT_ADDR %q: want host:port, as in 127.0.0.1:8080", c.Addr)
	}
	if c.PublicURL != "" {
		if err := checkOrigin(c.PublicURL); err != nil {
			return fmt.Errorf("TOOLSCOUT_PUBLIC_URL: %w", err)
		}
	}
	for _, o := range c.AllowedOrigins {
		if err := checkOrigin(o); err != nil {
			return fmt.Errorf("TOOLSCOUT_ALLOWED_ORIGINS: %w", err)
		}
	}
	if c.DatabaseURL != "" && !isDatabase(c.DatabaseURL) {
		return errors.New("TOOLSCOUT_DATABASE_URL: want postgres://user:password@host:port/database, or host=… dbname=…")
	}
	switch c.LogLevel {
	case "debug", "info", "warn", "error":
	default:
		return fmt.Errorf("TOOLSCOUT_LOG_LEVEL %q: want debug, info, warn or error", c.LogLevel)
	}
	return nil
}

// isDatabase accepts both forms of a connection string that libpq knows.
func isDatabase(s string) bool {
	scheme, _, isURL := strings.Cut(s, "://")
	return scheme == "postgres" || scheme == "postgresql" || !isURL && strings.Contains(s, "=")
}

func checkOrigin(s string) error {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("%q is not an http or https address", s)
	}
	return nil
}

func configFile(src Source, name string) (string, error) {
	if name != "" {
		return filepath.Abs(name)
	}
	if _, err := src.ReadFile("toolscout.toml"); err == nil {
		return filepath.Abs("toolscout.toml")
	}
	return "", nil
}

func defaultDataDir(src Source) string {
	if dir := src.Getenv("XDG_DATA_HOME"); dir != "" && filepath.IsAbs(dir) && !src.IsRoot {
		return filepath.Join(dir, "toolscout")
	}
	if src.IsRoot {
		return "/var/lib/toolscout"
	}
	return filepath.Join(src.Getenv("HOME"), ".local", "share", "toolscout")
}

func split(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
