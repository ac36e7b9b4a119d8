package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/upstream"
)

// watched is a pool with what it told.
type watched struct {
	*upstream.Pool
	mu      sync.Mutex
	health  []core.Health
	eras    []string
	changed chan string
	told    chan struct{}
}

func newPool(t *testing.T, cfg upstream.Config) *watched {
	t.Helper()
	w := &watched{changed: make(chan string, 100), told: make(chan struct{}, 1)}
	cfg.OnHealth = func(_ string, h core.Health) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.health = append(w.health, h)
		select {
		case w.told <- struct{}{}:
		default:
		}
	}
	cfg.OnEra = func(_, era string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.eras = append(w.eras, era)
	}
	cfg.OnToolsChanged = func(id string) { w.changed <- id }
	if cfg.Backoff == 0 {
		cfg.Backoff = 10 * time.Millisecond
	}
	w.Pool = upstream.New(cfg)
	t.Cleanup(func() { w.Close() })
	return w
}

// last is the health last told.
func (w *watched) last() core.Health {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.health) == 0 {
		return core.Health{}
	}
	return w.health[len(w.health)-1]
}

// becomes waits until the last health told is state.
func (w *watched) becomes(t *testing.T, state core.HealthState) core.Health {
	t.Helper()
	for {
		last := w.last()
		if last.State == state {
			return last
		}
		select {
		case <-w.told:
		case <-t.Context().Done():
			t.Fatalf("health is %+v, want %s", last, state)
		}
	}
}

func (w *watched) lastEra() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.eras) == 0 {
		return ""
	}
	return w.eras[len(w.eras)-1]
}

// ids numbers servers, so that parallel tests have different ones.
var ids atomic.Int64

// stdioServer is this binary as a server with flaws, and the file of its events.
func stdioServer(t *testing.T, flaws string) (*core.Server, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	return &core.Server{ID: "s" + strconv.FormatInt(ids.Add(1), 10), Name: "child", Transport: core.Stdio, Command: self,
		Origin: core.FromFile, Isolation: core.Shared, Env: map[string]string{"CHILD": flaws, "CHILD_LOG": log}}, log
}

func httpServer(url string) *core.Server {
	return &core.Server{ID: "s" + strconv.FormatInt(ids.Add(1), 10), Name: "remote", Transport: core.HTTP, URL: url,
		Origin: core.FromFile, Isolation: core.Shared}
}

// events reads what a child recorded.
func events(t *testing.T, log string) []string {
	t.Helper()
	data, err := os.ReadFile(log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func count(t *testing.T, log, prefix string) int {
	t.Helper()
	n := 0
	for _, e := range events(t, log) {
		if strings.HasPrefix(e, prefix) {
			n++
		}
	}
	return n
}

// await polls until a condition outside of this process holds.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for !ok() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatalf("never: %s", what)
		}
	}
}

// gone reports whether a process has ended (a zombie has).
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// text gives the text of a result.
func text(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var r struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(raw, &r); err != nil || len(r.Content) == 0 {
		t.Fatalf("no text in %s", raw)
	}
	return r.Content[0].Text
}

func mustCall(t *testing.T, p *watched, s *core.Server, tool, args string) upstream.Result {
	t.Helper()
	r, err := p.Call(t.Context(), upstream.Call{Server: s, Tool: tool, Args: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return r
}

func wantError(t *testing.T, err error, kind core.Kind, parts ...string) {
	t.Helper()
	var e *core.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("got error %v, want a %s", err, kind)
	}
	for _, part := range parts {
		if !strings.Contains(e.Message, part) {
			t.Errorf("message is %q, want %q in it", e.Message, part)
		}
	}
}

// newSDKServer is a server of the SDK. calls, if not nil, counts executions, and
// cancellations with them.
func newSDKServer(calls *atomic.Int64) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "9"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}})
	tool := func(name string, h mcp.ToolHandler) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if calls != nil {
				calls.Add(1)
			}
			return h(ctx, r)
		})
	}
	tool("echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: r.Params.Arguments, Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	tool("progress", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := 1; i <= 20; i++ {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Total: 20}); err != nil {
				return nil, err
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	})
	tool("wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		if calls != nil {
			calls.Add(1)
		}
		return nil, ctx.Err()
	})
	return s
}
