package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/upstream"
)

func TestStdioPassesBytes(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	s, log := stdioServer(t, "plain")
	r := mustCall(t, p, s, "weird", `{"n":9007199254740993,"b":1,"a":1.50,"html":"<&>","e":1e400}`)
	if diff := cmp.Diff(string(r.Raw), weirdResult); diff != "" {
		t.Errorf("result (-got +want):\n%s", diff)
	}
	want := `call weird {"n":9007199254740993,"b":1,"a":1.50,"html":"<&>","e":1e400}`
	if got := events(t, log)[1]; got != want {
		t.Errorf("the server got %s, want %s", got, want)
	}
	if !r.Sent || r.Duration <= 0 {
		t.Errorf("sent %v in %v", r.Sent, r.Duration)
	}
	if h := p.becomes(t, core.Healthy); h.LastSeen == nil {
		t.Errorf("health has no time: %+v", h)
	}
	if got := p.lastEra(); got != "legacy" {
		t.Errorf("era is %q, want legacy", got)
	}
}

// TestStdioKeepsWhiteSpace, but for the breaks that would end the line.
func TestStdioKeepsWhiteSpace(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	s, log := stdioServer(t, "plain")
	mustCall(t, p, s, "echo", "{ \"a\" :\t[ 1.0 ],\r\n \"b\":\"x\\ny\" }")
	if got, want := events(t, log)[1], "call echo { \"a\" :\t[ 1.0 ],   \"b\":\"x\\ny\" }"; got != want {
		t.Errorf("the server got %q, want %q", got, want)
	}
}

func TestStdioServers(t *testing.T) {
	t.Parallel()
	for _, flaw := range []string{"exitonprobe", "garbage", "flood", "ignoreeof", "latetools"} {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, upstream.Config{})
			s, _ := stdioServer(t, flaw)
			if got := text(t, mustCall(t, p, s, "hello", "").Raw); got != "hello" {
				t.Errorf("got %q, want hello", got)
			}
		})
	}
}

func TestStdioMuteOnProbeIsNotRestarted(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	s, log := stdioServer(t, "muteonprobe")
	mustCall(t, p, s, "hello", "")
	if n := count(t, log, "start"); n != 1 {
		t.Errorf("started %d times, want once", n)
	}
}

func TestStdioErrors(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{MaxResponse: 1 << 20})
	s, log := stdioServer(t, "plain")
	tests := []struct {
		tool, args string
		kind       core.Kind
		message    string
	}{
		{"code", "{}", core.UpstreamError, "error -32003: quota is used up"},
		{"unknown", "{}", core.UpstreamError, "Unknown tool"},
		{"huge", "{}", core.UpstreamError, "larger than the 1048576 bytes"},
		{"hugelast", "{}", core.UpstreamError, "larger than the 1048576 bytes"},
		{"deep", "{}", core.UpstreamError, "cannot be read"},
		{"input", "{}", core.UpstreamError, "does not pass on"},
		{"task", "{}", core.UpstreamError, "a task"},
		{"elicit", "{}", core.UpstreamError, "elicitation/create"},
		{"echo", "[1]", core.InvalidParams, "not a JSON object"},
		{"echo", `{"a":`, core.InvalidParams, "not a JSON object"},
	}
	for _, test := range tests {
		_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: test.tool, Args: json.RawMessage(test.args)})
		wantError(t, err, test.kind, test.message)
		// None of it may cost the session.
		mustCall(t, p, s, "hello", "")
	}
	if n := count(t, log, "start"); n != 1 {
		t.Errorf("started %d times, want once", n)
	}
	var rpc *upstream.RPCError
	_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "code"})
	if !errors.As(err, &rpc) || rpc.Code != -32003 || string(rpc.Data) != `{"n":1}` {
		t.Errorf("cause is %#v, want code and data", rpc)
	}
	if id := <-p.changed; id != s.ID {
		t.Errorf("an unknown tool announced a change of %q, want %q", id, s.ID)
	}
}

func TestStdioGarbageBetweenMessages(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	s, log := stdioServer(t, "plain")
	if got := text(t, mustCall(t, p, s, "garbage", "").Raw); got != "after garbage" {
		t.Errorf("got %q", got)
	}
	if n := count(t, log, "start"); n != 1 {
		t.Errorf("started %d times, want once", n)
	}
}

func TestStdioOnlyGarbage(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	s, _ := stdioServer(t, "onlygarbage")
	_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "x"})
	wantError(t, err, core.Unavailable, "this is no server")
}

func TestStdioDiesInCall(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	s, log := stdioServer(t, "plain")
	mustCall(t, p, s, "hello", "")
	r, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "die"})
	wantError(t, err, core.UpstreamError, "may have run", "status 3", "out of luck")
	if !r.Sent {
		t.Error("the call counts as not sent")
	}
	if n := count(t, log, "call die"); n != 1 {
		t.Errorf("ran %d times, want once", n)
	}
	if h := p.becomes(t, core.Unstable); !strings.Contains(h.Message, "out of luck") {
		t.Errorf("health says %q", h.Message)
	}
	mustCall(t, p, s, "hello", "") // starts it again
	p.becomes(t, core.Healthy)
	if n := count(t, log, "start"); n != 2 {
		t.Errorf("started %d times, want twice", n)
	}
}

func TestStdioDeadBeforeCallIsSentOnce(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	s, log := stdioServer(t, "plain")
	pid, err := strconv.Atoi(text(t, mustCall(t, p, s, "pid", "").Raw))
	if err != nil {
		t.Fatal(err)
	}
	kill(t, pid)
	r, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "echo", Args: json.RawMessage(`{"once":1}`)})
	if err != nil && r.Sent { // the kill was not noticed before the write: it must not be repeated
		wantError(t, err, core.UpstreamError, "may have run")
	} else if err != nil {
		t.Fatal(err)
	}
	if n := count(t, log, "call echo"); n > 1 {
		t.Errorf("ran %d times", n)
	}
}

func TestStdioCrashLoopIsThrottled(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{Backoff: time.Hour})
	s, log := stdioServer(t, "plain")
	for range 3 {
		_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "die"})
		wantError(t, err, core.UpstreamError)
	}
	p.becomes(t, core.Down)
	_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "die"})
	wantError(t, err, core.Unavailable, "status 3")
	if n := count(t, log, "start"); n != 3 {
		t.Errorf("started %d times, want 3", n)
	}
}

func TestStdioTimeoutCancels(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	s, log := stdioServer(t, "plain")
	mustCall(t, p, s, "hello", "")
	limited := *s
	limited.Timeout = 50 * time.Millisecond
	r, err := p.Call(t.Context(), upstream.Call{Server: &limited, Tool: "hang"})
	wantError(t, err, core.Timeout, "may have run")
	if !r.Sent {
		t.Error("the call counts as not sent")
	}
	await(t, "the server hears of the cancellation", func() bool { return count(t, log, "cancelled") == 1 })
	if n := count(t, log, "call hang"); n != 1 {
		t.Errorf("ran %d times, want once", n)
	}
	mustCall(t, p, s, "hello", "")
	if n := count(t, log, "start"); n != 1 {
		t.Errorf("started %d times, want once: it answers pings", n)
	}
}

func TestStdioMuteServerIsGivenUp(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	s, log := stdioServer(t, "mute")
	mustCall(t, p, s, "hello", "")
	limited := *s
	limited.Timeout = 300 * time.Millisecond
	_, err := p.Call(t.Context(), upstream.Call{Server: &limited, Tool: "hang"})
	wantError(t, err, core.Timeout)
	await(t, "it is started again", func() bool {
		_, err := p.Call(t.Context(), upstream.Call{Server: &limited, Tool: "hello"})
		return err == nil && count(t, log, "start") == 2
	})
}

func TestStdioStopsReading(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	s, log := stdioServer(t, "plain")
	mustCall(t, p, s, "deaf", "")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	big := json.RawMessage(`{"x":"` + strings.Repeat("y", 3<<20) + `"}`)
	var callers sync.WaitGroup
	for range 3 {
		callers.Go(func() {
			_, err := p.Call(ctx, upstream.Call{Server: s, Tool: "echo", Args: big})
			if !errors.Is(err, core.Timeout) && !errors.Is(err, core.Unavailable) {
				t.Errorf("got %v, want a timeout or unavailable", err)
			}
		})
	}
	callers.Wait()
	// The child has part of a message and is killed for it; the next is fresh.
	await(t, "a fresh child serves", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := p.Call(ctx, upstream.Call{Server: s, Tool: "hello"})
		return err == nil && count(t, log, "start") == 2
	})
}

func TestStdioProgress(t *testing.T) {
	t.Parallel()
	for _, flaw := range []string{"plain", "sdk"} {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, upstream.Config{})
			s, _ := stdioServer(t, flaw)
			wantProgress(t, p, s)
		})
	}
}

// wantProgress calls a tool that reports twenty steps, many at once.
func wantProgress(t *testing.T, p *watched, s *core.Server) {
	t.Helper()
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			var got []upstream.Progress
			_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "progress", Progress: func(x upstream.Progress) { got = append(got, x) }})
			if err != nil {
				t.Error(err)
				return
			}
			if len(got) != 20 || got[19].Total != "20" || !strings.HasPrefix(got[19].Progress.String(), "20") {
				t.Errorf("got %d notifications %+v, want 20", len(got), got)
			}
		})
	}
	callers.Wait()
}

func TestStdioChildrenDieWithTheirGroup(t *testing.T) {
	t.Parallel()
	for _, flaw := range []string{"plain", "ignoreeof,ignoreterm"} {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, upstream.Config{})
			s, _ := stdioServer(t, flaw)
			child, err1 := strconv.Atoi(text(t, mustCall(t, p, s, "pid", "").Raw))
			grandchild, err2 := strconv.Atoi(text(t, mustCall(t, p, s, "spawn", "").Raw))
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			p.Close()
			await(t, "child and grandchild have ended", func() bool { return gone(child) && gone(grandchild) })
			_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "hello"})
			wantError(t, err, core.Unavailable, "shutting down")
		})
	}
}

func TestStdioGrandchildDiesWithItsParent(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	s, _ := stdioServer(t, "plain")
	grandchild, err := strconv.Atoi(text(t, mustCall(t, p, s, "spawn", "").Raw))
	if err != nil {
		t.Fatal(err)
	}
	// It holds the pipe, so that the end of its parent would not be seen.
	_, err = p.Call(t.Context(), upstream.Call{Server: s, Tool: "die"})
	wantError(t, err, core.UpstreamError)
	await(t, "the grandchild has ended", func() bool { return gone(grandchild) })
}

func TestStdioEnvironmentIsMinimal(t *testing.T) {
	t.Setenv("TOOLSCOUT_ADMIN_TOKEN", "ts_very_secret")
	p := newPool(t, upstream.Config{Getenv: func(name string) (string, bool) { return "from " + name, name == "REF" }})
	s, _ := stdioServer(t, "plain")
	s.Env["GIVEN"] = "x-${REF}"
	got := text(t, mustCall(t, p, s, "env", "").Raw)
	if strings.Contains(got, "ts_very_secret") {
		t.Error("the child sees our environment")
	}
	for _, want := range []string{"GIVEN=x-from REF", "PATH="} {
		if !strings.Contains(got, want) {
			t.Errorf("the child does not see %s in\n%s", want, got)
		}
	}
}

func TestStdioSecretsStaySecret(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{Getenv: func(string) (string, bool) { return "hunter2hunter2", true }})
	s, _ := stdioServer(t, "secret")
	s.Env["API_KEY"] = "${KEY}"
	_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "x"})
	wantError(t, err, core.Unavailable, "status 7", "cannot log in with ***")
	if h := p.becomes(t, core.Down); strings.Contains(h.Message, "hunter2") || !strings.Contains(h.Message, "***") {
		t.Errorf("health says %q", h.Message)
	}
}

func TestStdioCannotStart(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{Getenv: func(string) (string, bool) { return "", false }})
	s, _ := stdioServer(t, "plain")
	s.Command = "no-such-command-anywhere"
	_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "x"})
	wantError(t, err, core.Unavailable, `"no-such-command-anywhere" was not found`)
	if h := p.becomes(t, core.Down); h.Stage != "start" {
		t.Errorf("stage is %q, want start", h.Stage)
	}
	unset, _ := stdioServer(t, "plain")
	unset.Env["TOKEN"] = "${NOT_SET_ANYWHERE}"
	_, err = p.Call(t.Context(), upstream.Call{Server: unset, Tool: "x"})
	wantError(t, err, core.Unavailable, "NOT_SET_ANYWHERE is not set")
	if h := p.becomes(t, core.Misconfigured); h.Stage != "config" {
		t.Errorf("stage is %q, want config", h.Stage)
	}
}

func TestStdioChildrenAreBounded(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{MaxChildren: 2})
	var logs []string
	for range 4 {
		s, log := stdioServer(t, "plain")
		mustCall(t, p, s, "hello", "")
		logs = append(logs, log)
	}
	running := 0
	for _, log := range logs {
		pid, err := strconv.Atoi(strings.TrimPrefix(events(t, log)[0], "start "))
		if err != nil {
			t.Fatal(err)
		}
		if !gone(pid) {
			running++
		}
	}
	if running != 2 {
		t.Errorf("%d children run, want 2", running)
	}
}

// TestStdioWaitsForAChild: when all children are busy, a call waits for its turn
// until its deadline.
func TestStdioWaitsForAChild(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{MaxChildren: 1})
	busy, log := stdioServer(t, "plain")
	waiting, _ := stdioServer(t, "plain")
	mustCall(t, p, busy, "hello", "")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := p.Call(ctx, upstream.Call{Server: busy, Tool: "hang"})
		ended <- err
	}()
	await(t, "the call arrives", func() bool { return count(t, log, "call hang") == 1 })
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := p.Call(short, upstream.Call{Server: waiting, Tool: "hello"})
	wantError(t, err, core.Unavailable, "was not sent")
	stop()
	if got := text(t, mustCall(t, p, waiting, "hello", "").Raw); got != "hello" {
		t.Errorf("got %q, want hello", got)
	}
	wantError(t, <-ended, core.Timeout, "may have run")
}

func TestStdioIdleIsStoppedAndStartedAgain(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{IdleTimeout: 50 * time.Millisecond})
	s, log := stdioServer(t, "plain")
	mustCall(t, p, s, "hello", "")
	p.becomes(t, core.Stopped)
	mustCall(t, p, s, "hello", "")
	if n := count(t, log, "start"); n < 2 {
		t.Errorf("started %d times, want twice", n)
	}
}

func TestStdioListChanged(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	s, _ := stdioServer(t, "latetools")
	mustCall(t, p, s, "hello", "")
	if id := <-p.changed; id != s.ID {
		t.Errorf("got %q, want %q", id, s.ID)
	}
}

func TestStdioOnlyOfTheFile(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{FileCommandsOnly: true})
	declared, _ := stdioServer(t, "plain")
	mustCall(t, p, declared, "hello", "")
	s, log := stdioServer(t, "plain")
	s.Origin = core.FromAPI
	_, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: "hello"})
	wantError(t, err, core.Unavailable, "allow_stdio_from_api")
	if _, err := os.Stat(log); err == nil {
		t.Error("the command was run")
	}
}
