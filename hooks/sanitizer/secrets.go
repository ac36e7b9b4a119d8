package sanitizer

import (
	"regexp"
	"slices"
	"strings"
)

// redacted stands in the place of a secret. No pattern matches it.
const redacted = "[redacted]"

// secret is how something looks that nobody should see.
type secret struct {
	kind  string
	match *regexp.Regexp
	// hints are texts, in small letters, one of which is in every match: looking for
	// them costs a hundredth of looking for the match. None: it is always looked for.
	hints []string
	check func(string) bool // nil: whatever matches
}

// known are the kinds of secrets that can be told by their form, from their issuers'
// documentation, RFC 6750 (bearer), RFC 7468 (PEM) and RFC 7519 (JWT).
var known = []secret{
	{kind: "private_key", hints: []string{"private key"},
		match: regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----(?s:.*?)(-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----|\z)`)},
	{kind: "jwt", hints: []string{"eyj"}, match: regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{5,}\.eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*`)},
	{kind: "github", hints: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"},
		match: regexp.MustCompile(`\b(gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})`)},
	{kind: "aws", hints: []string{"akia", "asia", "abia", "acca"}, match: regexp.MustCompile(`\b(AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`)},
	{kind: "aws", hints: []string{"aws"},
		match: regexp.MustCompile(`(?i)\baws_?(secret_?access_?key|session_?token)["']?\s*[:=]\s*["']?[A-Za-z0-9/+=]{16,}`)},
	{kind: "api_key", hints: []string{"sk-", "k_live_", "k_test_", "xox", "glpat-", "aiza", "npm_"},
		match: regexp.MustCompile(`\b(sk-[A-Za-z0-9_-]{20,}|[rs]k_(live|test)_[A-Za-z0-9]{16,}|xox[abeoprs]-[A-Za-z0-9-]{10,}|glpat-[A-Za-z0-9_-]{20,}|AIza[A-Za-z0-9_-]{35}|npm_[A-Za-z0-9]{36})`)},
	{kind: "bearer", hints: []string{"bearer"}, match: regexp.MustCompile(`(?i)\bbearer\s+[A-Za-z0-9._~+/-]{8,}=*`)},
	{kind: "card", hints: []string{"2", "3", "4", "5", "6"}, match: regexp.MustCompile(`\b[2-6]\d{3}([ -]?\d){9,15}\b`), check: luhn},
}

// redact puts "[redacted]" in the place of every secret.
func (p *pass) redact(text string, secrets []secret) string {
	lower := strings.ToLower(text)
	for _, s := range secrets {
		if s.hints == nil || slices.ContainsFunc(s.hints, func(h string) bool { return strings.Contains(lower, h) }) {
			text = p.substitute(text, s.match, func(out []byte, at []int) []byte { return s.append(out, text[at[0]:at[1]]) })
		}
	}
	return text
}

// append adds what comes in the place of what was found.
func (s secret) append(out []byte, found string) []byte {
	if s.check != nil && !s.check(found) {
		return append(out, found...)
	}
	return append(out, redacted...)
}

// luhn checks the last digit of a card's number (ISO/IEC 7812-1, annex B).
func luhn(text string) bool {
	sum, n := 0, 0
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] < '0' || text[i] > '9' {
			continue
		}
		digit := int(text[i] - '0')
		if n%2 == 1 {
			if digit *= 2; digit > 9 {
				digit -= 9
			}
		}
		sum += digit
		n++
	}
	return n >= 13 && n <= 19 && sum%10 == 0
}
