package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolscout/toolscout/core"
)

// target is a server's configuration with every reference resolved: all that a
// dial needs, and nothing of who asks for it.
type target struct {
	id, name  string
	transport core.Transport
	trusted   bool
	command   string
	args      []string
	env       []string // NAME=value, sorted
	url       string
	headers   http.Header
	timeout   time.Duration
	era       string
	// credential identifies everything above and the version of the configuration.
	credential string
	mask       mask
}

// resolver replaces references and remembers what they stood for.
type resolver struct {
	getenv  func(string) (string, bool)
	open    func(string) (string, error)
	missing string
	secrets []string
	err     error
}

// text resolves the references in a value.
func (r *resolver) text(s string) string {
	return core.ReplaceReferences(s, func(name string) string {
		value, ok := r.getenv(name)
		if !ok && r.missing == "" {
			r.missing = name
		}
		r.secrets = append(r.secrets, value)
		return value
	})
}

// credential resolves a value that may be sealed, and is secret as a whole.
func (r *resolver) credential(s string) string {
	if r.open != nil {
		opened, err := r.open(s)
		if err != nil {
			r.err = err
			return ""
		}
		s = opened
	}
	s = r.text(s)
	if len(s) >= 8 {
		r.secrets = append(r.secrets, s)
	}
	// Without its scheme ("Bearer …") a token is as secret as with it.
	if _, token, ok := strings.Cut(s, " "); ok && len(token) >= 8 {
		r.secrets = append(r.secrets, token)
	}
	return s
}

// resolve makes a target of a server. The fault names a reference that is not set
// or a part that cannot be used.
func (p *Pool) resolve(s *core.Server) (*target, *fault) {
	r := resolver{getenv: p.cfg.Getenv, open: p.cfg.Open}
	t := &target{id: s.ID, name: s.Name, transport: s.Transport, trusted: s.Origin == core.FromFile,
		timeout: s.Timeout, era: s.Era, command: r.text(s.Command), url: r.text(s.URL)}
	for _, a := range s.Args {
		t.args = append(t.args, r.text(a))
	}
	for _, k := range slices.Sorted(maps.Keys(s.Env)) {
		t.env = append(t.env, k+"="+r.credential(s.Env[k]))
	}
	t.headers = make(http.Header, len(s.Headers))
	for _, k := range slices.Sorted(maps.Keys(s.Headers)) {
		t.headers.Set(k, r.credential(s.Headers[k]))
	}
	if r.missing != "" {
		return nil, misconfigured("the environment variable %s is not set", r.missing)
	}
	if r.err != nil {
		return nil, misconfigured("a sealed credential cannot be opened").because(r.err)
	}
	if f := t.check(); f != nil {
		return nil, f
	}
	if t.transport == core.Stdio && !t.trusted && p.cfg.FileCommandsOnly {
		return nil, misconfigured("commands that the API registered are not run while we listen on more than loopback: declare the server in the configuration file, or set allow_stdio_from_api")
	}
	if u, err := url.Parse(t.url); err == nil && u.User != nil {
		if password, ok := u.User.Password(); ok {
			r.secrets = append(r.secrets, password)
		}
	}
	t.mask = newMask(r.secrets)
	t.credential = t.identity(s.Version)
	return t, nil
}

// check finds what no dial could succeed with.
func (t *target) check() *fault {
	switch t.transport {
	case core.Stdio:
		if t.command == "" {
			return misconfigured("there is no command to start")
		}
		return nil
	case core.HTTP, core.SSE:
		u, err := url.Parse(t.url)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return misconfigured("the URL is not an absolute http or https one")
		}
		return nil
	}
	return misconfigured("%q is not a transport", t.transport)
}

// identity hashes all that distinguishes sessions with one server.
func (t *target) identity(version int64) string {
	h := sha256.New()
	part := func(ss ...string) {
		for _, s := range ss {
			fmt.Fprintf(h, "%d:%s", len(s), s)
		}
		h.Write([]byte{0})
	}
	part(strconv.FormatInt(version, 10), string(t.transport), t.url, t.command, strconv.FormatBool(t.trusted))
	part(t.args...)
	part(t.env...)
	for _, k := range slices.Sorted(maps.Keys(t.headers)) {
		part(k, t.headers.Get(k))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// mask replaces secrets in text that people will read.
type mask struct{ secrets []string }

// newMask orders the secrets so that one which holds another goes first. What is
// shorter than four bytes hides nothing and would garble every message.
func newMask(secrets []string) mask {
	var m mask
	for _, s := range secrets {
		if len(s) >= 4 && !slices.Contains(m.secrets, s) {
			m.secrets = append(m.secrets, s)
		}
	}
	slices.SortFunc(m.secrets, func(a, b string) int { return len(b) - len(a) })
	return m
}

// clean gives text without secrets and control characters, and not too long.
func (m mask) clean(s string) string {
	for _, secret := range m.secrets {
		s = strings.ReplaceAll(s, secret, "***")
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.TrimSpace(s))
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return s
}

// maxText bounds what a message quotes of a server, in bytes.
const maxText = 1000

// isolation gives the part of a key that keeps callers apart.
func isolation(s *core.Server, c Caller) string {
	switch s.Isolation {
	case core.PerUser:
		return "user:" + c.UserID
	case core.PerSession:
		return "session:" + c.UserID + ":" + c.SessionID
	}
	return ""
}
