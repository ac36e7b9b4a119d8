package sanitizer

import (
	"bytes"
	"encoding/json"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/pattern"
	"github.com/toolscout/toolscout/core/rawjson"
	"github.com/toolscout/toolscout/hooks"
)

// apply carries out one rule.
func (r *rule) apply(p *pass) {
	var es edits
	p.size = len(p.args)
	switch r.Do {
	case "drop":
		es = r.parents(p, func(at span, list []child, _ bool) edits { return r.dropped(p, list) })
	case "rename":
		es = r.parents(p, func(at span, list []child, isObject bool) edits { return r.renamed(p, list, isObject) })
	case "set":
		es = r.set(p)
	default:
		b := p.args
		matching(b, whole(b), r.tokens, func(at span) {
			leaves(b, at, func(leaf span) {
				if text := r.leaf(p, b[leaf.start:leaf.end], leaf.path); text != nil {
					es = append(es, edit{leaf.start, leaf.end, text})
				}
			})
		})
	}
	if p.err == nil {
		p.args = es.of(p.args)
	}
}

// leaf gives what comes in the place of a text, number or other literal; nil leaves
// it as it is.
func (r *rule) leaf(p *pass, literal []byte, path []string) []byte {
	if r.Do == "clamp" {
		return r.clamped(p, literal, path)
	}
	text, ok := unquote(literal)
	if !ok || p.err != nil {
		return nil
	}
	edited := text
	switch r.Do {
	case "trim":
		edited = r.trimmed(p, text, path)
	case "deny":
		if r.match.MatchString(text) {
			p.fault(path, r.Message)
		}
	case "replace":
		edited = p.substitute(text, r.match, func(out []byte, at []int) []byte { return r.match.ExpandString(out, r.With, text, at) })
		if edited != text {
			p.did("replaced", path, "")
		}
	case "redact":
		edited = p.redact(text, r.secrets)
		if edited != text {
			p.did("redacted", path, "held what looks like a secret, which was left out")
		}
	}
	if edited == text || !p.grow(len(edited)-len(text)) {
		return nil
	}
	return quote(edited)
}

// maxMatches is how many there may be in one text.
const maxMatches = 200_000

// substitute puts what expand adds for it in the place of each match.
func (p *pass) substitute(text string, match *regexp.Regexp, expand func(out []byte, at []int) []byte) string {
	found, err := pattern.FindAll(match, text, maxMatches, p.ended)
	if len(found) == maxMatches {
		err = hooks.Reject(core.InvalidParams, "a rule for its arguments matches too often in one text")
	}
	if err != nil {
		p.err = err
	}
	if p.err != nil || len(found) == 0 {
		return text
	}
	var out []byte
	done := 0
	for _, at := range found {
		out = expand(append(out, text[done:at[0]]...), at)
		done = at[1]
		if len(out) > maxBytes {
			p.grow(len(out))
			return text
		}
	}
	return string(append(out, text[done:]...))
}

func (r *rule) trimmed(p *pass, text string, path []string) string {
	edited := strings.TrimSpace(text)
	if r.MaxLength > 0 && utf8.RuneCountInString(edited) > r.MaxLength {
		edited = strings.TrimSpace(string([]rune(edited)[:r.MaxLength]))
		p.did("cut", path, "was cut to "+strconv.Itoa(r.MaxLength)+" characters")
		return edited
	}
	if edited != text {
		p.did("trimmed", path, "")
	}
	return edited
}

// parents calls edit for every object and array in which the pointer's last token is
// looked up.
func (r *rule) parents(p *pass, edit func(at span, list []child, isObject bool) edits) edits {
	var es edits
	b := p.args
	matching(b, whole(b), r.tokens[:len(r.tokens)-1], func(at span) {
		list, isObject := children(b, at)
		es = append(es, edit(at, list, isObject)...)
	})
	return es
}

func (r *rule) last() string { return r.tokens[len(r.tokens)-1] }

func (r *rule) names(c child) bool { return r.last() == "*" || r.last() == c.name }

func (r *rule) dropped(p *pass, list []child) edits {
	return without(list, func(c child) bool {
		if !r.names(c) {
			return false
		}
		p.did("dropped", c.path, "")
		return true
	})
}

// renamed gives a member its new name where there is none of that name yet.
func (r *rule) renamed(p *pass, list []child, isObject bool) edits {
	if !isObject {
		return nil
	}
	for _, c := range list {
		if c.name == *r.To {
			return nil
		}
	}
	for _, c := range list {
		if r.names(c) && p.grow(len(*r.To)) {
			p.did("renamed", c.path, "")
			return edits{{c.key, rawjson.Skip(p.args, c.key), quote(*r.To)}}
		}
	}
	return nil
}

// set puts the value in the place of what is there; a member that is not there is
// added to the objects that are.
func (r *rule) set(p *pass) edits {
	put := func(at span) edits {
		if bytes.Equal(p.args[at.start:at.end], r.Value) || !p.grow(len(r.Value)-(at.end-at.start)) {
			return nil
		}
		p.did("set", at.path, "")
		return edits{{at.start, at.end, r.Value}}
	}
	if len(r.tokens) == 0 {
		return put(whole(p.args))
	}
	return r.parents(p, func(at span, list []child, isObject bool) edits {
		var es edits
		found := false
		for _, c := range list {
			if r.names(c) {
				found = true
				es = append(es, put(c.span)...)
			}
		}
		if found || !isObject || r.last() == "*" || !p.grow(len(r.last())+len(r.Value)) {
			return es
		}
		p.did("set", append(at.path[:len(at.path):len(at.path)], r.last()), "")
		return edits{insertion(at, list, member(r.last(), r.Value))}
	})
}

// bounds are those that numbers are clamped between, with the literals that come in
// the place of what lies beyond; nil is none.
type bounds struct {
	least, most       *big.Float
	leastText, maxest []byte
}

func newBounds(least, most json.RawMessage) (b bounds, ok bool) {
	b.least, b.leastText = number(least), least
	b.most, b.maxest = number(most), most
	if b.least == nil && b.most == nil {
		return b, false
	}
	return b, b.least == nil || b.most == nil || b.least.Cmp(b.most) <= 0
}

// precision is that in which numbers are compared: exact for whole numbers of 400
// digits.
const precision = 1400

// number reads a literal, nil if it is none. One that is absurdly long or large counts
// as what is nearest to it in double precision, infinity included.
func number(literal []byte) *big.Float {
	if len(literal) == 0 || literal[0] != '-' && (literal[0] < '0' || literal[0] > '9') {
		return nil
	}
	rough, err := strconv.ParseFloat(string(literal), 64)
	if err != nil || rough == 0 || len(literal) > 400 {
		return big.NewFloat(rough)
	}
	exact, _, err := big.ParseFloat(string(literal), 10, precision, big.ToNearestEven)
	if err != nil {
		return big.NewFloat(rough)
	}
	return exact
}

func (r *rule) clamped(p *pass, literal []byte, path []string) []byte {
	n := number(literal)
	if n == nil {
		return nil
	}
	switch {
	case r.bounds.least != nil && n.Cmp(r.bounds.least) < 0:
		p.did("clamped", path, "was raised to "+string(r.bounds.leastText))
		return r.bounds.leastText
	case r.bounds.most != nil && n.Cmp(r.bounds.most) > 0:
		p.did("clamped", path, "was lowered to "+string(r.bounds.maxest))
		return r.bounds.maxest
	}
	return nil
}
