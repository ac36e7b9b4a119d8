package integration_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// upstream is a testserver that is registered, over stdio or over HTTP.
type upstream struct {
	*instance
	way
	registered
	t      *testing.T
	name   string
	record record
	remote *remote // nil over stdio
}

const allTools = "echo,pid,hold,stall,die,huge,flood,noise,spawn,garbage,wrongid,html,cut,changed"

func (s *instance) upstream(t *testing.T, transport, name string, w way, fields ...any) *upstream {
	t.Helper()
	u := &upstream{instance: s, way: w, t: t, name: name + "-" + transport, record: newRecord(t)}
	args := []string{"-tools", allTools, "-record", string(u.record)}
	var config map[string]any
	if transport == "http" {
		u.remote = newRemote(t, u.name, args...)
		config = u.remote.config
	} else {
		config = testserver(t, u.name, args...)
	}
	u.registered = s.register(with(config, fields...))
	if u.Health.State != "healthy" || u.ToolCount != 14 {
		t.Fatalf("registered as %+v", u.registered)
	}
	return u
}

// call runs a tool of the upstream.
func (u *upstream) call(tool string, params map[string]any) outcome {
	u.t.Helper()
	return u.run(u.t, u.name+"_"+tool, params)
}

// works wants an ordinary call to succeed, at once.
func (u *upstream) works() {
	u.t.Helper()
	if o := u.call("echo", map[string]any{"x": 1}); o.Kind != "" || o.Text != "echo" {
		u.t.Errorf("afterwards: %v", o)
	}
}

// recovers wants ordinary calls to succeed again, by themselves. Those before say
// that the server is not available.
func (u *upstream) recovers() {
	u.t.Helper()
	eventually(u.t, "work again", func() error {
		o := u.call("echo", map[string]any{"x": 1})
		if o.Kind != "" && o.Kind != "unavailable" {
			u.t.Errorf("meanwhile: %v", o)
		}
		if o.Text != "echo" {
			return errors.New(o.String())
		}
		return nil
	})
}

// TestUpstreamFails has servers die, stall, lie and flood. The call in question
// ends clearly, is not sent twice, and harms no other.
func TestUpstreamFails(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	_, token := s.user("ann")
	ways := map[string]way{"stdio": viaMCP(join(t, s, caller{token: token}, legacy)), "http": s.viaREST(caller{token: token})}
	for _, tt := range []struct {
		name string
		run  func(*testing.T, *upstream)
	}{
		{"dies", diesInACall},
		{"is killed", isKilled},
		{"stalls", stalls},
		{"lies", lies},
		{"floods", floods},
		{"changes", changes},
	} {
		for transport, w := range ways {
			t.Run(tt.name+" over "+transport, func(t *testing.T) {
				t.Parallel()
				fields := []any{"timeout", "30s"}
				if tt.name == "stalls" || tt.name == "lies" {
					fields = []any{"timeout", "1s"}
				}
				tt.run(t, s.upstream(t, transport, strings.ReplaceAll(tt.name, " ", "-"), w, fields...))
			})
		}
	}
}

func diesInACall(t *testing.T, u *upstream) {
	for i := 1; i <= 2; i++ {
		o := u.call("die", nil)
		if o.Kind != "upstream_error" || !strings.Contains(o.Message, "may have run") {
			t.Errorf("the call it died in: %v", o)
		}
		if u.remote != nil {
			u.remote.kill()
			u.remote.start()
		}
		u.recovers()
		if n := u.record.count("call die"); n != i {
			t.Errorf("it was told to die %d times, want %d", n, i)
		}
	}
}

func isKilled(t *testing.T, u *upstream) {
	grandchild := number(t, u.call("spawn", nil))
	if u.remote == nil {
		if err := syscall.Kill(number(t, u.call("pid", nil)), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "end what the child started", func() error { return alive(grandchild) })
	} else {
		_ = syscall.Kill(grandchild, syscall.SIGKILL) // nobody else owns it
		u.remote.kill()
		// The first call may still have gone into the connection that was closing.
		o := u.call("echo", nil)
		if o.Kind == "upstream_error" && strings.Contains(o.Message, "may have run") {
			o = u.call("echo", nil)
		}
		if o.Kind != "unavailable" {
			t.Errorf("a call while it is away: %v", o)
		}
		u.remote.start()
	}
	u.recovers()
	if u.remote == nil {
		child, grandchild := number(t, u.call("pid", nil)), number(t, u.call("spawn", nil))
		u.must("DELETE", "/v1/admin/servers/"+u.ID, adminToken, nil, nil)
		eventually(t, "end the child of a server that is gone", func() error { return errors.Join(alive(child), alive(grandchild)) })
	}
}

// number reads a number that a tool answered with.
func number(t *testing.T, o outcome) int {
	t.Helper()
	n, err := strconv.Atoi(o.Text)
	if err != nil {
		t.Fatalf("no number: %v", o)
	}
	return n
}

// alive gives an error as long as a process lives; a zombie does not.
func alive(pid int) error {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil || strings.Contains(string(stat), ") Z ") {
		return nil
	}
	return fmt.Errorf("process %d lives", pid)
}

func stalls(t *testing.T, u *upstream) {
	var stalled sync.WaitGroup
	for range 3 {
		stalled.Go(func() {
			if o := u.call("stall", nil); o.Kind != "timeout" || !strings.Contains(o.Message, "may have run") {
				t.Errorf("a call that is never answered: %v", o)
			}
		})
	}
	eventually(t, "stall", func() error {
		if n := u.record.count("call stall"); n != 3 {
			return fmt.Errorf("%d calls", n)
		}
		return nil
	})
	u.works() // beside those that wait
	stalled.Wait()
	u.works()
	if n := u.record.count("call stall"); n != 3 {
		t.Errorf("it got %d calls, want 3", n)
	}
	eventually(t, "tell the server", func() error {
		if n := u.record.count("cancelled"); n != 3 {
			return fmt.Errorf("%d calls were cancelled", n)
		}
		return nil
	})
}

func lies(t *testing.T, u *upstream) {
	if u.remote == nil {
		if o := u.call("garbage", nil); o.Text != "after the garbage" {
			t.Errorf("garbage before the answer: %v", o)
		}
		if o := u.call("wrongid", nil); o.Kind != "timeout" || !strings.Contains(o.Message, "may have run") {
			t.Errorf("the answers to other requests: %v", o)
		}
		u.works()
		return
	}
	for _, tt := range [][3]string{
		{"html", "upstream_error", "answered HTML"},
		{"cut", "upstream_error", "may have run"},
		{"wrongid", "timeout", "may have run"},
	} {
		if o := u.call(tt[0], nil); o.Kind != tt[1] || !strings.Contains(o.Message, tt[2]) {
			t.Errorf("%s: %v", tt[0], o)
		}
		u.works()
	}
	if o := u.call("garbage", nil); o.Text != "after the garbage" && o.Kind != "upstream_error" {
		t.Errorf("garbage before the answer: %v", o)
	}
	u.works()
}

func floods(t *testing.T, u *upstream) {
	if o := u.call("huge", map[string]any{"n": 20 << 20}); o.Kind != "upstream_error" || !strings.Contains(o.Message, "larger than") {
		t.Errorf("20 MiB: %v", o)
	}
	u.works()
	if o := u.call("huge", map[string]any{"n": 8 << 20}); len(o.Text) != 8<<20 {
		t.Errorf("8 MiB: %d bytes, %v", len(o.Text), o)
	}
	if o := u.call("flood", map[string]any{"n": 10_000}); o.Text != "flooded" {
		t.Errorf("notifications: %v", o)
	}
	if o := u.call("noise", map[string]any{"n": 50_000}); o.Text != "made noise" {
		t.Errorf("noise: %v", o)
	}
	u.works()
}

// changes has a server tell of a new list of tools, and not tell.
func changes(t *testing.T, u *upstream) {
	file := filepath.Join(t.TempDir(), "tools")
	offer := func(lines string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	offer("")
	args := []string{"-file", file, "-tools", "changed"}
	name := u.name + "-list"
	config := testserver(t, name, args...)
	if u.remote != nil {
		config = newRemote(t, name, args...).config
	}
	r := u.register(config)
	found := func(query, tool string, want bool) error {
		if got := slices.Contains(u.find(t, query), name+"_"+tool); got != want {
			return fmt.Errorf("found: %t", got)
		}
		return nil
	}
	offer("knit Knits a pullover of wool\n")
	u.run(t, name+"_changed", nil)
	eventually(t, "find the new tool", func() error { return found("knit a pullover", "knit", true) })

	offer("sew Sews a shirt of cotton\n")
	u.must("POST", "/v1/admin/servers/"+r.ID+"/refresh?wait=60s", adminToken, nil, nil)
	if err := errors.Join(found("knit a pullover", "knit", false), found("sew a shirt", "sew", true)); err != nil {
		t.Errorf("after a refresh: %v", err)
	}
	if o := u.run(t, name+"_knit", nil); o.Kind != "not_found" {
		t.Errorf("a tool that was removed: %v", o)
	}
	if o := u.run(t, name+"_sew", nil); o.Kind != "" {
		t.Errorf("a tool that is new: %v", o)
	}
}

// TestSlowServer keeps one server busy with all the calls it may have: others, and
// everything that needs no server, go on.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	s := start(t, options{config: "[gateway]\nmax_calls_per_server = 4\n"})
	_, token := s.user("ann")
	w := viaMCP(join(t, s, caller{token: token}, ""))
	slow, quick := s.upstream(t, "stdio", "slow", w), s.upstream(t, "http", "quick", w)
	release := filepath.Join(t.TempDir(), "release")
	var held sync.WaitGroup
	for range 6 {
		held.Go(func() {
			if o := slow.call("hold", map[string]any{"file": release}); o.Text != "released" {
				t.Errorf("a slow call: %v", o)
			}
		})
	}
	eventually(t, "fill the server's places", func() error {
		if n := slow.record.count("call hold"); n != 4 {
			return fmt.Errorf("%d calls", n)
		}
		return nil
	})
	for range 20 {
		quick.works()
		if got := w.find(t, "answers with the arguments"); len(got) != 28 {
			t.Errorf("found %v", got)
		}
	}
	if n := slow.record.count("call hold"); n != 4 {
		t.Errorf("it has %d calls at once, want 4", n)
	}
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	held.Wait()
	slow.works()
}

// TestEndlessList registers a server whose list of tools has no end.
func TestEndlessList(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	r := s.register(testserver(t, "endless", "-flaw", "endless"))
	if r.Health.State != "healthy" || r.ToolCount < 100 || r.ToolCount > 20_000 {
		t.Errorf("registered as %+v", r)
	}
	if log := s.log.String(); !strings.Contains(log, "too many pages") {
		t.Errorf("the log does not say that the list was cut")
	}
}
