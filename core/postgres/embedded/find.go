package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/toolscout/toolscout/core"
)

// The oldest versions that do: pgvector 0.8 brought iterative index scans.
const (
	minPostgres    = 15
	minVectorMinor = 8
)

// Install is a PostgreSQL on this machine that has pgvector.
type Install struct {
	// Bin is the folder of its programs.
	Bin string
	// Version is PostgreSQL's, such as "17.12".
	Version string
	// Vector is pgvector's, such as "0.8.0".
	Vector string
}

// Major is the major version of PostgreSQL.
func (i Install) Major() int { return numbers(i.Version)[0] }

func (i Install) program(name string) string { return filepath.Join(i.Bin, name) }

// Find gives the newest installed PostgreSQL (15 or later) with pgvector (0.8 or later); else the private one in prefix (empty:
// DefaultPrefix), fetched if need be and if this machine has Debian's tools. Else the error is core.Unavailable and says what to install.
func Find(ctx context.Context, prefix string) (Install, error) {
	who, err := accountFor("")
	if err != nil {
		return Install{}, err
	}
	return finder{who: who, installed: installedBins(), prefix: prefix, progress: func(string) {}}.find(ctx)
}

// finder looks for a PostgreSQL that an account can run.
type finder struct {
	who       account
	installed []string // folders of programs to look into first
	prefix    string
	major     int // the one that existing data needs; 0 for any
	progress  func(string)
}

func (f finder) find(ctx context.Context) (Install, error) {
	prefix, err := f.target()
	groups := [][]string{f.installed}
	if err == nil {
		groups = append(groups, []string{filepath.Join(prefix, "bin")})
	}
	if f.prefix == "" {
		groups = append(groups, []string{filepath.Join(sharedPrefix, "bin")}) // what root has fetched serves everybody
	}
	for _, bins := range groups {
		if found, ok := f.newest(ctx, bins); ok {
			return found, nil
		}
	}
	if f.major != 0 && f.major != bootstrapMajor {
		return Install{}, core.Errorf(core.Unavailable,
			"the database was made by PostgreSQL %d, of which no installation with pgvector 0.%d or later was found: install it again", f.major, minVectorMinor)
	}
	if err == nil {
		err = bootstrap(ctx, prefix, f.progress)
	}
	var found Install
	if err == nil {
		found, err = f.probe(ctx, filepath.Join(prefix, "bin"))
	}
	if err != nil && ctx.Err() != nil {
		return Install{}, ctx.Err()
	}
	if err != nil {
		return Install{}, core.Errorf(core.Unavailable,
			"no PostgreSQL %d or later with pgvector 0.%d or later is installed, and a private one could not be fetched: %v\n\n%s",
			minPostgres, minVectorMinor, err, advice())
	}
	return found, nil
}

// target is where the private PostgreSQL belongs.
func (f finder) target() (string, error) {
	if f.prefix == "" {
		return DefaultPrefix()
	}
	return filepath.Abs(f.prefix)
}

// newest probes the folders of programs and returns the highest version that will do.
func (f finder) newest(ctx context.Context, bins []string) (Install, bool) {
	var best Install
	for _, bin := range bins {
		found, err := f.probe(ctx, bin)
		if err != nil || (f.major != 0 && found.Major() != f.major) {
			continue
		}
		if best.Bin == "" || slices.Compare(numbers(found.Version), numbers(best.Version)) > 0 {
			best = found
		}
	}
	return best, best.Bin != ""
}

// installedBins lists the folders in which distributions and people keep PostgreSQL's programs, each once.
func installedBins() []string {
	var bins []string
	for _, name := range []string{"postgres", "pg_config"} {
		if path, err := exec.LookPath(name); err == nil {
			bins = append(bins, path)
		}
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin/postgres",          // Debian, Ubuntu
		"/usr/pgsql-*/bin/postgres",                   // Fedora and others, from PostgreSQL's own packages
		"/opt/homebrew/opt/postgresql@*/bin/postgres", // macOS on ARM
		"/usr/local/opt/postgresql@*/bin/postgres",    // macOS on Intel
		"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin/postgres",
	} {
		found, _ := filepath.Glob(pattern) // the only error is a bad pattern
		bins = append(bins, found...)
	}
	seen := map[string]bool{}
	var unique []string
	for _, path := range bins {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		if dir := filepath.Dir(real); !seen[dir] {
			seen[dir] = true
			unique = append(unique, dir)
		}
	}
	return unique
}

// probe asks the programs in a folder for their version and for the place of their extensions, and looks for pgvector there. initdb is
// the one to ask, because every server package has it while pg_config belongs to the development files.
func (f finder) probe(ctx context.Context, bin string) (Install, error) {
	if _, err := os.Stat(filepath.Join(bin, "initdb")); err != nil {
		return Install{}, err
	}
	if err := f.who.canEnter(bin); err != nil {
		return Install{}, err
	}
	out, err := owned(f.who.command(ctx, syscall.SIGKILL, filepath.Join(bin, "initdb"), "--show", "--pgdata=/nonexistent"))
	if err != nil {
		return Install{}, err
	}
	settings := map[string]string{}
	for line := range strings.Lines(out) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			settings[key] = value
		}
	}
	version, _, _ := strings.Cut(settings["VERSION"], " ")
	if n := numbers(version); len(n) == 0 || n[0] < minPostgres {
		return Install{}, fmt.Errorf("PostgreSQL %q in %s is too old", version, bin)
	}
	vector, err := vectorVersion(settings["share_path"])
	if err != nil {
		return Install{}, err
	}
	return Install{Bin: bin, Version: version, Vector: vector}, nil
}

var defaultVersion = regexp.MustCompile(`(?m)^\s*default_version\s*=\s*'([0-9.]+)'`)

// vectorVersion reads which pgvector an installation has, and refuses one that is too old.
func vectorVersion(share string) (string, error) {
	control, err := os.ReadFile(filepath.Join(share, "extension", "vector.control"))
	if err != nil {
		return "", err
	}
	match := defaultVersion.FindSubmatch(control)
	if match == nil {
		return "", errors.New("vector.control names no version")
	}
	version := string(match[1])
	if slices.Compare(numbers(version), []int{0, minVectorMinor}) < 0 {
		return "", fmt.Errorf("pgvector %s is too old", version)
	}
	return version, nil
}

// numbers splits a version: "17.12" is 17, 12, and "18beta1" is 18.
func numbers(version string) []int {
	var all []int
	for part := range strings.SplitSeq(version, ".") {
		end := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(part)
		}
		n, err := strconv.Atoi(part[:end])
		if err != nil {
			break
		}
		all = append(all, n)
	}
	return all
}

// owned runs a short-lived program that dies with us, and returns its output, errors included. An error carries that output.
func owned(cmd *exec.Cmd) (string, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := onOneThread(cmd.Run); err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, strings.TrimSpace(lastLines(out.String())))
	}
	return out.String(), nil
}
