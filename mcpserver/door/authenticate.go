package door

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"

	"github.com/toolscout/toolscout/core"
)

// agentHeader names the program that acts for the user.
const agentHeader = "X-Agent-Name"

// maxAgentName bounds the name of an agent in bytes.
const maxAgentName = 128

// Authenticated lets pass who holds a valid token, and puts the principal into
// the request that Request returns. It asks Config.Authenticate once for each
// request, so a token that is revoked is refused at its next use.
func (d *Door) Authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		principal, err := d.authenticate(r)
		if errors.Is(err, core.Unauthenticated) {
			w.Header().Set("WWW-Authenticate", d.challenge(r))
		}
		if err != nil {
			Problem(w, err)
			return
		}
		x := exchangeOf(w)
		if x == nil {
			panic("door: Authenticated stands outside Guard")
		}
		x.request.Principal = principal
		next.ServeHTTP(w, r)
	})
}

func (d *Door) authenticate(r *http.Request) (core.Principal, error) {
	secret, ok := bearer(r)
	if !ok {
		return core.Principal{}, core.Errorf(core.Unauthenticated, unauthenticated)
	}
	principal, err := d.config.Authenticate(r.Context(), sha256.Sum256([]byte(secret)))
	if errors.Is(err, core.Unauthenticated) {
		return core.Principal{}, core.Errorf(core.Unauthenticated, unauthenticated)
	}
	if err != nil {
		return core.Principal{}, core.Errorf(core.Unavailable, "tokens cannot be checked at the moment").Because(err)
	}
	if err := narrow(&principal, r); err != nil {
		return core.Principal{}, err
	}
	return principal, nil
}

// unauthenticated is the same for every reason: it must not tell which tokens exist.
const unauthenticated = "a valid bearer token is needed"

// bearer gives the token of a request: exactly one Authorization header
// (RFC 6750, section 2.1).
func bearer(r *http.Request) (string, bool) {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return "", false
	}
	scheme, secret, _ := strings.Cut(values[0], " ")
	secret = strings.TrimSpace(secret)
	return secret, strings.EqualFold(scheme, "Bearer") && secret != ""
}

// challenge is the WWW-Authenticate of a refusal: where the metadata lies
// (RFC 9728, section 5.1), and that a token was there but no good (RFC 6750, section 3).
func (d *Door) challenge(r *http.Request) string {
	url := d.base(r) + metadataPath
	if r.URL.Path == mcpPath {
		url += mcpPath
	}
	c := `Bearer resource_metadata="` + url + `"`
	if len(r.Header["Authorization"]) > 0 {
		c += `, error="invalid_token"`
	}
	return c
}

// narrow applies x-agent-name: it names the agent of a token that is bound to
// none, and can never turn a bound one into another.
func narrow(p *core.Principal, r *http.Request) error {
	values := r.Header[agentHeader]
	if len(values) == 0 || (len(values) == 1 && values[0] == "") {
		return nil
	}
	if len(values) > 1 || !validAgent(values[0]) {
		return core.Errorf(core.InvalidParams, "x-agent-name must be one name of up to %d printable ASCII characters", maxAgentName)
	}
	if p.Agent != "" && p.Agent != values[0] {
		return core.Errorf(core.Denied, "this token belongs to another agent than x-agent-name says")
	}
	p.AgentNamed = p.Agent == ""
	p.Agent = values[0]
	return nil
}

func validAgent(name string) bool {
	if len(name) > maxAgentName {
		return false
	}
	for i := range len(name) {
		if name[i] < ' ' || name[i] > '~' {
			return false
		}
	}
	return true
}
