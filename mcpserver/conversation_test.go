package mcpserver_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/toolscout/toolscout/core/gateway"
)

// eras runs a test in both generations of the protocol.
func eras(t *testing.T, test func(t *testing.T, version string)) {
	for _, version := range []string{legacy, modern} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

func TestConversation(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	eras(t, func(t *testing.T, version string) {
		c := s.connect("ann", version, nil)
		tools, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range tools.Tools {
			names = append(names, tool.Name)
		}
		want := []string{gateway.DiscoverTools, gateway.GetToolSchema, gateway.ExecuteTool, gateway.ListToolDomains, gateway.BrowseToolDomain}
		if !slices.Equal(names, want) {
			t.Errorf("tools %v, want %v", names, want)
		}
		if version == modern && tools.CacheScope != "private" {
			t.Errorf("cache scope %q, want private", tools.CacheScope)
		}
		found, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: gateway.DiscoverTools, Arguments: map[string]any{"query": "echo what is said"}})
		if err != nil || found.IsError {
			t.Fatalf("discover: %v, %+v", err, found)
		}
		var structured, texted any
		raw, err := json.Marshal(found.StructuredContent)
		if err != nil || json.Unmarshal(raw, &structured) != nil || json.Unmarshal([]byte(text(t, found)), &texted) != nil {
			t.Fatalf("structured content %s, text %q", raw, text(t, found))
		}
		if a, b := mustJSON(structured), mustJSON(texted); a != b {
			t.Errorf("structured content\n%s\nand text\n%s differ", a, b)
		}
		if !strings.Contains(text(t, found), `"name":"echo"`) {
			t.Errorf("discover did not find echo: %s", text(t, found))
		}
		result, err := c.CallTool(t.Context(), execute("echo", json.RawMessage(`{"n":9007199254740993,"h":"<&>"}`)))
		if err != nil || result.IsError {
			t.Fatalf("execute: %v, %+v", err, result)
		}
		if got, want := text(t, result), `{"n":9007199254740993,"h":"<&>"}`; got != want {
			t.Errorf("the upstream saw %s, want %s", got, want)
		}
		if result.Meta["toolscout/tool"] == nil {
			t.Errorf("_meta %v, want toolscout/tool in it", result.Meta)
		}
	})
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestCall_failed(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	eras(t, func(t *testing.T, version string) {
		c := s.connect("ann", version, nil)
		result, err := c.CallTool(t.Context(), execute("no such tool", map[string]any{}))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Error struct{ Kind, Message string }
		}
		if err := json.Unmarshal([]byte(text(t, result)), &got); err != nil {
			t.Fatal(err)
		}
		if !result.IsError || got.Error.Kind != "not_found" || result.StructuredContent != nil {
			t.Errorf("isError %v, structured content %v, text %s", result.IsError, result.StructuredContent, text(t, result))
		}
		_, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "set_preference"})
		if err == nil || !strings.Contains(err.Error(), `unknown tool "set_preference"`) {
			t.Errorf("an action that is not for MCP: %v, want unknown tool", err)
		}
		if _, err = c.CallTool(t.Context(), execute("echo", map[string]any{})); err != nil {
			t.Errorf("the session did not survive: %v", err)
		}
	})
}

func TestProgress_arrives_to_the_last(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	eras(t, func(t *testing.T, version string) {
		got := make(chan *mcp.ProgressNotificationParams, 16)
		c := s.connect("ann", version, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { got <- r.Params }})
		params := execute("count", map[string]any{})
		params.SetProgressToken("token-" + version)
		result, err := c.CallTool(t.Context(), params)
		if err != nil || text(t, result) != "five" {
			t.Fatalf("count: %v, %+v", err, result)
		}
		for i := range 5 {
			p := <-got
			if p.ProgressToken != "token-"+version || p.Progress != float64(i+1) || p.Total != 5 || p.Message != "counting" {
				t.Errorf("notification %d is %+v", i, p)
			}
		}
	})
}

func TestCancel_reaches_the_upstream(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, version string) {
		s := newStand(t, nil)
		c := s.connect("ann", version, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, execute("wait", map[string]any{}))
			done <- err
		}()
		<-s.started
		cancel()
		<-s.ended
		if err := <-done; err == nil {
			t.Error("the cancelled call succeeded")
		}
		if _, err := c.CallTool(t.Context(), execute("echo", map[string]any{})); err != nil {
			t.Errorf("the session did not survive: %v", err)
		}
	})
}
