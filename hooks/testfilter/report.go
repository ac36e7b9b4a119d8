package testfilter

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// kind is what a part of an output is.
type kind int

const (
	// not known: kept, and shortened only between known parts, because what stands
	// before or after a test run is somebody else's
	other   kind = iota
	noise        // left out
	quiet        // left out but for lines that sound like trouble
	kept         // summaries, titles
	passed       // lines about what passed, of which the first few are kept
	failure      // one failure with its lines
	entry        // a failure in a list of names
)

// The bounds of what is not bounded by the configuration.
const (
	maxPassed = 10   // lines about what passed
	maxNames  = 50   // names in one line, and entries of lists
	maxLine   = 2000 // bytes of a line
	maxOther  = 2    // times max_lines: lines that are not known, in a row
)

// part is some lines that belong together.
type part struct {
	kind  kind
	name  string // of a failure or entry
	lines []string
}

// report is an output, sorted into parts.
type report struct{ parts []part }

// add puts a line to the last part if that is of the same kind, else into a new one.
func (r *report) add(k kind, line string) {
	if n := len(r.parts); n > 0 && r.parts[n-1].kind == k && k != passed {
		r.parts[n-1].lines = append(r.parts[n-1].lines, line)
		return
	}
	r.open(k, "", line)
}

// open begins a part.
func (r *report) open(k kind, name string, lines ...string) {
	r.parts = append(r.parts, part{kind: k, name: name, lines: lines})
}

// blank puts an empty line where it belongs: to lines that are not known, and else
// nowhere.
func (r *report) blank() {
	if n := len(r.parts); n > 0 && (r.parts[n-1].kind == other || r.parts[n-1].kind == quiet) {
		r.more("")
		return
	}
	r.add(noise, "")
}

// failing reports whether the last part is a failure.
func (r *report) failing() bool {
	return len(r.parts) > 0 && r.parts[len(r.parts)-1].kind == failure
}

// more puts a line to the last part.
func (r *report) more(line string) {
	p := &r.parts[len(r.parts)-1]
	p.lines = append(p.lines, line)
}

// trouble is what a line says that is better kept although it is not understood.
var trouble = regexp.MustCompile(`(?i)fail|error|panic|exception|fatal|abort|timed? ?out|segmentation|killed|signal`)

// writer puts the parts that are kept together.
type writer struct {
	config   config
	vital    *regexp.Regexp
	out      []string
	failures int
	unshown  []string // names of failures
	listed   bool     // each failure is also in a list
	entries  int
	extra    int
	passed   int
	named    map[string]bool
}

// text is the report without what is left out. claimed is how many failures the
// output itself counts.
func (r *report) text(c config, f *framework, claimed int) string {
	w := writer{config: c, vital: f.vital, named: map[string]bool{}}
	first, end := r.known()
	found, lastFailure := r.count(&w)
	for i, p := range r.parts {
		if i < first || i > end {
			w.out = append(w.out, p.lines...) // somebody else's words
			continue
		}
		w.part(p)
		if i == lastFailure && len(w.unshown) > 0 {
			w.add("[" + w.leftOut() + "]")
		}
	}
	if w.extra > 0 {
		w.add(fmt.Sprintf("[%d more of the list of failures left out]", w.extra))
	}
	if w.passed > maxPassed {
		w.add(fmt.Sprintf("[%d more lines about what passed left out]", w.passed-maxPassed))
	}
	if claimed > found {
		w.add(fmt.Sprintf("[%d failures are counted, %d were found in the output]", claimed, found))
	}
	return strings.Trim(strings.Join(w.out, "\n"), "\n")
}

// known gives the first and the last part that was understood.
func (r *report) known() (first, end int) {
	first = len(r.parts)
	for i, p := range r.parts {
		if p.kind != other && !(p.kind == noise && strings.Join(p.lines, "") == "") {
			first, end = min(first, i), i
		}
	}
	return first, end
}

// count gives how many failures there are, and the last part that is one. It notes
// which are shown, so that no list names them again.
func (r *report) count(w *writer) (found, last int) {
	failures, listed := 0, map[string]bool{}
	last = -1
	for i, p := range r.parts {
		switch p.kind {
		case failure:
			if failures++; failures <= w.config.MaxFailures {
				w.named[p.name] = true
			}
			last = i
		case entry:
			listed[p.name] = true
		}
	}
	w.listed = len(listed) >= failures
	return max(failures, len(listed)), last
}

// part writes one part.
func (w *writer) part(p part) {
	switch p.kind {
	case kept:
		w.add(p.lines...)
	case other:
		w.add(excerpt(p.lines, maxOther*w.config.MaxLines, trouble)...)
	case quiet:
		var loud []string
		for _, line := range p.lines {
			if trouble.MatchString(line) {
				loud = append(loud, line)
			}
		}
		w.add(excerpt(loud, w.config.MaxLines, trouble)...)
	case passed:
		if w.passed++; w.passed <= maxPassed {
			w.add(p.lines...)
		}
	case failure:
		if w.failures++; w.failures > w.config.MaxFailures {
			w.unshown = append(w.unshown, p.name)
			return
		}
		w.add(excerpt(trimmed(p.lines), w.config.MaxLines, w.vital)...)
	case entry:
		if w.named[p.name] {
			return
		}
		w.named[p.name] = true
		if w.entries++; w.entries > maxNames {
			w.extra++
			return
		}
		w.add(excerpt(p.lines, w.config.MaxLines, w.vital)...)
	}
}

// add writes lines, of several empty ones the first.
func (w *writer) add(lines ...string) {
	for _, line := range lines {
		if line = clip(line); line == "" && len(w.out) > 0 && w.out[len(w.out)-1] == "" {
			continue
		}
		w.out = append(w.out, line)
	}
}

// leftOut counts the failures that are not shown, and names them if nothing else does.
func (w *writer) leftOut() string {
	n := len(w.unshown)
	line := fmt.Sprintf("%d more failures left out", n)
	if w.listed {
		return line
	}
	line += ": " + strings.Join(w.unshown[:min(n, maxNames)], ", ")
	if n > maxNames {
		line += fmt.Sprintf(" and %d others", n-maxNames)
	}
	return line
}

// excerpt gives at most limit of the lines: the first, then those that are vital (up
// to two thirds of the limit, from both their ends), then from the beginning and from
// the end. Empty lines do not count. Where lines are left out, one says how many.
func excerpt(lines []string, limit int, vital *regexp.Regexp) []string {
	if len(lines) <= limit {
		return lines
	}
	keep := make([]bool, len(lines))
	left := limit
	take := func(i int) {
		if !keep[i] && strings.TrimSpace(lines[i]) != "" {
			left--
		}
		keep[i] = true
	}
	take(0)
	var matched []int
	for i, line := range lines {
		if vital.MatchString(line) {
			matched = append(matched, i)
		}
	}
	for left > limit/3 && len(matched) > 0 {
		take(matched[0])
		if matched = matched[1:]; left > limit/3 && len(matched) > 0 {
			take(matched[len(matched)-1])
			matched = matched[:len(matched)-1]
		}
	}
	for head, end := 1, len(lines)-1; left > 0 && head <= end; head++ {
		take(head)
		if left > 0 && head%2 == 0 {
			take(end)
			end--
		}
	}
	return gapped(lines, keep)
}

// gapped is the lines that are kept, and where some are not, how many.
func gapped(lines []string, keep []bool) []string {
	var out []string
	gap := 0
	tell := func() {
		if gap > 0 {
			out = append(out, fmt.Sprintf("[%d lines left out]", gap))
		}
		gap = 0
	}
	for i, line := range lines {
		if !keep[i] {
			gap++
			continue
		}
		tell()
		out = append(out, line)
	}
	tell()
	return out
}

// trimmed is lines without the empty ones at the end, but for one.
func trimmed(lines []string) []string {
	n := len(lines)
	for n > 1 && strings.TrimSpace(lines[n-1]) == "" && strings.TrimSpace(lines[n-2]) == "" {
		n--
	}
	return lines[:n]
}

// clip shortens a line that is very long.
func clip(line string) string {
	if len(line) <= maxLine {
		return line
	}
	head, end := maxLine*3/4, len(line)-maxLine/4
	for !utf8.RuneStart(line[head]) && head > 0 {
		head--
	}
	for end < len(line) && !utf8.RuneStart(line[end]) {
		end++
	}
	return fmt.Sprintf("%s[%d bytes left out]%s", line[:head], end-head, line[end:])
}
