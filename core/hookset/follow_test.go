package hookset_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core/hookset"
)

// TestSecondScriptOfAName is the one that is not used, wherever it lies, and holds up
// no other.
func TestSecondScriptOfAName(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	paths := []string{filepath.Join(root, "a"), filepath.Join(root, "b")}
	for _, path := range paths {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f := follow(t, paths[1], map[string]string{"stamp.star": mark("one")})
	if err := f.set.SetFile(hookset.File{DiscoveryPaths: paths}); err != nil {
		t.Fatal(err)
	}
	other := &folder{t: t, path: paths[0]}
	other.write("stamp.star", mark("other"))
	if got := f.reloaded(); got["ok"] != false || got["file"] != filepath.Join(paths[0], "stamp.star") {
		t.Errorf("got %v", got)
	}
	f.write("stamp.star", mark("two"))
	if got := f.reloaded(); got["ok"] != true || f.marked() != "two" {
		t.Errorf("got %v, and %s", got, f.marked())
	}
	if err := os.Remove(filepath.Join(paths[1], "stamp.star")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f.reloaded() // the one is gone, the other acts
	}
	if got := f.marked(); got != "other" {
		t.Errorf("the first is gone, and it is %q", got)
	}
	if diff := cmp.Diff(f.state(), []string{"stamp active"}); diff != "" {
		t.Error(diff)
	}
}

// TestBusyFolder: a folder in which something is written all the time is read all the
// same.
func TestBusyFolder(t *testing.T) {
	t.Parallel()
	f := follow(t, t.TempDir(), map[string]string{"stamp.star": mark("one")})
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			case <-time.After(time.Millisecond):
				if err := os.WriteFile(filepath.Join(f.path, "hooks.log"), []byte("x"), 0o600); err != nil {
					stopped <- err
					return
				}
			}
		}
	}()
	for _, text := range []string{"two", "three"} {
		f.write("stamp.star", mark(text))
		if got := f.reloaded(); got["ok"] != true || f.marked() != text {
			t.Errorf("got %v", got)
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
