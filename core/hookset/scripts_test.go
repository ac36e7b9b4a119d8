package hookset_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/hooks"
)

// mark is a script that adds its mark to the arguments.
func mark(text string) string {
	return `def before_call(ctx, request):
    args = request.arguments
    args["mark"] = "` + text + `"
    return args
`
}

// folder is a folder of scripts and a set that follows it.
type folder struct {
	t      *testing.T
	path   string
	set    *hookset.Set
	events chan core.Event
}

func follow(t *testing.T, path string, files map[string]string) *folder {
	t.Helper()
	f := &folder{t: t, path: path, events: make(chan core.Event, 100)}
	for name, text := range files {
		f.write(name, text)
	}
	f.set = newSet(t, newTypes(), func(c *hookset.Config) {
		c.Publish = func(_ context.Context, e core.Event) error { f.events <- e; return nil }
	})
	if err := f.set.SetFile(hookset.File{DiscoveryPaths: []string{path}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.set.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return f
}

// write writes a file as editors do: beside, and then over the old one. Nobody sees
// half of it, which would be one change more.
func (f *folder) write(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.path, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		f.t.Fatal(err)
	}
}

// reloaded waits for what is said of a script.
func (f *folder) reloaded() map[string]any {
	f.t.Helper()
	select {
	case e := <-f.events:
		if e.Type != core.EventHookReloaded {
			f.t.Fatalf("got %+v", e)
		}
		var data map[string]any
		if err := json.Unmarshal(e.Data, &data); err != nil {
			f.t.Fatal(err)
		}
		data["hook"] = e.Subject
		return data
	case <-time.After(20 * time.Second): // for a test that fails; the others wait for the event alone
		f.t.Fatal("nothing is said of a script")
		return nil
	}
}

// marked is the mark that a call gets.
func (f *folder) marked() string {
	f.t.Helper()
	e, err := f.set.Entries(f.t.Context(), ann)
	if err != nil {
		f.t.Fatal(err)
	}
	defer e.Release()
	c := &hooks.Call{Level: hooks.Tool, Principal: ann, Args: json.RawMessage(`{}`), Tool: &core.Tool{Name: "echo"}, Server: &core.Server{Name: "up"}}
	err = f.set.Runner().Run(f.t.Context(), e.Chain(c), c, func(context.Context, *hooks.Call) error { return nil })
	var args struct{ Mark string }
	if err := errors.Join(err, json.Unmarshal(c.Args, &args)); err != nil {
		f.t.Fatal(err)
	}
	return args.Mark
}

func (f *folder) state() (all []string) {
	for _, d := range f.set.Definitions() {
		s := f.set.State(d)
		all = append(all, strings.TrimSpace(d.Name+" "+s.State+" "+s.Reason))
	}
	return all
}

func TestScriptsAreFollowed(t *testing.T) {
	t.Parallel()
	f := follow(t, t.TempDir(), map[string]string{"mark.star": mark("one"), "readme.txt": "no script", ".hidden.star": "("})
	if got := f.marked(); got != "one" {
		t.Errorf("at the start: %q", got)
	}
	f.write("mark.star", mark("two"))
	if e := f.reloaded(); e["ok"] != true || e["hook"] != "mark" || e["version"] == nil || f.marked() != "two" {
		t.Errorf("after a change: %v, %q", e, f.marked())
	}

	f.write("mark.star", "def before_call(ctx, request:\n")
	e := f.reloaded()
	if text, _ := e["error"].(string); e["ok"] != false || !strings.Contains(text, "mark.star:1") {
		t.Errorf("of a script that does not compile: %v", e)
	}
	if got := f.state(); f.marked() != "two" || len(got) != 1 || !strings.HasPrefix(got[0], "mark active the newest version is not used: ") {
		t.Errorf("mark %q, state %q", f.marked(), got)
	}

	f.write("mark.star", mark("three"))
	if e := f.reloaded(); e["ok"] != true || f.marked() != "three" || f.state()[0] != "mark active" {
		t.Errorf("once it is mended: %v, %q, %q", e, f.marked(), f.state())
	}

	f.write("bad.star", "nonsense(")
	if e := f.reloaded(); e["ok"] != false || e["hook"] != "bad" || !strings.HasPrefix(f.state()[0], "bad broken ") {
		t.Errorf("of a new script that does not compile: %v, %q", e, f.state())
	}
	f.write("bad.star", "hook = {\"pattern\": \"nothing\"}\n"+mark("bad"))
	if e := f.reloaded(); e["ok"] != true || f.state()[0] != "bad active" || f.marked() != "three" {
		t.Errorf("of a script with settings: %v, %q, %q", e, f.state(), f.marked())
	}

	if err := os.Remove(filepath.Join(f.path, "mark.star")); err != nil {
		t.Fatal(err)
	}
	if e := f.reloaded(); e["removed"] != true || f.marked() != "" {
		t.Errorf("of a script that is gone: %v, %q", e, f.marked())
	}
}

func TestFolderThatComesLater(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "later")
	f := follow(t, path, nil)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	f.write("mark.star", mark("there"))
	if e := f.reloaded(); e["ok"] != true || f.marked() != "there" {
		t.Errorf("got %v, %q", e, f.marked())
	}
}

func TestBadScriptStopsTheStart(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"syntax": "def (", "settings": `hook = {"on_error": "shrug"}` + "\n" + mark("x"), "empty": ""} {
		path := t.TempDir()
		if err := os.WriteFile(filepath.Join(path, "bad.star"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := newSet(t, newTypes())
		err := s.SetFile(hookset.File{DiscoveryPaths: []string{path}})
		if err == nil || !strings.Contains(err.Error(), "bad.star") || len(s.Definitions()) != 0 {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestDeclaredScript is a script that the configuration file names: it is followed
// too, and not found a second time in its folder.
func TestDeclaredScript(t *testing.T) {
	t.Parallel()
	ts := newTypes()
	f := follow(t, t.TempDir(), map[string]string{"mark.star": mark("one")})
	config, err := json.Marshal(map[string]string{"file": filepath.Join(f.path, "mark.star")})
	if err != nil {
		t.Fatal(err)
	}
	file := hookset.File{Hooks: []hooks.Definition{declared(ts, "named", "script", string(config))}, DiscoveryPaths: []string{f.path}}
	if err := f.set.SetFile(file); err != nil {
		t.Fatal(err)
	}
	if got := f.state(); len(got) != 1 || got[0] != "named active" || f.marked() != "one" {
		t.Errorf("got %q", got)
	}
	f.write("mark.star", mark("two"))
	if e := f.reloaded(); e["ok"] != true || e["hook"] != "named" || f.marked() != "two" {
		t.Errorf("got %v, %q", e, f.marked())
	}
	f.write("mark.star", "(")
	if e := f.reloaded(); e["ok"] != false || f.marked() != "two" {
		t.Errorf("got %v, %q", e, f.marked())
	}
	// The file is read again: what was good stays, and what else changed counts.
	file.Hooks[0].Priority = 7
	if err := f.set.SetFile(file); err != nil || f.marked() != "two" || f.set.Definitions()[0].Priority != 7 {
		t.Errorf("got %v, %q", err, f.marked())
	}
	// A setting that is not valid is the configuration file's fault.
	file.Hooks[0].Timeout = -1
	var invalid *hookset.InvalidError
	if err := f.set.SetFile(file); !errors.As(err, &invalid) || invalid.Origin.Kind != hooks.FromFile {
		t.Errorf("got %v", err)
	}
	file.Hooks[0].Timeout, file.Hooks[0].Config = time.Second, json.RawMessage(`{"file":"/nowhere.star"}`)
	if err := f.set.SetFile(file); !errors.As(err, &invalid) || invalid.Faults[0].Pointer != "/config/file" {
		t.Errorf("got %v", err)
	}
}

// TestCheckScript finds what would stop the start, or keep a script from being used.
func TestCheckScript(t *testing.T) {
	t.Parallel()
	s := newSet(t, newTypes())
	for text, want := range map[string]core.Fault{
		mark("x"): {},
		"def (":   {Pointer: "/config", Message: "x.star:1:6: "},
		"":        {Pointer: "/config", Message: "x.star: defines none of "},
		`hook = {"on_error": "shrug"}` + "\n" + mark("x"):      {Pointer: "/onError", Message: `is "shrug", and can be fail, ignore, disable`},
		`hook = {"colour": 1}` + "\n" + mark("x"):              {Pointer: "/config", Message: `x.star: hook: unknown field "colour"`},
		`hook = {"timeout": "soon"}` + "\n" + mark("x"):        {Pointer: "/timeout", Message: "is not a duration"},
		`hook = {"events": ["Tool:after"]}` + "\n" + mark("x"): {Pointer: "/events/0", Message: "\"Tool:after\" is not an event"},
		`hook = {"type": "tag"}` + "\n" + mark("x"):            {Pointer: "/type", Message: "a script is of type script"},
	} {
		faults := s.CheckScript("some/where/x.star", []byte(text))
		if want.Message == "" && len(faults) == 0 {
			continue
		}
		if len(faults) != 1 || faults[0].Pointer != want.Pointer || !strings.HasPrefix(faults[0].Message, want.Message) {
			t.Errorf("%q: got %+v, want %+v", text, faults, want)
		}
	}
}
