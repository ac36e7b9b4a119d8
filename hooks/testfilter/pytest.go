package testfilter

import (
	"regexp"
	"strings"
)

var pytest = framework{
	name:     "pytest",
	hints:    []string{" in "},
	summary:  pytestSum,
	evidence: regexp.MustCompile(`^=+ (?:test session starts|FAILURES|ERRORS|short test summary info|warnings summary) =+$|^[.FEsxX]+ +\[ *\d+%\]$`),
	vital:    regexp.MustCompile(`^E  |^[\w.]*(?:Error|Exception)\b`),
	read:     readPytest,
}

var (
	pytestSum = regexp.MustCompile(`^(?:=+ )?(?:no tests ran|(?:(\d+) failed)?(?:(?:, )?\d+ (?:passed|skipped|deselected|xfailed|xpassed|warnings?|rerun))*(?:(?:, )?(\d+) errors?)?)` +
		` in \d+\.\d+s(?: \([\d:]+\))?(?: =+)?$`)
	pytestTitle    = regexp.MustCompile(`^={3,} (.+?) ={3,}$`)
	pytestBlock    = regexp.MustCompile(`^_{2,} (\S.*?) _{2,}$`)
	pytestProgress = regexp.MustCompile(`^(?:\S+ )?[.FEsxXRpP,]* *(?:\[ *\d+%\]|\[ *\d+/\d+\])$|^\S+\.py [.FEsxXRpP,]+$|^[.FEsxX]{3,}$`)
	pytestVerbose  = regexp.MustCompile(`^(?:\[gw\d+\] (?:\[ *\d+%\] )?)?(?:(\S+::.*?) )?(PASSED|SKIPPED|XFAIL|XPASS|FAILED|ERROR|RERUN)(?: \(.*\))?(?: (\S+::.*?))? *(?:\[ *\d+%\])?$`)
	pytestHeader   = regexp.MustCompile(`^(?:platform |rootdir: |configfile: |plugins: |cachedir: |testpaths: |asyncio: |hypothesis profile |collecting |bringing up nodes|scheduling tests |\d+ workers |gw\d|Using --randomly-seed)`)
	pytestEntry    = regexp.MustCompile(`^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$`)
	pytestCount    = regexp.MustCompile(`^collected \d+ items?`)
)

// pytestReader follows the sections of pytest's output.
type pytestReader struct {
	report
	section string
	tested  []int // parts that are FAILED lines of the verbose form
	list    []int // parts that are in the list at the end
}

func readPytest(in *input) *report {
	r := &pytestReader{}
	for line, ok := in.next(); ok; line, ok = in.next() {
		r.line(line)
	}
	r.sort()
	return &r.report
}

// sort leaves out what is told more than once: the FAILED lines of the verbose form
// where there is a list at the end, and in the list each message where all failures
// are told at length.
func (r *pytestReader) sort() {
	failures := 0
	for _, p := range r.parts {
		if p.kind == failure {
			failures++
		}
	}
	if len(r.list) > 0 || failures > 0 {
		for _, i := range r.tested {
			r.parts[i].kind = noise
		}
	}
	if failures < len(r.list) {
		return
	}
	for _, i := range r.list {
		r.parts[i].lines = r.parts[i].lines[:1]
	}
}

func (r *pytestReader) line(line string) {
	var m []string
	if strings.HasPrefix(line, "===") {
		m = pytestTitle.FindStringSubmatch(line)
	}
	sum := strings.Contains(line, " in ") && pytestSum.MatchString(line)
	if m != nil || sum {
		r.title(line, m, sum)
		return
	}
	switch r.section {
	case "ERRORS", "FAILURES":
		r.told(line)
	case "short test summary info":
		r.listed(line)
	case "":
		r.running(line)
	default:
		r.add(other, line)
	}
}

// title begins a section, or ends the run.
func (r *pytestReader) title(line string, m []string, sum bool) {
	r.section = "end"
	if sum {
		r.add(kept, line)
		return
	}
	switch r.section = m[1]; r.section {
	case "test session starts":
		r.section = ""
		r.add(noise, line)
	case "short test summary info":
		r.add(noise, line)
	default:
		r.add(kept, line)
	}
}

// running is a line of the time before any section.
func (r *pytestReader) running(line string) {
	m := pytestVerbose.FindStringSubmatch(line)
	switch {
	case m != nil && (m[2] == "FAILED" || m[2] == "ERROR"):
		name := m[1] + m[3]
		r.tested = append(r.tested, len(r.parts))
		r.open(entry, name, line)
	case line == "":
		r.blank()
	case m != nil, pytestProgress.MatchString(line), pytestHeader.MatchString(line):
		r.add(noise, line)
	case pytestCount.MatchString(line) && !strings.Contains(line, "error"):
		r.add(noise, line)
	default:
		r.add(other, line)
	}
}

// told is a line of the sections that tell of failures at length.
func (r *pytestReader) told(line string) {
	if m := pytestBlock.FindStringSubmatch(line); m != nil {
		r.open(failure, m[1], line)
		return
	}
	if r.failing() {
		r.more(line)
		return
	}
	r.add(other, line)
}

// listed is a line of the list of failures.
func (r *pytestReader) listed(line string) {
	if strings.HasPrefix(line, "!!!") {
		r.add(kept, line)
		return
	}
	if m := pytestEntry.FindStringSubmatch(line); m != nil {
		r.list = append(r.list, len(r.parts))
		r.open(entry, "listed "+m[1], line)
		return
	}
	if r.parts[len(r.parts)-1].kind == entry {
		r.more(line) // of its message
		return
	}
	r.add(other, line)
}
