package upstream_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/upstream"
)

func TestListKeepsDefinitions(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{})
	s, _ := stdioServer(t, "plain")
	l, err := p.List(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var tools []string
	for _, d := range l.Tools {
		tools = append(tools, string(d))
	}
	if diff := cmp.Diff("["+strings.Join(tools, ",")+"]", weirdTools); diff != "" {
		t.Errorf("tools (-got +want):\n%s", diff)
	}
	want := upstream.ServerInfo{Name: "child", Version: "1.2.3", Protocol: "2025-11-25", Era: "legacy", Instructions: "be kind"}
	if diff := cmp.Diff(l.Server, want); diff != "" {
		t.Errorf("server (-got +want):\n%s", diff)
	}
	if len(l.Resources) != 1 || len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0], "no prompts today") {
		t.Errorf("%d resources, warnings %q", len(l.Resources), l.Warnings)
	}
}

func TestListEndlessPages(t *testing.T) {
	t.Parallel()
	for flaw, want := range map[string]string{"endless": "too many pages", "samecursor": "repeats a cursor"} {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, upstream.Config{})
			s, _ := stdioServer(t, flaw)
			l, err := p.List(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if len(l.Tools) == 0 || !strings.Contains(strings.Join(l.Warnings, "\n"), want) {
				t.Errorf("%d tools, warnings %q, want %q", len(l.Tools), l.Warnings, want)
			}
		})
	}
}

func TestTrial(t *testing.T) {
	t.Parallel()
	p := newPool(t, upstream.Config{DialTimeout: 10 * time.Second})
	good, _ := stdioServer(t, "plain")
	want := upstream.TestResult{OK: true, Name: "child", Version: "1.2.3", Protocol: "2025-11-25", ToolCount: 6}
	if diff := cmp.Diff(p.Test(t.Context(), good), want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	missing, _ := stdioServer(t, "plain")
	missing.Command = "no-such-command-anywhere"
	mute, _ := stdioServer(t, "muteoninit")
	unset := httpServer("https://example.invalid/${NOT_SET_ANYWHERE}")
	nowhere := httpServer("not a url")
	html := httpServer(serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
	})).URL)
	old := httpServer(serve(t, http.NotFoundHandler()).URL)
	tests := map[string]struct {
		server         *core.Server
		stage, message string
	}{
		"missing command": {missing, "start", "was not found"},
		"mute":            {mute, "initialize", "in time"},
		"unset":           {unset, "config", "NOT_SET_ANYWHERE"},
		"no URL":          {nowhere, "config", "URL"},
		"refused":         {httpServer("http://127.0.0.1:1/mcp"), "connect", "refused"},
		"HTML":            {html, "initialize", "answered HTML, not MCP"},
		"older SSE":       {old, "initialize", `its transport is "sse"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			if name == "mute" {
				cancel()
				ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
			}
			defer cancel()
			got := p.Test(ctx, test.server)
			if got.OK || got.Stage != test.stage || !strings.Contains(got.Message, test.message) {
				t.Errorf("got %+v, want stage %q and %q", got, test.stage, test.message)
			}
		})
	}
	if len(p.health) != 0 {
		t.Errorf("a trial told of health: %+v", p.health)
	}
}
