package testfilter

import (
	"regexp"
	"strings"
)

var rspec = framework{
	name:     "rspec",
	hints:    []string{" example"},
	summary:  rspecSum,
	evidence: regexp.MustCompile(`^Finished in .* \(files took .* to load\)$`),
	vital:    regexp.MustCompile(`Failure/Error:|Error:?$|expected|got:|^ *# \./`),
	read:     readRspec,
}

var (
	rspecSum      = regexp.MustCompile(`^\d+ examples?, (\d+) failures?(?:, \d+ pending)?(?:, (\d+) errors? occurred outside of examples)?$`)
	rspecBlock    = regexp.MustCompile(`^  \d+\) (\S.*)$`)
	rspecOutside  = regexp.MustCompile(`^An error occurred (?:while loading|in an?) (.+)$`)
	rspecProgress = regexp.MustCompile(`^[.F*E]+$`)
	rspecTold     = regexp.MustCompile(`\((?:FAILED - \d+|PENDING: .*)\)$`)
	rspecEntry    = regexp.MustCompile(`^rspec \S+ # (.+)$`)
	rspecShared   = regexp.MustCompile(`^rspec '.*' # (.+)$`)
)

// readRspec follows the sections of rspec's output: progress or a tree of examples,
// what is pending, failures at length, the summary, failures by name.
func readRspec(in *input) *report {
	r := &report{}
	section := ""
	for line, ok := in.next(); ok; line, ok = in.next() {
		switch {
		case rspecOutside.MatchString(line):
			section = "outside"
			r.open(failure, rspecOutside.FindStringSubmatch(line)[1], line)
		case line == "Failures:", line == "Failed examples:":
			section = line
			r.add(noise, line)
		case strings.HasPrefix(line, "Pending: (Failures listed here are expected"):
			section = "pending"
			r.add(noise, line)
		case strings.HasPrefix(line, "Finished in "), rspecSum.MatchString(line):
			section = "end"
			r.add(kept, line)
		case section == "Failures:" && rspecBlock.MatchString(line):
			r.open(failure, rspecBlock.FindStringSubmatch(line)[1], line)
		case r.failing():
			r.more(line)
		case section == "pending", section == "" && (rspecProgress.MatchString(line) || rspecTold.MatchString(line)):
			r.add(noise, line)
		case line == "":
			r.blank()
		case section == "":
			r.add(quiet, line)
		case section == "Failed examples:" && rspecEntry.MatchString(line):
			r.open(entry, rspecEntry.FindStringSubmatch(line)[1], line)
		case section == "Failed examples:" && rspecShared.MatchString(line):
			r.open(entry, rspecShared.FindStringSubmatch(line)[1], line)
		default:
			r.add(other, line)
		}
	}
	return r
}
