package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/mcpserver"
	"github.com/toolscout/toolscout/mcpserver/door"
)

// FuzzBody posts anything to /mcp: no answer is a server error, what is answered
// is JSON or an event, and a session is still there afterwards.
func FuzzBody(f *testing.F) {
	for _, body := range []string{hello, listTools, "[" + listTools + "]", call(3, "echo", `{}`), `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1.5e3,"method":"ping"}`,
		strings.Replace(call(3, "echo", `{}`), `"params":{`, `"params":{`+modernMeta+`,`, 1),
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_tool","_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","id":"\ud800","method":"tools/call","params":{"name":"\u0065xecute_tool"}}`,
		`[[]]`, `[{}]`, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"x"}}`, "", "\x00", `{"a"`, `"`, `{"":{"":[]}}`,
	} {
		f.Add(body, uint8(len(body)))
	}
	d, err := door.New(door.Config{Authenticate: func(context.Context, [32]byte) (core.Principal, error) {
		return core.Principal{UserID: "u", UserName: "u", TokenID: "t"}, nil
	}})
	if err != nil {
		f.Fatal(err)
	}
	s := mcpserver.New(mcpserver.Config{Gateway: trivial{json.RawMessage(`{"content":[]}`)}})
	f.Cleanup(func() { _ = s.Close(context.Background()) })
	h := d.Guard(d.Authenticated(s.HTTP()))
	post := func(body, session, version string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer t")
		r.Header.Set("Content-Type", "application/json")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		if version != "" {
			r.Header.Set("Mcp-Protocol-Version", version)
			r.Header.Set("Mcp-Method", "tools/call")
			r.Header.Set("Mcp-Name", "execute_tool")
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		if strings.Contains(body, "listen") { // a subscription lasts until its client goes
			cancel()
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(ctx))
		return w
	}
	session := post(hello, "", "").Header().Get("Mcp-Session-Id")
	f.Fuzz(func(t *testing.T, body string, choice uint8) {
		id := [...]string{"", session}[choice%2]
		version := [...]string{"", legacy, modern}[choice/2%3]
		w := post(body, id, version)
		if w.Code >= 500 {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		text := w.Body.String()
		if w.Header().Get("Content-Type") != "text/event-stream" && text != "" && !json.Valid([]byte(text)) {
			t.Errorf("status %d, and the answer is no JSON: %q", w.Code, text)
		}
		if w := post(listTools, session, ""); w.Code != http.StatusOK {
			t.Fatalf("the session is gone: status %d, %s", w.Code, w.Body)
		}
	})
}
