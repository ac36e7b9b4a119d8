package testfilter

import (
	"regexp"
	"strings"
)

var cargo = framework{
	name:     "cargo test",
	hints:    []string{"test result: ", "to rerun pass"},
	summary:  regexp.MustCompile(`^test result: (?:ok|FAILED)\. \d+ passed; (\d+) failed; \d+ ignored; |^error: test failed, to rerun pass `),
	evidence: cargoRunning,
	vital:    regexp.MustCompile(`panicked at|^assertion|^ *left:|^ *right:|^Error:|^error`),
	read:     readCargo,
}

var (
	cargoRunning = regexp.MustCompile(`^running \d+ tests?$`)
	cargoResult  = regexp.MustCompile(`^test result: `)
	cargoTarget  = regexp.MustCompile(`^ +(Running|Doc-tests) `)
	cargoBuild   = regexp.MustCompile(`^ +(Compiling|Finished|Fresh|Checking|Downloading|Downloaded|Updating|Locking|Adding|Blocking|Building|Dirty) `)
	cargoTest    = regexp.MustCompile(`^test (.+?)(?: - should panic)?(?: - compile(?: fail)?)? \.\.\. (ok|FAILED|ignored.*|bench:.*)$`)
	cargoBlock   = regexp.MustCompile(`^---- (.+?) std(?:out|err) ----$`)
	cargoDots    = regexp.MustCompile(`^[.iF]+(?: \d+/\d+)?$|^ ?\d+/\d+$`)
	cargoQuietly = regexp.MustCompile(`^(.+?)(?: - should panic)? --- FAILED$`)
)

// readCargo follows the output of cargo and of libtest: for each target a title, the
// tests, then "failures:" twice, with what each printed and with the names.
func readCargo(in *input) *report {
	r := &report{}
	title := "" // of the target, which goes with its result
	names := false
	flush := func() {
		if title != "" {
			r.add(kept, title)
			title = ""
		}
	}
	for line, ok := in.next(); ok; line, ok = in.next() {
		switch {
		case cargoTarget.MatchString(line):
			flush()
			title, names = line, false
		case cargoResult.MatchString(line):
			names = false
			if strings.HasPrefix(line, "test result: ok") {
				if title != "" {
					r.open(passed, "", title, line)
				} else {
					r.open(passed, "", line)
				}
				title = ""
				continue
			}
			flush()
			r.add(kept, line)
		case line == "failures:":
			flush()
			r.add(noise, line)
			names = true // unless a block follows
		case cargoBlock.MatchString(line):
			names = false
			r.open(failure, cargoBlock.FindStringSubmatch(line)[1], line)
		case names && strings.HasPrefix(line, "    "):
			r.open(entry, strings.TrimSpace(line), line)
		case r.failing():
			r.more(line)
		case cargoTest.MatchString(line):
			if m := cargoTest.FindStringSubmatch(line); m[2] == "FAILED" {
				flush()
				r.open(entry, m[1], line)
			} else {
				r.add(noise, line)
			}
		case cargoQuietly.MatchString(line):
			flush()
			r.open(entry, cargoQuietly.FindStringSubmatch(line)[1], line)
		case line == "":
			r.blank()
		case cargoDots.MatchString(line), cargoBuild.MatchString(line), cargoRunning.MatchString(line):
			r.add(noise, line)
		case strings.HasPrefix(line, "error: "):
			flush()
			r.add(kept, line)
		default:
			r.add(other, line)
		}
	}
	flush()
	return r
}
