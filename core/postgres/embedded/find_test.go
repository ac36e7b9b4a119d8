package embedded_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres/embedded"
)

func TestFind_takes_the_newest_that_will_do(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		installs []string // PostgreSQL and pgvector
		want     string
	}{
		"newest":             {[]string{"16.9 0.8.1", "18.2 0.8.0", "17.12 0.9.0"}, "18.2"},
		"pgvector too old":   {[]string{"18.2 0.7.4", "16.9 0.8.0"}, "16.9"},
		"pgvector 1.0":       {[]string{"17.2 1.0"}, "17.2"},
		"no pgvector":        {[]string{"18.2 -", "15.4 0.8.0"}, "15.4"},
		"postgres too old":   {[]string{"14.20 0.8.0", "15.1 0.8.0"}, "15.1"},
		"numbers, not words": {[]string{"17.9 0.8.0", "17.10 0.8.0"}, "17.10"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folderIn(t, os.TempDir())
			var bins []string
			for _, install := range test.installs {
				version, vector, _ := strings.Cut(install, " ")
				bins = append(bins, fakeInstall(t, filepath.Join(dir, version), version, vector))
			}
			got, err := embedded.FindAmong(t.Context(), bins, dir) // not a prefix: nothing is fetched if none will do
			if err != nil {
				t.Fatal(err)
			}
			if got.Version != test.want {
				t.Errorf("found PostgreSQL %s; want %s", got.Version, test.want)
			}
		})
	}
}

func TestFind_falls_back_to_the_private_copy(t *testing.T) {
	t.Parallel()
	dir := folderIn(t, os.TempDir())
	private := fakeInstall(t, filepath.Join(dir, "prefix"), "17.12", "0.8.0")
	old := fakeInstall(t, filepath.Join(dir, "old"), "18.0", "0.7.0")
	got, err := embedded.FindAmong(t.Context(), []string{old, filepath.Join(dir, "missing")}, filepath.Join(dir, "prefix"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Bin != private {
		t.Errorf("found %s; want %s", got.Bin, private)
	}
}

func TestFind_tells_what_to_install(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(folderIn(t, os.TempDir()), "letters")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// A prefix that is somebody's folder stops the bootstrap before it fetches anything.
	if err := os.WriteFile(filepath.Join(dir, "letter"), []byte("dear"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := embedded.FindAmong(t.Context(), nil, dir)
	if !errors.Is(err, core.Unavailable) {
		t.Fatalf("error %v; want unavailable", err)
	}
	for _, want := range []string{"Debian", "apt-get install postgresql-17 postgresql-17-pgvector", "Ubuntu", "brew install", "dnf install", "docker compose", "DATABASE_URL"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the advice does not say %q:\n%v", want, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "letter")); err != nil {
		t.Errorf("the bootstrap touched what is not its own: %v", err)
	}
}

func TestFind_without_apt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := embedded.FindAmong(t.Context(), nil, filepath.Join(folderIn(t, os.TempDir()), "prefix"))
	if !errors.Is(err, core.Unavailable) || !strings.Contains(err.Error(), "there is no apt-get") || !strings.Contains(err.Error(), "brew install") {
		t.Errorf("error %v; want the reason and the advice", err)
	}
}

func TestBootstrap_leaves_a_complete_prefix_alone(t *testing.T) {
	t.Parallel()
	prefix := filepath.Join(folderIn(t, os.TempDir()), "prefix")
	complete(t, prefix)
	out, err := exec.Command("sh", "bootstrap.sh", prefix).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v, said %q; want silence", err, out)
	}
}

func TestBootstrap_waits_for_another_run(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("apt-get"); err != nil {
		return // nothing runs here that could be waited for; TestFind_without_apt has this case
	}
	prefix := filepath.Join(folderIn(t, os.TempDir()), "prefix")
	lock, err := os.Create(prefix + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("sh", "bootstrap.sh", prefix)
	words, err := run.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 1024)
	n, err := words.Read(said)
	if err != nil || !strings.Contains(string(said[:n]), "waiting for another run") {
		t.Errorf("said %q, %v; want that it waits", said[:n], err)
	}
	complete(t, prefix)
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(); err != nil {
		t.Errorf("after the other run: %v", err)
	}
}

func complete(t *testing.T, prefix string) {
	t.Helper()
	if err := os.MkdirAll(prefix, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(prefix, ".complete"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// fakeInstall makes a folder that answers Find's question like an installed PostgreSQL; "-" is one without pgvector.
func fakeInstall(t *testing.T, dir, version, vector string) (bin string) {
	t.Helper()
	bin = filepath.Join(dir, "bin")
	extensions := filepath.Join(dir, "share", "extension")
	for _, folder := range []string{bin, extensions} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh\necho 'VERSION=" + version + " (Debian)' >&2\necho 'share_path=" + filepath.Join(dir, "share") + "' >&2\n"
	if err := os.WriteFile(filepath.Join(bin, "initdb"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, bin, filepath.Join(bin, "initdb")} { // whatever the umask
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if vector == "-" {
		return bin
	}
	control := "comment = 'vector data type'\ndefault_version = '" + vector + "'\nrelocatable = true\n"
	if err := os.WriteFile(filepath.Join(extensions, "vector.control"), []byte(control), 0o644); err != nil {
		t.Fatal(err)
	}
	return bin
}
