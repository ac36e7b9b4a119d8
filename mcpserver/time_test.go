package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/gateway"
	"github.com/toolscout/toolscout/mcpserver"
	"github.com/toolscout/toolscout/mcpserver/door"
)

// slow is a gateway whose calls take most of a minute, or panic.
type slow struct {
	trivial
	panics bool
}

func (g slow) Call(context.Context, core.Request, gateway.Call) (json.RawMessage, error) {
	if g.panics {
		panic("secret detail")
	}
	time.Sleep(50 * time.Second)
	return g.result, nil
}

// bubble runs a test on a server that lives in a bubble of time.
func bubble(t *testing.T, g mcpserver.Gateway, test func(t *testing.T, post func(ctx context.Context, method, session, body string, headers ...string) *httptest.ResponseRecorder)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, err := door.New(door.Config{Authenticate: func(context.Context, [32]byte) (core.Principal, error) {
			return core.Principal{UserID: "u", UserName: "u", TokenID: "t"}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		s := mcpserver.New(mcpserver.Config{Gateway: g})
		h := d.Guard(d.Authenticated(s.HTTP()))
		defer func() { _ = s.Close(context.Background()) }()
		test(t, func(ctx context.Context, method, session, body string, headers ...string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(ctx, method, "http://localhost/mcp", strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer t")
			r.Header.Set("Content-Type", "application/json")
			if session != "" {
				r.Header.Set("Mcp-Session-Id", session)
			}
			for i := 0; i < len(headers); i += 2 {
				r.Header.Set(headers[i], headers[i+1])
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		})
	})
}

func TestSession_idle_ends(t *testing.T) {
	bubble(t, trivial{}, func(t *testing.T, post func(context.Context, string, string, string, ...string) *httptest.ResponseRecorder) {
		ctx := t.Context()
		idle := post(ctx, "POST", "", hello).Header().Get("Mcp-Session-Id")
		used := post(ctx, "POST", "", hello).Header().Get("Mcp-Session-Id")
		streaming := post(ctx, "POST", "", hello).Header().Get("Mcp-Session-Id")
		listening, hangUp := context.WithCancel(ctx)
		var stream *httptest.ResponseRecorder
		var open sync.WaitGroup
		open.Go(func() { stream = post(listening, "GET", streaming, "") })
		for range 5 {
			time.Sleep(10 * time.Minute)
			post(ctx, "POST", used, listTools)
		}
		for name, c := range map[string]struct {
			session string
			want    int
		}{"idle": {idle, 404}, "used": {used, 200}, "with a stream": {streaming, 200}} {
			if w := post(ctx, "POST", c.session, listTools); w.Code != c.want {
				t.Errorf("%s: status %d, want %d: %s", name, w.Code, c.want, w.Body)
			}
		}
		hangUp()
		open.Wait()
		if comments := strings.Count(stream.Body.String(), "\n: still here\n"); comments != 200 {
			t.Errorf("%d comments in 50 minutes, want 200", comments)
		}
		time.Sleep(40 * time.Minute)
		if w := post(ctx, "POST", streaming, listTools); w.Code != http.StatusNotFound {
			t.Errorf("after the stream: status %d, %s", w.Code, w.Body)
		}
	})
}

func TestSlowCall_is_kept_alive(t *testing.T) {
	const result = `{"content":[],` + "\n" + `"isError":false}`
	bubble(t, slow{trivial: trivial{json.RawMessage(result)}}, func(t *testing.T, post func(context.Context, string, string, string, ...string) *httptest.ResponseRecorder) {
		session := post(t.Context(), "POST", "", hello).Header().Get("Mcp-Session-Id")
		modernCall := strings.Replace(call(3, "x", `{}`), `"params":{"name"`, `"params":{`+modernMeta+`,"name"`, 1)
		for name, w := range map[string]*httptest.ResponseRecorder{
			"in a session": post(t.Context(), "POST", session, call(3, "x", `{}`)),
			"in a batch":   post(t.Context(), "POST", session, "["+call(3, "x", `{}`)+"]"),
			"without a session": post(t.Context(), "POST", "", modernCall,
				"Mcp-Protocol-Version", modern, "Mcp-Method", "tools/call", "Mcp-Name", "execute_tool"),
		} {
			body := w.Body.String()
			if w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" || strings.Count(body, ": still here\n\n") < 3 {
				t.Errorf("%s: status %d, headers %v, body %q", name, w.Code, w.Header(), body)
			}
			_, data, _ := strings.Cut(body, "data: ")
			if !json.Valid([]byte(strings.TrimSpace(data))) || !strings.Contains(data, `"isError":false`) || !strings.HasSuffix(data, "}\n\n") {
				t.Errorf("%s: event %q", name, data)
			}
		}
	})
}

func TestPanic_of_a_call(t *testing.T) {
	bubble(t, slow{panics: true}, func(t *testing.T, post func(context.Context, string, string, string, ...string) *httptest.ResponseRecorder) {
		session := post(t.Context(), "POST", "", hello).Header().Get("Mcp-Session-Id")
		for name, body := range map[string]string{"served here": call(3, "x", `{}`), "served by the SDK": "[" + call(3, "x", `{}`) + "]"} {
			w := post(t.Context(), "POST", session, body)
			if !strings.Contains(w.Body.String(), "internal error") || strings.Contains(w.Body.String(), "secret") {
				t.Errorf("%s: status %d, body %s", name, w.Code, w.Body)
			}
		}
		if w := post(t.Context(), "POST", session, listTools); w.Code != http.StatusOK {
			t.Errorf("the session did not survive: status %d, %s", w.Code, w.Body)
		}
	})
}

// FuzzResult: whatever object a tool answers, a client of the new generation gets
// it whole, with what the protocol adds.
func FuzzResult(f *testing.F) {
	for _, result := range []string{`{}`, ` { } `, `{"content":[]}`, `{"_meta":{}}`, `{"_meta":{ "a":1 },"resultType":"task"}`, `{"_meta":null}`,
		`{"a":"\"}{","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"}}}`, "{\n\"a\":[1,{\"b\":\"\\\\\"}]\r\n}"} {
		f.Add(result)
	}
	d, err := door.New(door.Config{Authenticate: func(context.Context, [32]byte) (core.Principal, error) {
		return core.Principal{UserID: "u", UserName: "u", TokenID: "t"}, nil
	}})
	if err != nil {
		f.Fatal(err)
	}
	body := strings.Replace(call(3, "x", `{}`), `"params":{"name"`, `"params":{`+modernMeta+`,"name"`, 1)
	f.Fuzz(func(t *testing.T, result string) {
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(result), &object) != nil || object == nil {
			return // a gateway gives objects
		}
		s := mcpserver.New(mcpserver.Config{Gateway: trivial{json.RawMessage(result)}})
		defer func() { _ = s.Close(context.Background()) }()
		r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(body))
		r.Header = http.Header{"Authorization": {"Bearer t"}, "Content-Type": {"application/json"},
			"Mcp-Protocol-Version": {modern}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"execute_tool"}}
		w := httptest.NewRecorder()
		d.Guard(d.Authenticated(s.HTTP())).ServeHTTP(w, r)
		var got struct{ Result map[string]json.RawMessage }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%v in %s", err, w.Body)
		}
		for key, value := range object {
			if key != "_meta" && string(got.Result[key]) != string(value) {
				t.Errorf("%q is %s, want %s", key, got.Result[key], value)
			}
		}
		if got.Result["resultType"] == nil || got.Result["_meta"] == nil {
			t.Errorf("what the protocol needs is missing in %s", w.Body)
		}
	})
}
