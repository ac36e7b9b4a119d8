package testfilter

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var golang = framework{
	name:     "go test",
	hints:    []string{"ok  \t", "FAIL\t", `"Action"`},
	summary:  regexp.MustCompile(`^(?:ok  |FAIL)\t\S+(?:\t| \[)|^\{"Time":"[^"]+","Action":"(?:pass|fail|skip)","Package":"[^"]+","Elapsed":`),
	evidence: regexp.MustCompile(`^(?:ok  |FAIL)\t\S+(?:\t| \[)|^\{"Time":"[^"]+","Action":"start","Package":`),
	vital:    regexp.MustCompile(`_test\.go:\d+|^panic: |^fatal error: |DATA RACE|running tests:|\[running\]|^\s+Test\w+`),
	read:     readGo,
}

var (
	goRun     = regexp.MustCompile(`^=== (RUN|PAUSE|CONT|NAME) +(\S*)$`)
	goEnd     = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP|BENCH): (\S+)`)
	goPackage = regexp.MustCompile(`^(ok  |FAIL|\?   )\t(\S+)`)
	goCrash   = regexp.MustCompile(`^(?:panic: |fatal error: |SIG[A-Z]+: |WARNING: DATA RACE)`)
)

// goReader follows the output of go test. Each package's lines are kept until the
// package ends: only then is known which tests failed, and -v mixes them.
type goReader struct {
	report
	open map[string]*goRunning
}

// goRunning is a package whose tests run.
type goRunning struct {
	tests   []*goTest
	byName  map[string]*goTest
	current *goTest
	crashed bool
}

// goTest is a test, or with no name what the package itself said, or a crash.
type goTest struct {
	name   string
	status string // PASS, FAIL, SKIP, or "" while it runs
	lines  []string
}

func readGo(in *input) *report {
	r := &goReader{open: map[string]*goRunning{}}
	for line, ok := in.next(); ok; line, ok = in.next() {
		if strings.HasPrefix(line, `{"`) && r.event(line) {
			continue
		}
		r.line("", "", line)
	}
	for _, name := range slices.Sorted(maps.Keys(r.open)) {
		r.end(r.open[name], true)
	}
	return &r.report
}

// event reads a line of go test -json, which is a line of -v and where it belongs.
func (r *goReader) event(line string) bool {
	var e struct{ Action, Package, ImportPath, Test, Output string }
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		return false
	}
	switch e.Action {
	case "output":
		r.output(e.Package, e.Test, e.Output)
	case "build-output":
		r.add(other, strings.TrimSuffix(e.Output, "\n"))
	case "fail":
		if e.Test != "" {
			r.running(e.Package).test(e.Test).status = "FAIL"
		}
	}
	return true
}

// output takes the text of an event. A line may come in several.
func (r *goReader) output(pkg, test, text string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		r.line(pkg, test, plain(line))
	}
}

func (r *goReader) running(pkg string) *goRunning {
	p := r.open[pkg]
	if p == nil {
		p = &goRunning{byName: map[string]*goTest{}}
		r.open[pkg] = p
	}
	return p
}

// line takes a line of a package and, where it is known, a test.
func (r *goReader) line(pkg, test, line string) {
	p := r.running(pkg)
	if test != "" && !p.crashed {
		p.current = p.test(test)
	}
	if m := goPackage.FindStringSubmatch(line); m != nil {
		r.end(p, m[1] == "FAIL")
		delete(r.open, pkg)
		switch m[1] {
		case "FAIL":
			r.report.add(kept, line)
		case "ok  ":
			r.report.add(passed, line)
		default:
			r.report.add(noise, line)
		}
		return
	}
	if line == "PASS" || line == "FAIL" {
		p.current = nil
		return
	}
	p.line(line)
}

func (p *goRunning) line(line string) {
	if p.crashed {
		p.current.lines = append(p.current.lines, line)
		return
	}
	if m := goRun.FindStringSubmatch(line); m != nil {
		if p.current = p.test(m[2]); m[1] == "PAUSE" {
			p.current = nil
		}
		return
	}
	if m := goEnd.FindStringSubmatch(line); m != nil {
		t := p.test(m[2])
		switch {
		case m[1] != "FAIL":
		case t.status != "FAIL":
			t.lines = append([]string{line}, t.lines...)
		default: // it has failed before
			t.lines = append(t.lines, line)
		}
		t.status = m[1]
		p.current = t
		return
	}
	if goCrash.MatchString(line) && (p.current == nil || p.current.status != "PASS") {
		p.crash(line)
		return
	}
	if p.current == nil {
		p.current = p.test("")
	}
	p.current.lines = append(p.current.lines, line)
}

// crash is told at length by all lines that follow, as a part of the test in which
// it happened or on its own.
func (p *goRunning) crash(line string) {
	if p.current == nil || p.current.name == "" {
		p.current = p.test(line)
	}
	if !strings.HasPrefix(line, "WARNING") {
		p.crashed = true
		p.current.status = "FAIL"
	}
	p.current.lines = append(p.current.lines, line)
}

func (p *goRunning) test(name string) *goTest {
	t := p.byName[name]
	if t == nil {
		t = &goTest{name: name}
		p.byName[name] = t
		p.tests = append(p.tests, t)
	}
	return t
}

// end sorts what a package's tests said.
func (r *goReader) end(p *goRunning, failed bool) {
	troubled := p.troubled()
	for _, t := range p.tests {
		switch {
		case t.name == "":
			for _, line := range t.lines {
				r.report.add(other, line)
			}
		case t.status == "FAIL" && (len(t.lines) > 1 || !within(troubled, t.name)):
			r.report.open(failure, t.name, t.lines...)
		case t.status == "" && failed && !within(troubled, t.name):
			r.report.open(failure, t.name, append([]string{fmt.Sprintf("--- %s did not end", t.name)}, t.lines...)...)
		}
	}
}

// troubled are the names of the tests that failed or hang, in order.
func (p *goRunning) troubled() []string {
	var names []string
	for _, t := range p.tests {
		if t.status == "FAIL" || t.status == "" {
			names = append(names, t.name)
		}
	}
	slices.Sort(names)
	return names
}

// within reports whether a test failed or hangs in one of its own.
func within(troubled []string, name string) bool {
	i, _ := slices.BinarySearch(troubled, name+"/")
	return i < len(troubled) && strings.HasPrefix(troubled[i], name+"/")
}
