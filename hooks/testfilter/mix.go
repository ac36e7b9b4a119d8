package testfilter

import (
	"regexp"
	"strings"
)

var mix = framework{
	name:     "mix test",
	hints:    []string{" failure"},
	summary:  mixSum,
	evidence: regexp.MustCompile(`^Finished in .* seconds|^Randomized with seed \d+$|^Running ExUnit with seed: `),
	vital:    regexp.MustCompile(`^ +\*\* \(|^ +code: |^ +left: |^ +right: |^ +[\w/.]+\.exs?:\d+|failed$`),
	read:     readMix,
}

var (
	mixSum      = regexp.MustCompile(`^(?:\d+ (?:tests?|doctests?|properties|property|features?), )+(\d+) failures?(?:, \d+ (?:excluded|invalid|skipped))*$`)
	mixBlock    = regexp.MustCompile(`^  +\d+\) (\S.*)$`)
	mixProgress = regexp.MustCompile(`^[.*?]+$`)
	mixTrace    = regexp.MustCompile(`^  \* (?:test|doctest|property|feature) .*\[L#\d+\]$`)
	mixGroup    = regexp.MustCompile(`^[A-Z][\w.]* \[.+\.exs\]$`)
	mixBuild    = regexp.MustCompile(`^(?:Compiling \d+ files? \(\.(?:ex|erl)\)|Generated \w+ app|Running ExUnit with seed: .*|(?:Including|Excluding) tags: .*)$`)
)

// readMix follows the output of ExUnit: progress or a trace, with each failure in
// between where it happened.
func readMix(in *input) *report {
	r := &report{}
	for line, ok := in.next(); ok; line, ok = in.next() {
		switch {
		case mixSum.MatchString(line), strings.HasPrefix(line, "Finished in "), strings.HasPrefix(line, "Randomized with seed "):
			r.add(kept, line)
		case mixBlock.MatchString(line):
			r.open(failure, mixBlock.FindStringSubmatch(line)[1], line)
		case mixProgress.MatchString(line), mixTrace.MatchString(line), mixGroup.MatchString(line), mixBuild.MatchString(line):
			r.add(noise, line)
		case r.failing():
			r.more(line)
		case line == "":
			r.blank()
		default:
			r.add(other, line)
		}
	}
	return r
}
