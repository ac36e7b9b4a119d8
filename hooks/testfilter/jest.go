package testfilter

import (
	"regexp"
	"strings"
)

var jest = framework{
	name:     "jest",
	summary:  regexp.MustCompile(`^Tests: +(?:(\d+) failed, )?(?:\d+ \w+, )*\d+ total$`),
	evidence: regexp.MustCompile(`^Test Suites: .*\d+ total$`),
	vital:    regexp.MustCompile(`expect\(|^ *Expected|^ *Received|^ *thrown|Error:|^ *[-+] |^ *> +\d+ \||\.[cm]?[jt]sx?:\d+:\d+`),
	read:     readJest,
}

var (
	jestFile  = regexp.MustCompile(`^ ?(PASS|FAIL) +\S`)
	jestBlock = regexp.MustCompile(`^  ● (.+)$`)
	jestMark  = regexp.MustCompile(`^ +([✓✕○✎√×]) (.*?)(?: \([\d.]+ m?s\))?$`)
	jestSum   = regexp.MustCompile(`^(?:Test Suites|Tests|Snapshots|Time): |^Ran all test suites`)
)

// readJest follows the output of jest: for each file a title, in the verbose form a
// tree of its tests, then what went wrong.
func readJest(in *input) *report {
	r := &report{}
	var marked []int // parts that are failures in a tree
	tree, failed, again := false, false, false
	for line, ok := in.next(); ok; line, ok = in.next() {
		inBlock := len(r.parts) > 0 && r.parts[len(r.parts)-1].kind == failure
		switch {
		case jestFile.MatchString(line):
			tree = true
			if strings.Contains(line, "FAIL") && !again {
				r.add(kept, line)
			} else {
				r.add(noise, line)
			}
		case line == "Summary of all failing tests":
			again = true // each failure is told once more
			r.add(noise, line)
		case jestSum.MatchString(line):
			tree = false
			r.add(kept, line)
		case jestBlock.MatchString(line):
			tree = false
			if name := jestBlock.FindStringSubmatch(line)[1]; name != "Console" {
				failed = true
				r.open(failure, name, line)
			} else {
				r.open(other, "", line)
			}
		case tree && jestMark.MatchString(line):
			if m := jestMark.FindStringSubmatch(line); m[1] == "✕" || m[1] == "×" {
				marked = append(marked, len(r.parts))
				r.open(entry, m[2], line)
			} else {
				r.add(noise, line)
			}
		case inBlock:
			r.more(line)
		case tree && strings.HasPrefix(line, "  "):
			r.add(quiet, line) // the name of a group
		case line == "":
			tree = tree && len(r.parts) > 0 && r.parts[len(r.parts)-1].kind != other
			r.add(noise, line)
		default:
			r.add(other, line)
		}
	}
	if failed {
		for _, i := range marked {
			r.parts[i].kind = noise // they come again, at length
		}
	}
	return r
}
