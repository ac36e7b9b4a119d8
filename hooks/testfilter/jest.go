package testfilter

import (
	"regexp"
	"strings"
)

var jest = framework{
	name:     "jest",
	hints:    []string{"Tests:"},
	summary:  regexp.MustCompile(`^Tests: +(?:(\d+) failed, )?(?:\d+ \w+, )*\d+ total$`),
	evidence: regexp.MustCompile(`^Test Suites: .*\d+ total$`),
	vital:    regexp.MustCompile(`expect\(|^ *Expected|^ *Received|^ *thrown|Error:|^ *[-+] |^ *> +\d+ \||\.[cm]?[jt]sx?:\d+:\d+`),
	read:     readJest,
}

var (
	jestFile    = regexp.MustCompile(`^ ?(PASS|FAIL) +\S`)
	jestBlock   = regexp.MustCompile(`^  ● (.+)$`)
	jestMark    = regexp.MustCompile(`^ +([✓✕○✎√×]) (.*?)(?: \([\d.]+ m?s\))?$`)
	jestConsole = regexp.MustCompile(`^ +console\.\w+`)
	jestSum     = regexp.MustCompile(`^(?:Test Suites|Tests|Snapshots|Time): |^Ran all test suites`)
)

// jestReader follows the output of jest: for each file a title, in the verbose form
// a tree of its tests, then what went wrong. With many files all that went wrong is
// told again at the end.
type jestReader struct {
	report
	marked []int // parts that are failures in a tree
	tree   bool
	again  bool
}

func readJest(in *input) *report {
	r := &jestReader{}
	for line, ok := in.next(); ok; line, ok = in.next() {
		r.line(line)
	}
	for _, p := range r.parts {
		if p.kind != failure {
			continue
		}
		for _, i := range r.marked {
			r.parts[i].kind = noise // they are told at length
		}
	}
	return &r.report
}

func (r *jestReader) line(line string) {
	switch {
	case jestSum.MatchString(line):
		r.tree, r.again = false, false
		r.add(kept, line)
	case r.again:
		r.add(noise, line)
	case line == "Summary of all failing tests":
		r.again = true
		r.add(noise, line)
	case jestFile.MatchString(line):
		r.tree = true
		if strings.Contains(line[:5], "FAIL") {
			r.add(kept, line)
		} else {
			r.add(noise, line)
		}
	case jestBlock.MatchString(line):
		r.tree = false
		if name := jestBlock.FindStringSubmatch(line)[1]; name != "Console" {
			r.open(failure, name, line)
		} else {
			r.add(other, line)
		}
	case r.tree && r.marks(line):
	case r.failing():
		r.more(line)
	case jestConsole.MatchString(line):
		r.tree = false
		r.add(other, line)
	case r.tree && strings.HasPrefix(line, "  "):
		r.add(quiet, line) // the name of a group
	case line == "":
		r.blank()
	default:
		r.add(other, line)
	}
}

// marks takes a line of a tree with a test's mark.
func (r *jestReader) marks(line string) bool {
	m := jestMark.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	if m[1] != "✕" && m[1] != "×" {
		r.add(noise, line)
		return true
	}
	r.marked = append(r.marked, len(r.parts))
	r.open(entry, m[2], line)
	return true
}
