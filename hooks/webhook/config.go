package webhook

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/core"
)

// detail is how much of arguments or of a result is sent.
type detail string

const (
	none   detail = "none"
	shape  detail = "shape"
	values detail = "values"
)

// config is the configuration; the schema says what its members mean.
type config struct {
	URL     string            `json:"url"`
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Send    struct {
		Args   detail `json:"args"`
		Result detail `json:"result"`
	} `json:"send"`
	MaxBodyBytes int `json:"max_body_bytes"`
}

func parse(raw json.RawMessage) (config, error) {
	c := config{MaxBodyBytes: 1 << 20}
	c.Send.Args, c.Send.Result = shape, shape
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, core.Errorf(core.InvalidParams, "the configuration of the webhook is not valid").Because(err)
	}
	return c, nil
}

var (
	// headerName is a token of RFC 9110, section 5.6.2; headerValue is what its
	// section 5.5 lets a field carry.
	headerName  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")
	headerValue = regexp.MustCompile(`^[^\x00-\x08\x0a-\x1f\x7f]*$`)
	// ownHeaders frame the message, would smuggle a second one, or would have Go's
	// client send it again by itself (idempotency-key).
	ownHeaders = []string{"accept", "accept-encoding", "connection", "content-encoding", "content-length",
		"content-type", "expect", "host", "idempotency-key", "keep-alive", "te", "trailer", "transfer-encoding",
		"upgrade", "webhook-id", "webhook-signature", "webhook-timestamp", "x-idempotency-key"}
)

// check gives the signing key and whatever is wrong that the schema cannot say.
func (c config) check() (key []byte, faults []core.Fault) {
	add := func(pointer, message string) {
		faults = append(faults, core.Fault{Pointer: pointer, Message: message})
	}
	if message := checkURL(c.URL); message != "" {
		add("/url", message)
	}
	key, message := signingKey(c.Secret)
	if message != "" {
		add("/secret", message)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		at := "/headers/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		switch {
		case !headerName.MatchString(name):
			add(at, "is not a name for a header")
		case slices.Contains(ownHeaders, strings.ToLower(name)):
			add(at, "is set by the webhook itself")
		case !headerValue.MatchString(c.Headers[name]):
			add(at, "holds characters that a header cannot carry")
		}
	}
	return key, faults
}

// checkURL says what is wrong with an address to post to, "" if nothing.
func checkURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "is not a URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return "must begin with http:// or https://"
	case u.Hostname() == "":
		return "must name a host"
	case u.User != nil:
		return "must not hold credentials: put them into headers"
	case u.Fragment != "":
		return "must not have a fragment"
	}
	return ""
}

// signingKey is the key in a secret. Standard Webhooks writes keys as whsec_ and
// base64 and wants 24 to 64 bytes; any other text is a key as it stands.
func signingKey(secret string) (key []byte, fault string) {
	const least, most = 24, 64
	encoded, standard := strings.CutPrefix(secret, "whsec_")
	if !standard {
		if len(secret) < least {
			return nil, "must have at least 24 bytes"
		}
		return []byte(secret), ""
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, "must be base64 after whsec_"
	}
	if len(key) < least || len(key) > most {
		return nil, "must hold 24 to 64 bytes after whsec_"
	}
	return key, ""
}
