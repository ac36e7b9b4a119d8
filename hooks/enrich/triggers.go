package enrich

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/toolscout/toolscout/core"
)

// triggers are the patterns that make the hook ask.
type triggers []trigger

// trigger is one pattern, with literals one of which is in every text that it
// matches. With them the usual case, that nothing matches, is known from the JSON as
// it stands, without decoding it or running the pattern.
type trigger struct {
	pattern  *regexp.Regexp
	literals []literal // empty: none is known
}

func compile(patterns []string) (triggers, []core.Fault) {
	var ts triggers
	var faults []core.Fault
	for i, p := range patterns {
		re, err := regexp.Compile(p)
		if err != nil {
			faults = append(faults, core.Fault{Pointer: fmt.Sprintf("/triggers/%d", i), Message: err.Error()})
			continue
		}
		tree, err := syntax.Parse(p, syntax.Perl)
		if err != nil {
			faults = append(faults, core.Fault{Pointer: fmt.Sprintf("/triggers/%d", i), Message: err.Error()})
			continue
		}
		ts = append(ts, trigger{re, literals(tree)})
	}
	return ts, faults
}

// possible reports whether a trigger may match the text in a result, which is JSON.
// A character may be written as \uXXXX, and then anything is possible.
func (ts triggers) possible(raw []byte) bool {
	if bytes.Contains(raw, []byte(`\u`)) {
		return true
	}
	for _, t := range ts {
		if len(t.literals) == 0 {
			return true
		}
		for _, l := range t.literals {
			if l.in(raw) {
				return true
			}
		}
	}
	return false
}

func (ts triggers) match(text string) bool {
	for _, t := range ts {
		if t.pattern.MatchString(text) {
			return true
		}
	}
	return false
}

// literal is a piece of text in a pattern. It has only characters that stand for
// themselves in JSON.
type literal struct {
	text []byte
	fold bool // in lower case, and so is what it is compared with
	// rare is where its rarest letter stands, which is looked for first.
	rare int
}

func (l literal) in(raw []byte) bool {
	if !l.fold {
		return bytes.Contains(raw, l.text)
	}
	low := l.text[l.rare]
	return l.around(raw, low) || low >= 'a' && low <= 'z' && l.around(raw, low-'a'+'A')
}

// around looks at each place in raw where the rare letter is written so.
func (l literal) around(raw []byte, letter byte) bool {
	for at := 0; ; at++ {
		n := bytes.IndexByte(raw[at:], letter)
		if n < 0 {
			return false
		}
		at += n
		start := at - l.rare
		if start >= 0 && start+len(l.text) <= len(raw) && bytes.EqualFold(raw[start:start+len(l.text)], l.text) {
			return true
		}
	}
}

// byRarity are the characters of English text, the rarest first. It only makes the
// search faster.
const byRarity = "zqxjkvbpygfwmucldrhsnioate "

func newLiteral(text string, fold bool) literal {
	l := literal{text: []byte(text), fold: fold}
	for i := range l.text {
		if strings.IndexByte(byRarity, l.text[i]) < strings.IndexByte(byRarity, l.text[l.rare]) {
			l.rare = i
		}
	}
	return l
}

// literals gives literals one of which every match of the pattern holds.
func literals(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		if l := safe(string(re.Rune), re.Flags&syntax.FoldCase != 0); len(l.text) > 0 {
			return []literal{l}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return literals(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literals(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []literal
		for _, sub := range re.Sub {
			if ls := literals(sub); shortest(ls) > shortest(best) {
				best = ls
			}
		}
		return best
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range re.Sub {
			ls := literals(sub)
			if len(ls) == 0 {
				return nil
			}
			all = append(all, ls...)
		}
		return all
	}
	return nil
}

// shortest is the length of the shortest literal: how much a set of them tells.
func shortest(ls []literal) int {
	n := 0
	for i, l := range ls {
		if i == 0 || len(l.text) < n {
			n = len(l.text)
		}
	}
	return n
}

// safe is the longest part of a literal that JSON has as it is. Folding takes k and
// s for characters beyond ASCII too (the Kelvin sign, the long s), so they are left out.
func safe(text string, fold bool) literal {
	if fold {
		text = strings.ToLower(text)
	}
	best := ""
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return r < ' ' || r > '~' || r == '"' || r == '\\' || r == '/' || fold && (r == 'k' || r == 's')
	}) {
		if len(part) > len(best) {
			best = part
		}
	}
	return newLiteral(best, fold)
}
