package testfilter

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// framework is one whose output is known.
type framework struct {
	name string
	// hints are texts one of which is in every line that summary matches: regular
	// expressions are slow, and most results are no test runs.
	hints []string
	// summary matches a line that sums a run up, and its groups the numbers of
	// failures in it; evidence matches a line that is also there. Both together make
	// sure of what is read.
	summary, evidence *regexp.Regexp
	// read sorts the lines.
	read func(*input) *report
	// vital matches the lines of a failure that are kept first.
	vital *regexp.Regexp
}

var frameworks = []framework{cargo, pytest, jest, golang, rspec, mix}

// tail is how many of the last lines a summary is looked for in. A text that goes
// on for longer is something else, such as a page about tests.
const tail = 15

// shorten gives a test run's output without what is of no interest, and the name of
// the framework; no name if the text is to stay as it is.
func (h *hook) shorten(ctx context.Context, text string) (short, name string, err error) {
	lines := strings.Split(text, "\n")
	end := last(lines, tail)
	found := -1
	for i := range h.known {
		f := &h.known[i]
		if f.sums(end) {
			if found >= 0 {
				return "", "", nil // two at once: whose lines are whose is a guess
			}
			found = i
		}
	}
	if found < 0 {
		return "", "", nil
	}
	in := &input{ctx: ctx, lines: make([]string, len(lines))}
	for i, line := range lines {
		in.lines[i] = plain(line)
	}
	f := &h.known[found]
	if !matches(f.evidence, in.lines) || h.mixed(f, in.lines) {
		return "", "", nil
	}
	rep := f.read(in)
	if err := ctx.Err(); err != nil {
		return "", "", err
	}
	short = rep.text(h.config, f, f.claimed(in.lines))
	short += fmt.Sprintf("\n[the output of %s was shortened from %d lines]\n", f.name, len(lines))
	if len(short) >= len(text) {
		return "", "", nil
	}
	return short, f.name, nil
}

// mixed reports whether another framework has summed up in the same text.
func (h *hook) mixed(f *framework, lines []string) bool {
	for i := range h.known {
		other := &h.known[i]
		if other.name != f.name && other.sums(lines) && matches(other.evidence, lines) {
			return true
		}
	}
	return false
}

// hinted reports whether a line may sum a run up.
func (f *framework) hinted(line string) bool {
	for _, hint := range f.hints {
		if strings.Contains(line, hint) {
			return true
		}
	}
	return false
}

// sums reports whether one of the lines sums a run up.
func (f *framework) sums(lines []string) bool {
	for _, line := range lines {
		if f.hinted(line) && f.summary.MatchString(line) {
			return true
		}
	}
	return false
}

// claimed is how many failures the summaries count.
func (f *framework) claimed(lines []string) int {
	total := 0
	for _, line := range lines {
		if !f.hinted(line) {
			continue
		}
		m := f.summary.FindStringSubmatch(line)
		for _, number := range m[min(1, len(m)):] {
			if n, err := strconv.Atoi(number); err == nil {
				total += n
			}
		}
	}
	return total
}

func matches(re *regexp.Regexp, lines []string) bool {
	return slices.ContainsFunc(lines, re.MatchString)
}

// last gives the last n lines that are not empty, without colours.
func last(lines []string, n int) []string {
	var end []string
	for i := len(lines) - 1; i >= 0 && len(end) < n; i-- {
		if len(lines[i]) > maxLine {
			end = append(end, "")
		} else if line := plain(lines[i]); strings.TrimSpace(line) != "" {
			end = append(end, line)
		}
	}
	return end
}

// input is the lines of an output, without colours, to be read one by one.
type input struct {
	ctx   context.Context
	lines []string
	at    int
}

// next gives the next line. It ends early with the context.
func (in *input) next() (string, bool) {
	if in.at == len(in.lines) || in.at%256 == 0 && in.ctx.Err() != nil {
		return "", false
	}
	in.at++
	return in.lines[in.at-1], true
}

// escape is a control sequence of a terminal (ECMA-48, section 5.4), or an operating
// system command (section 8.3.89).
var escape = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\))")

// plain is a line as it ends up on a screen: without colours, and where it was
// written over, what was written last.
func plain(line string) string {
	if strings.IndexByte(line, 0x1b) >= 0 {
		line = escape.ReplaceAllString(line, "")
	}
	line = strings.TrimRight(line, "\r")
	return line[strings.LastIndexByte(line, '\r')+1:]
}
