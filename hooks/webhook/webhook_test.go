package webhook_test

import (
	stdcmp "cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/egress"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/webhook"
)

const secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

func typ() hooks.Type {
	return webhook.Type(egress.New(egress.Config{}).Client(0), egress.New(egress.Config{AllowPrivate: true}).Client(0))
}

// open makes a trusted hook that posts to url; more is further configuration.
func open(t *testing.T, url, more string) hooks.Hook {
	t.Helper()
	h, err := typ().New(hooks.Instance{Key: "k", Name: "asker", Trusted: true,
		Config: json.RawMessage(fmt.Sprintf(`{"url":%q,"secret":%q%s}`, url, secret, more))})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// receiver answers everything with body, and hands over what it got.
func receiver(t *testing.T, status int, contentType, body string) (url string, got chan received) {
	t.Helper()
	got = make(chan received, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read: %v", err)
		}
		got <- received{r.Header, raw}
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, got
}

type received struct {
	header http.Header
	body   []byte
}

func (r received) json(t *testing.T) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(r.body, &m); err != nil {
		t.Fatalf("%s: %v", r.body, err)
	}
	return m
}

func call() *hooks.Call {
	return &hooks.Call{RequestID: "r1", Level: hooks.Tool, Action: "execute_tool",
		Principal: core.Principal{TenantID: "t", UserID: "u1", UserName: "ada", Agent: "claude"},
		Server:    &core.Server{ID: "s1", Name: "github"}, Tool: &core.Tool{ID: "t1", ServerID: "s1", Name: "gh_create_issue"},
		Original: json.RawMessage(`{"title":"hello","n":12345678901234567890}`), Args: json.RawMessage(`{"title":"hello","n":12345678901234567890}`)}
}

// called is a call that came back.
func called() *hooks.Call {
	c := call()
	c.Result = json.RawMessage(`{"content":[{"type":"text","text":"done <b>"}],"isError":true}`)
	c.Raw, c.IsError, c.Duration = c.Result, true, 1500*time.Microsecond
	return c
}

func TestMessage(t *testing.T) {
	t.Parallel()
	url, got := receiver(t, 204, "", "")
	h := open(t, url, "")
	c := call()
	if err := h.Before(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	asked := (<-got).json(t)
	if err := h.After(t.Context(), called()); err != nil {
		t.Fatal(err)
	}
	told := (<-got).json(t)
	if asked["id"] == told["id"] || !strings.HasPrefix(asked["id"].(string), "msg_") {
		t.Errorf("ids: %v, %v", asked["id"], told["id"])
	}
	for _, m := range []map[string]any{asked, told} {
		if _, err := time.Parse(time.RFC3339Nano, m["time"].(string)); err != nil {
			t.Error(err)
		}
		delete(m, "id")
		delete(m, "time")
	}
	want := map[string]any{"type": "tool:before", "requestId": "r1", "level": "tool", "action": "execute_tool",
		"tool": "gh_create_issue", "toolId": "t1", "server": "github", "serverId": "s1", "user": "ada", "userId": "u1",
		"agent": "claude", "args": map[string]any{"title": "string(5)", "n": "number"}}
	if diff := cmp.Diff(asked, want); diff != "" {
		t.Errorf("before: got - want +\n%s", diff)
	}
	want["type"], want["isError"], want["durationMs"] = "tool:after", true, 1.5
	want["result"] = map[string]any{"isError": "boolean", "content": []any{"array(1) of", map[string]any{"type": "string(4)", "text": "string(8)"}}}
	if diff := cmp.Diff(told, want); diff != "" {
		t.Errorf("after: got - want +\n%s", diff)
	}
	if string(c.Args) != string(call().Args) || c.Result != nil {
		t.Errorf("the call was changed: %s %s", c.Args, c.Result)
	}
}

func TestMessageValues(t *testing.T) {
	t.Parallel()
	url, got := receiver(t, 200, "", "")
	h := open(t, url, `,"send":{"args":"values","result":"values"}`)
	if err := h.After(t.Context(), called()); err != nil {
		t.Fatal(err)
	}
	body := string((<-got).body)
	for _, part := range []string{`"args":{"title":"hello","n":12345678901234567890}`, `"text":"done <b>"`} {
		if !strings.Contains(body, part) {
			t.Errorf("got %s, want %s in it", body, part)
		}
	}
	if err := open(t, url, `,"send":{"args":"none","result":"none"}`).After(t.Context(), called()); err != nil {
		t.Fatal(err)
	}
	m := (<-got).json(t)
	if m["args"] != nil || m["result"] != nil {
		t.Errorf("got %v, want neither args nor result", m)
	}
}

func TestMessageOfFailedCall(t *testing.T) {
	t.Parallel()
	url, got := receiver(t, 204, "", "")
	c := call()
	c.Err = core.Errorf(core.UpstreamError, "it broke").Because(errors.New("password hunter2"))
	if err := open(t, url, "").After(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	r := <-got
	if diff := cmp.Diff(r.json(t)["error"], any(map[string]any{"kind": "upstream_error", "message": "it broke"})); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(string(r.body), "hunter2") {
		t.Error("the private cause was sent")
	}
}

// TestSignature verifies as a receiver would.
func TestSignature(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ secret, key string }{
		"standard": {secret, "01234567890123456789012345678901"},
		"text":     {"a text that is long enough to sign", "a text that is long enough to sign"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, got := receiver(t, 204, "", "")
			h := open(t, url, fmt.Sprintf(`,"headers":{"Authorization":"Bearer x","X-Team":"core"},"secret":%q`, test.secret))
			if err := h.Before(t.Context(), call()); err != nil {
				t.Fatal(err)
			}
			r := <-got
			id, at := r.header.Get("webhook-id"), r.header.Get("webhook-timestamp")
			mac := hmac.New(sha256.New, []byte(test.key))
			mac.Write([]byte(id + "." + at + "." + string(r.body)))
			if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.header.Get("webhook-signature") != want {
				t.Errorf("got signature %q, want %q", r.header.Get("webhook-signature"), want)
			}
			if seconds, err := strconv.ParseInt(at, 10, 64); err != nil || time.Since(time.Unix(seconds, 0)).Abs() > time.Minute {
				t.Errorf("got timestamp %q: %v", at, err)
			}
			if id != r.json(t)["id"] {
				t.Errorf("the header says %q, the body %q", id, r.json(t)["id"])
			}
			if r.header.Get("Authorization") != "Bearer x" || r.header.Get("X-Team") != "core" ||
				r.header.Get("Content-Type") != "application/json" {
				t.Errorf("headers: %v", r.header)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	const result = `{"content":[{"type":"text","text":"mine"}],"structuredContent":{"n":1.0}}`
	tests := map[string]struct {
		body       string
		args, resl string // as they stand after Before; "" for unchanged
		rejection  string
	}{
		"allow":           {body: `{"action":"allow"}`},
		"spaces":          {body: " \n"},
		"reject":          {body: `{"action":"reject","message":"not on Fridays"}`, rejection: "not on Fridays"},
		"reject silently": {body: `{"action":"reject"}`, rejection: "rejected by a webhook"},
		"replace args":    {body: `{"action":"replace","args":{"n": 12345678901234567890}}`, args: `{"n": 12345678901234567890}`},
		"replace result":  {body: `{"action":"replace","result":` + result + `}`, resl: result},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := receiver(t, 200, "application/json; charset=utf-8", test.body)
			c := call()
			err := open(t, url, "").Before(t.Context(), c)
			var rejection *hooks.Rejection
			switch {
			case test.rejection != "":
				if !errors.As(err, &rejection) || rejection.Err.Message != test.rejection || rejection.Err.Kind != core.HookRejected {
					t.Errorf("got %v, want the rejection %q", err, test.rejection)
				}
				return
			case err != nil:
				t.Fatal(err)
			}
			if want := stdcmp.Or(test.args, string(c.Original)); string(c.Args) != want {
				t.Errorf("got args %s, want %s", c.Args, want)
			}
			if string(c.Result) != test.resl {
				t.Errorf("got result %s, want %s", c.Result, test.resl)
			}
		})
	}
}

func TestAnswersAfter(t *testing.T) {
	t.Parallel()
	url, _ := receiver(t, 200, "application/json", `{"action":"replace","result":{"content":[]}}`)
	c := called()
	if err := open(t, url, "").After(t.Context(), c); err != nil || string(c.Result) != `{"content":[]}` {
		t.Errorf("got %s, %v", c.Result, err)
	}
	failed := call()
	failed.Err = core.Errorf(core.Timeout, "too long")
	if err := open(t, url, "").After(t.Context(), failed); !errors.Is(err, core.UpstreamError) || failed.Err == nil || failed.Result != nil {
		t.Errorf("a failed call: got %v, want a failure that leaves it failed", err)
	}
	url, _ = receiver(t, 200, "application/json", `{"action":"replace","args":{}}`)
	if err := open(t, url, "").After(t.Context(), called()); !errors.Is(err, core.UpstreamError) {
		t.Errorf("arguments after the call: got %v, want a failure", err)
	}
	url, _ = receiver(t, 200, "application/json", `{"action":"reject","message":"`+strings.Repeat("é", 3000)+`"}`)
	var rejection *hooks.Rejection
	if err := open(t, url, "").After(t.Context(), called()); !errors.As(err, &rejection) || len(rejection.Err.Message) > 2010 {
		t.Errorf("got %v, want a rejection with a bounded message", err)
	}
}

// TestMetaLevel: an answer of another meta-tool than execute_tool is any object.
func TestMetaLevel(t *testing.T) {
	t.Parallel()
	url, _ := receiver(t, 200, "application/json", `{"action":"replace","result":{"domains":[]}}`)
	c := &hooks.Call{Level: hooks.Meta, Action: "list_tool_domains", Args: json.RawMessage(`{}`)}
	if err := open(t, url, "").Before(t.Context(), c); err != nil || string(c.Result) != `{"domains":[]}` {
		t.Errorf("got %s, %v", c.Result, err)
	}
	c = &hooks.Call{Level: hooks.Meta, Action: "execute_tool", Args: json.RawMessage(`{}`)}
	if err := open(t, url, "").Before(t.Context(), c); !errors.Is(err, core.UpstreamError) {
		t.Errorf("got %v, want a failure", err)
	}
}

// TestLyingReceivers: whatever is not exactly an answer is a failure that changes nothing.
func TestLyingReceivers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status     int
		kind, body string
	}{
		"status":             {500, "application/json", `{"action":"allow"}`},
		"not modified":       {304, "", ``},
		"no content type":    {200, "text/plain", `{"action":"allow"}`},
		"html":               {200, "text/html", `<p>login</p>`},
		"not json":           {200, "application/json", `allow`},
		"two values":         {200, "application/json", `{"action":"allow"}{"action":"reject"}`},
		"array":              {200, "application/json", `[{"action":"allow"}]`},
		"null":               {200, "application/json", `null`},
		"empty object":       {200, "application/json", `{}`},
		"unknown action":     {200, "application/json", `{"action":"Allow"}`},
		"unknown member":     {200, "application/json", `{"action":"allow","reason":"x"}`},
		"other case":         {200, "application/json", `{"Action":"allow"}`},
		"twice":              {200, "application/json", `{"action":"allow","action":"reject"}`},
		"number":             {200, "application/json", `{"action":1}`},
		"allow with args":    {200, "application/json", `{"action":"allow","args":{}}`},
		"reject with result": {200, "application/json", `{"action":"reject","result":{"content":[]}}`},
		"replace nothing":    {200, "application/json", `{"action":"replace"}`},
		"replace both":       {200, "application/json", `{"action":"replace","args":{},"result":{"content":[]}}`},
		"args no object":     {200, "application/json", `{"action":"replace","args":[]}`},
		"args null":          {200, "application/json", `{"action":"replace","args":null}`},
		"result no content":  {200, "application/json", `{"action":"replace","result":{}}`},
		"result bad content": {200, "application/json", `{"action":"replace","result":{"content":"x"}}`},
		"result bad block":   {200, "application/json", `{"action":"replace","result":{"content":[1]}}`},
		"deep":               {200, "application/json", `{"action":"replace","args":` + strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat(`}`, 200) + `}`},
		"huge":               {200, "application/json", `{"action":"allow"` + strings.Repeat(" ", 2000) + `}`},
		"cut":                {200, "application/json", `{"action":"allow"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, got := receiver(t, test.status, test.kind, test.body)
			c := call()
			err := open(t, url, `,"max_body_bytes":1024`).Before(t.Context(), c)
			var rejection *hooks.Rejection
			if err == nil || errors.As(err, &rejection) {
				t.Errorf("got %v, want a failure", err)
			}
			if len(got) != 1 {
				t.Errorf("got %d messages, want one and no second try", len(got))
			}
			if string(c.Args) != string(c.Original) || c.Result != nil {
				t.Errorf("the call was changed: %s %s", c.Args, c.Result)
			}
		})
	}
}

// TestEndless reads no further than it may from a receiver that never stops.
func TestEndless(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(srv.Close)
	if err := open(t, srv.URL, "").Before(t.Context(), call()); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("got %v, want that the answer is too large", err)
	}
}

func TestSlowReceiver(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		close(gone)
	}))
	t.Cleanup(srv.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := open(t, srv.URL+"/?token=hush", "").Before(ctx, call())
	if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "hush") {
		t.Errorf("got %v, want that the deadline passed, and no URL", err)
	}
	<-gone
}

func TestRedirect(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	t.Cleanup(inside.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		srv := httptest.NewServer(http.RedirectHandler(inside.URL, status))
		t.Cleanup(srv.Close)
		if err := open(t, srv.URL, "").Before(t.Context(), call()); !errors.Is(err, core.UpstreamError) {
			t.Errorf("%d: got %v, want a failure", status, err)
		}
	}
	if reached.Load() {
		t.Error("a redirect was followed")
	}
}

// TestUntrusted: a user's hook does not reach this machine, the operator's does.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	url, got := receiver(t, 204, "", "")
	h, err := typ().New(hooks.Instance{UserID: "u1", Config: json.RawMessage(fmt.Sprintf(`{"url":%q,"secret":%q}`, url+"/?token=hush", secret))})
	if err != nil {
		t.Fatal(err)
	}
	err = h.Before(t.Context(), call())
	if !errors.Is(err, core.Unavailable) || !errors.Is(err, core.Denied) || strings.Contains(err.Error(), "hush") {
		t.Errorf("got %v, want that the address is refused, without the URL", err)
	}
	if strings.Contains(core.Public(err).Message, "127.0.0.1") {
		t.Errorf("the message %q tells a stranger the address", core.Public(err).Message)
	}
	if len(got) != 0 {
		t.Error("it was reached all the same")
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, url := range []string{closed.URL, "http://name.invalid/hook?token=hush"} {
		err := open(t, url, "").Before(t.Context(), call())
		if !errors.Is(err, core.Unavailable) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: got %v, want unavailable without the URL", url, err)
		}
	}
}

func TestTooLargeToSend(t *testing.T) {
	t.Parallel()
	url, got := receiver(t, 204, "", "")
	c := call()
	c.Args = json.RawMessage(`{"pad":"` + strings.Repeat("x", 2000) + `"}`)
	err := open(t, url, `,"max_body_bytes":1024,"send":{"args":"values"}`).Before(t.Context(), c)
	if err == nil || len(got) != 0 {
		t.Errorf("got %v and %d messages, want a failure and none", err, len(got))
	}
}

// TestOnError runs through a chain: who guards closes, who only listens does not.
func TestOnError(t *testing.T) {
	t.Parallel()
	url, _ := receiver(t, 500, "", "")
	runner := hooks.NewRunner(hooks.Config{})
	t.Cleanup(func() { runner.Close(context.Background()) })
	for policy, stops := range map[hooks.OnError]bool{hooks.Fail: true, hooks.Ignore: false} {
		entry := hooks.Entry{Name: "asker", OnError: policy, Hook: open(t, url, "")}
		c := call()
		err := runner.Run(t.Context(), hooks.Compile([]hooks.Entry{entry}, c), c, func(_ context.Context, c *hooks.Call) error {
			c.Result = json.RawMessage(`{"content":[]}`)
			return nil
		})
		if (err != nil) != stops || !stops && len(c.Warnings) != 2 {
			t.Errorf("%s: got %v with warnings %q, want stopped %v", policy, err, c.Warnings, stops)
		}
	}
}

func TestObserve(t *testing.T) {
	t.Parallel()
	url, got := receiver(t, 200, "application/json", `{"action":"reject"}`)
	runner := hooks.NewRunner(hooks.Config{})
	t.Cleanup(func() { runner.Close(context.Background()) })
	entry := hooks.Entry{Name: "asker", Mode: hooks.Observe, Hook: open(t, url, "")}
	c := call()
	if err := runner.Run(t.Context(), hooks.Compile([]hooks.Entry{entry}, c), c, func(context.Context, *hooks.Call) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 0 || len(c.Effects) != 2 || c.Effects[0].Notes["sent"] != false {
		t.Errorf("got %d messages and %v, want none and two notes", len(got), c.Effects)
	}
}

func TestHandle(t *testing.T) {
	t.Parallel()
	url, got := receiver(t, 200, "application/json", `{"action":"allow"}`)
	h := open(t, url, "").(hooks.Handler)
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	err := h.Handle(t.Context(), core.Event{ID: 7, Time: at, Type: core.EventServerFailed, Subject: "github", ServerID: "s1",
		Data: json.RawMessage(`{"state":"unavailable"}`)})
	if err != nil {
		t.Fatal(err)
	}
	r := <-got
	want := `{"type":"server:failed","id":"evt_7","time":"2026-05-01T12:00:00Z","serverId":"s1","subject":"github","data":{"state":"unavailable"}}`
	if string(r.body) != want || r.header.Get("webhook-id") != "evt_7" {
		t.Errorf("got %s, want %s", r.body, want)
	}
	url, _ = receiver(t, 503, "", "")
	if err := open(t, url, "").(hooks.Handler).Handle(t.Context(), core.Event{Type: "x:y"}); err == nil {
		t.Error("a receiver that failed is no error")
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		`{"url":"ftp://x","secret":"short"}`:                                                      {"/url", "/secret"},
		`{"url":"https://u:p@x.example","secret":"whsec_!!"}`:                                     {"/url", "/secret"},
		`{"url":"https://","secret":"whsec_c2hvcnQ="}`:                                            {"/url", "/secret"},
		`{"url":"http://x.example/#a","secret":"` + secret + `"}`:                                 {"/url"},
		`{"url":"http://x.example/\u0001","secret":"` + secret + `"}`:                             {"/url"},
		`{"url":"https://x.example","secret":"` + secret + `","headers":{"Host":"y","a b":"c"}}`:  {"/headers/Host", "/headers/a b"},
		`{"url":"https://x.example","secret":"` + secret + `","headers":{"X":"a\nb"}}`:            {"/headers/X"},
		`{"url":"https://x.example","secret":"` + secret + `","headers":{"a/b":"c"}}`:             {"/headers/a~1b"},
		`{"url":"https://x.example","secret":"` + secret + `","headers":{"idempotency-KEY":"c"}}`: {"/headers/idempotency-KEY"},
	}
	for config, want := range tests {
		_, err := typ().New(hooks.Instance{Config: json.RawMessage(config)})
		var refusal *core.Error
		if !errors.As(err, &refusal) || refusal.Kind != core.InvalidParams {
			t.Errorf("%s: got %v, want a refusal", config, err)
			continue
		}
		var got []string
		for _, f := range refusal.Faults {
			got = append(got, f.Pointer)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got faults at %q, want %q", config, got, want)
		}
	}
}
