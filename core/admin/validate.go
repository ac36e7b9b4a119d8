package admin

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/toolscout/toolscout/core"
)

// The bounds of a server's configuration. They are generous for people and keep
// a program from filling the database.
const (
	maxName        = 64
	maxDescription = 4096
	maxText        = 4096 // an argument, a URL, a pattern
	maxValue       = 32 << 10
	maxItems       = 256
	minTimeout     = time.Second
	maxTimeout     = time.Hour
)

var (
	serverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
	toolPrefix = regexp.MustCompile(`^[A-Za-z0-9_.-]{0,64}$`)
	slug       = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	label      = regexp.MustCompile(`^[^\s\pC][^\pC]{0,127}$`)
	envName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	// headerName is a token of RFC 9110, section 5.6.2; headerValue is what section
	// 5.5 lets a field hold, without space around it.
	headerName  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")
	headerValue = regexp.MustCompile(`^$|^[^\s\x00-\x1f\x7f](?:[^\x00-\x08\x0a-\x1f\x7f]*[^\s\x00-\x1f\x7f])?$`)
	refName     = regexp.MustCompile(`\$\{([^}]*)\}`)
)

// ValidateServer tells everything that is wrong with the configuration of a
// server, by JSON pointers into its JSON form; nothing when it can be registered.
// It looks at the configuration alone: whether the owner exists and whether the
// policy allows the server are other questions.
func ValidateServer(s core.Server) []core.Fault {
	var f faults
	if !serverName.MatchString(s.Name) {
		f.add("/name", "want 1 to %d letters, digits, dots, dashes or underscores, with a letter or digit first", maxName)
	}
	f.text("/description", s.Description, maxDescription)
	if s.Domain != "" && !slug.MatchString(s.Domain) {
		f.add("/domain", "want a slug: lower-case letters, digits, dashes and underscores, at most 63")
	}
	if !toolPrefix.MatchString(s.Prefix) {
		f.add("/prefix", "want at most 64 letters, digits, dots, dashes or underscores")
	}
	f.transport(s)
	f.patterns("/allowedTools", s.AllowedTools)
	f.patterns("/blockedTools", s.BlockedTools)
	f.labels("/requiredRoles", s.RequiredRoles)
	f.labels("/agentAllowlist", s.AgentAllowlist)
	f.labels("/tags", s.Tags)
	f.enums(s)
	if s.Timeout != 0 && (s.Timeout < minTimeout || s.Timeout > maxTimeout) {
		f.add("/timeout", "want %s to %s, or nothing for the default", minTimeout, maxTimeout)
	}
	return f
}

func (f *faults) enums(s core.Server) {
	if !slices.Contains([]core.Visibility{"", core.Visible, core.Hidden, core.Owned}, s.Visibility) {
		f.add("/visibility", "want visible, hidden or user")
	}
	if !slices.Contains([]core.Isolation{"", core.Shared, core.PerUser, core.PerSession}, s.Isolation) {
		f.add("/isolation", "want shared, user or session")
	}
	if !slices.Contains([]core.Status{"", core.Active, core.Inactive}, s.Status) {
		f.add("/status", "want active or inactive")
	}
	switch {
	case s.Visibility == core.Owned && s.OwnerID == "":
		f.add("/ownerId", "visibility user needs the id of the user who owns the server")
	case s.Visibility != core.Owned && s.OwnerID != "":
		f.add("/ownerId", "goes with visibility user alone")
	}
}

func (f *faults) transport(s core.Server) {
	switch s.Transport {
	case core.Stdio:
		f.stdio(s)
	case core.HTTP, core.SSE:
		f.remote(s)
	case "":
		f.add("/transport", "is missing: want stdio, http or sse")
	default:
		f.add("/transport", "want stdio, http or sse")
	}
}

func (f *faults) stdio(s core.Server) {
	if strings.TrimSpace(s.Command) == "" {
		f.add("/command", "is missing: transport stdio runs a command")
	}
	f.text("/command", s.Command, maxText)
	f.size("/args", len(s.Args))
	for i, arg := range s.Args {
		f.text(fmt.Sprintf("/args/%d", i), arg, maxText)
	}
	f.size("/env", len(s.Env))
	for name, value := range sorted(s.Env) {
		at := "/env/" + escape(name)
		if !envName.MatchString(name) {
			f.add(at, "is not a name for an environment variable")
		}
		f.text(at, value, maxValue)
		f.references(at, value)
	}
	if s.URL != "" {
		f.add("/url", "goes with transport http or sse")
	}
	if len(s.Headers) > 0 {
		f.add("/headers", "go with transport http or sse")
	}
}

func (f *faults) remote(s core.Server) {
	f.url(s.URL)
	f.size("/headers", len(s.Headers))
	for name, value := range sorted(s.Headers) {
		f.header(name, value)
	}
	if s.Command != "" {
		f.add("/command", "goes with transport stdio")
	}
	if len(s.Args) > 0 {
		f.add("/args", "go with transport stdio")
	}
	if len(s.Env) > 0 {
		f.add("/env", "goes with transport stdio")
	}
}

func (f *faults) url(raw string) {
	if raw == "" {
		f.add("/url", "is missing: transports http and sse need the address of the endpoint")
		return
	}
	f.text("/url", raw, maxText)
	f.references("/url", raw)
	// References are filled in when the server is dialled; any letter stands for
	// them here, except where they are all there is to see.
	if strings.HasPrefix(raw, "${") {
		return
	}
	u, err := url.Parse(refName.ReplaceAllString(raw, "1"))
	switch {
	case err != nil:
		f.add("/url", "is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		f.add("/url", "want a URL with http or https")
	case u.Hostname() == "":
		f.add("/url", "names no host")
	case u.User != nil:
		f.add("/url", "must not hold credentials: put them into headers")
	case u.Fragment != "":
		f.add("/url", "must not have a fragment")
	}
}

// ownHeaders are written by the protocol itself, would smuggle a request, or would
// have Go's client send one again by itself (idempotency-key).
var ownHeaders = []string{"connection", "content-length", "content-type", "host", "idempotency-key", "keep-alive", "mcp-method", "mcp-name",
	"mcp-protocol-version", "mcp-session-id", "te", "trailer", "transfer-encoding", "upgrade", "accept", "x-idempotency-key"}

func (f *faults) header(name, value string) {
	at := "/headers/" + escape(name)
	switch {
	case !headerName.MatchString(name):
		f.add(at, "is not a name for a header")
	case slices.Contains(ownHeaders, strings.ToLower(name)):
		f.add(at, "is set by the gateway itself")
	}
	if !headerValue.MatchString(value) {
		f.add(at, "holds characters that a header cannot carry")
	}
	f.text(at, value, maxValue)
	f.references(at, value)
}

// references complains of ${…} that names nothing.
func (f *faults) references(at, value string) {
	for _, m := range refName.FindAllStringSubmatch(value, -1) {
		if !envName.MatchString(m[1]) {
			f.add(at, "${%s} does not name an environment variable", m[1])
		}
	}
}

func (f *faults) patterns(at string, patterns []string) {
	f.size(at, len(patterns))
	for i, p := range patterns {
		here := fmt.Sprintf("%s/%d", at, i)
		if p == "" {
			f.add(here, "is empty")
		}
		f.text(here, p, maxText)
		if _, err := path.Match(p, ""); err != nil {
			f.add(here, "is not a pattern: write \\[ for a bracket that means itself")
		}
	}
}

func (f *faults) labels(at string, labels []string) {
	f.size(at, len(labels))
	for i, l := range labels {
		if !label.MatchString(l) || strings.TrimSpace(l) != l {
			f.add(fmt.Sprintf("%s/%d", at, i), "want 1 to 128 characters without control characters")
		}
	}
}
