package enrich_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/egress"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/enrich"
)

func typ() hooks.Type {
	return enrich.Type(egress.New(egress.Config{}).Client(0), egress.New(egress.Config{AllowPrivate: true}).Client(0))
}

// open makes a trusted hook that asks url about errors; more is further configuration.
func open(t *testing.T, typ hooks.Type, url, more string) hooks.Hook {
	t.Helper()
	h, err := typ.New(hooks.Instance{Key: "k", Name: "explain", Trusted: true,
		Config: json.RawMessage(fmt.Sprintf(`{"base_url":%q,"model":"m-1","triggers":["(?m)^error"]%s}`, url, more))})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// model is a server that speaks the API of chat completions.
type model struct {
	status int
	header http.Header
	body   string

	mu       sync.Mutex
	requests []request
}

type request struct {
	path, auth string
	body       map[string]any
}

func (r request) message(i int) string {
	return r.body["messages"].([]any)[i].(map[string]any)["content"].(string)
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	m.requests = append(m.requests, request{r.URL.Path, r.Header.Get("Authorization"), body})
	m.mu.Unlock()
	maps.Copy(w.Header(), m.header)
	if m.status != 0 {
		w.WriteHeader(m.status)
	}
	io.WriteString(w, m.body)
}

func (m *model) asked() []request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

func (m *model) serve(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(m)
	t.Cleanup(srv.Close)
	return srv.URL
}

const said = `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":" Try again. "},"finish_reason":"stop"}],"usage":{"prompt_tokens":120,"completion_tokens":4,"total_tokens":124}}`

const failing = `{"content":[{"type":"text","text":"begin\nerror: no such file \u2014 {{tool}}"},{"type":"image","data":"aa","mimeType":"image/png"}],"isError":true,"other":1.0}`

func called(result string) *hooks.Call {
	return &hooks.Call{RequestID: "r1", Level: hooks.Tool, Action: "execute_tool",
		Server: &core.Server{ID: "s1", Name: "files"}, Tool: &core.Tool{ID: "t1", ServerID: "s1", Name: "read"},
		Args: json.RawMessage(`{"path":"/x"}`), Result: json.RawMessage(result), IsError: strings.Contains(result, `"isError":true`)}
}

// run sends a call with this result through a chain of h alone.
func run(t *testing.T, h hooks.Hook, mode hooks.Mode, result string) *hooks.Call {
	t.Helper()
	runner := hooks.NewRunner(hooks.Config{})
	defer runner.Close(context.WithoutCancel(t.Context()))
	c := called("")
	c.Result = nil
	entry := hooks.Entry{Name: "explain", Hook: h, OnError: hooks.Ignore, Mode: mode, Events: []hooks.Event{hooks.ToolAfter}}
	err := runner.Run(t.Context(), hooks.Compile([]hooks.Entry{entry}, c), c, func(_ context.Context, c *hooks.Call) error {
		c.Result = json.RawMessage(result)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAsk(t *testing.T) {
	t.Parallel()
	m := &model{body: said}
	h := open(t, typ(), m.serve(t)+"/v1/", `,"api_key":"sk-1","temperature":0,"input_price":1,"output_price":10`)
	c := run(t, h, hooks.Enforce, failing)
	added := `,{"type":"text","text":"[Added by the language model m-1, asked by the gateway. The tool did not say this.]\nTry again.",` +
		`"_meta":{"toolscout/addedBy":{"hook":"explain","model":"m-1","type":"llm_enrich"}}}`
	if want := strings.Replace(failing, `}],"isError"`, `}`+added+`],"isError"`, 1); string(c.Result) != want {
		t.Errorf("got  %s\nwant %s", c.Result, want)
	}
	notes := map[string]any{"triggered": true, "model": "m-1", "promptTokens": 120, "completionTokens": 4, "cost": 0.00016}
	if diff := cmp.Diff(c.Effects, []hooks.Effect{{Hook: "explain", Event: hooks.ToolAfter, Did: "edit", Notes: notes}}); diff != "" {
		t.Error(diff)
	}
	asked := m.asked()
	if len(asked) != 1 || asked[0].path != "/v1/chat/completions" || asked[0].auth != "Bearer sk-1" {
		t.Fatalf("got %+v", asked)
	}
	body := asked[0].body
	if body["model"] != "m-1" || body["max_tokens"] != 300.0 || body["temperature"] != 0.0 {
		t.Errorf("got %v", body)
	}
}

// TestPrompt: what strangers wrote stands between marks that only we know, and is
// not taken for a template.
func TestPrompt(t *testing.T) {
	t.Parallel()
	m := &model{body: said}
	h := open(t, typ(), m.serve(t), `,"prompt":"{{tool}} of {{ server }}\n{{args}}\n{{result}}\nWhy?","max_tokens_field":"max_completion_tokens","max_output_tokens":7`)
	run(t, h, hooks.Enforce, failing)
	run(t, h, hooks.Enforce, failing)
	asked := m.asked()
	mark := regexp.MustCompile(`<data-(\w{20,}) is="args">`).FindStringSubmatch(asked[0].message(1))
	if mark == nil {
		t.Fatalf("no mark in %q", asked[0].message(1))
	}
	want := strings.ReplaceAll("<data-M>read</data-M> of <data-M>files</data-M>\n<data-M is=\"args\">\n{\"path\":\"/x\"}\n</data-M>\n"+
		"<data-M is=\"result\">\nbegin\nerror: no such file — {{tool}}\n</data-M>\nWhy?", "M", mark[1])
	if diff := cmp.Diff(asked[0].message(1), want); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(asked[0].message(0), "<data-"+mark[1]+">") || strings.Contains(asked[1].message(1), mark[1]) {
		t.Error("the mark is not explained, or not fresh")
	}
	if asked[0].body["max_completion_tokens"] != 7.0 || asked[0].body["max_tokens"] != nil || asked[0].body["temperature"] != nil || asked[0].auth != "" {
		t.Errorf("got %v, %q", asked[0].body, asked[0].auth)
	}
}

func TestLongInput(t *testing.T) {
	t.Parallel()
	m := &model{body: said}
	h := open(t, typ(), m.serve(t), `,"max_input_bytes":1000,"prompt":"{{result}}"`)
	text := "error: the beginning" + strings.Repeat("é", 100_000) + "the end"
	raw, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	run(t, h, hooks.Enforce, fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, raw))
	got := m.asked()[0].message(1)
	if len(got) > 1200 || !strings.Contains(got, "error: the beginning") || !strings.Contains(got, "the end\n") ||
		!strings.Contains(got, "bytes left out") || strings.Contains(got, "\uFFFD") {
		t.Errorf("got %d bytes: %s", len(got), got)
	}
}

// TestLongArguments: bytes that are no text find no way around the limit.
func TestLongArguments(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"\x80", "\xf0", "é", "x\x80", "\xf0\x80"} {
		m := &model{body: said}
		h := open(t, typ(), m.serve(t), `,"max_input_bytes":1000,"prompt":"{{args}}{{result}}"`)
		c := called(`{"content":[{"type":"text","text":"error"}]}`)
		c.Args = json.RawMessage(`{"a":"` + strings.Repeat(piece, 10_000) + `"}`)
		if err := h.After(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if n := len(m.asked()[0].message(1)); n > 1500 { // what is not UTF-8 is replaced by three bytes
			t.Errorf("%q: %d bytes", piece, n)
		}
	}
}

func TestNotAsked(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ more, result string }{
		"no trigger":        {``, `{"content":[{"type":"text","text":"all is well, no error"}]}`},
		"not an error":      {`,"on_error_only":true`, `{"content":[{"type":"text","text":"error"}],"isError":false}`},
		"no word of errors": {`,"on_error_only":true`, `{"content":[{"type":"text","text":"error"}]}`},
		"no text":           {``, `{"content":[{"type":"image","data":"error","mimeType":"image/png"}]}`},
		"not a tool result": {``, `["error"]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &model{body: said}
			c := run(t, open(t, typ(), m.serve(t), test.more), hooks.Enforce, test.result)
			if string(c.Result) != test.result || len(m.asked()) != 0 || len(c.Effects) != 0 {
				t.Errorf("got %s, %d questions, %v", c.Result, len(m.asked()), c.Effects)
			}
		})
	}
	m := &model{body: said}
	if c := run(t, open(t, typ(), m.serve(t), ""), hooks.Observe, failing); string(c.Result) != failing || len(m.asked()) != 0 ||
		c.Effects[0].Notes["asked"] != false {
		t.Errorf("observing: got %s, %d questions, %v", c.Result, len(m.asked()), c.Effects)
	}
}

// TestStructured: a result without text blocks is judged by its structured content.
func TestStructured(t *testing.T) {
	t.Parallel()
	m := &model{body: said}
	h := open(t, typ(), m.serve(t), `,"triggers":["\"code\":\\s*5\\d\\d"],"prompt":"{{result}}"`)
	c := run(t, h, hooks.Enforce, `{"content":[],"structuredContent":{"code": 503}}`)
	if !strings.Contains(string(c.Result), "Try again.") || !strings.Contains(m.asked()[0].message(1), `{"code": 503}`) {
		t.Errorf("got %s, %v", c.Result, m.asked())
	}
}

// TestFailures: an endpoint that does not answer as it should costs a warning.
func TestFailures(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		model *model
		want  string
	}{
		"status":        {&model{status: 500, body: `{"error":{"message":"key sk-1 is bad"}}`}, "status 500"},
		"busy":          {&model{status: 429}, "status 429"},
		"redirect":      {&model{status: 307, header: http.Header{"Location": {"http://127.0.0.1:1/"}}}, "status 307"},
		"no json":       {&model{body: `<html>`}, "did not answer with a completion"},
		"other json":    {&model{body: `{"choices":"x"}`}, "did not answer with a completion"},
		"no choices":    {&model{body: `{"choices":[]}`}, "said nothing"},
		"null content":  {&model{body: `{"choices":[{"message":{"content":null}}]}`}, "said nothing"},
		"empty content": {&model{body: `{"choices":[{"message":{"content":" \n"}}]}`}, "said nothing"},
		"huge":          {&model{body: said + strings.Repeat(" ", 200_000)}, "larger"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := run(t, open(t, typ(), test.model.serve(t), `,"api_key":"sk-1"`), hooks.Enforce, failing)
			if string(c.Result) != failing {
				t.Errorf("the result was changed: %s", c.Result)
			}
			if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], test.want) || strings.Contains(c.Warnings[0], "sk-1") {
				t.Errorf("got warnings %q, want one of %q", c.Warnings, test.want)
			}
			if n := len(test.model.asked()); n != 1 {
				t.Errorf("asked %d times, want once", n)
			}
		})
	}
}

func TestSlowModel(t *testing.T) {
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
	if err := open(t, typ(), srv.URL, "").After(ctx, called(failing)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the deadline passed", err)
	}
	<-gone
}

func TestUntrusted(t *testing.T) {
	t.Parallel()
	m := &model{body: said}
	h, err := typ().New(hooks.Instance{Key: "k", UserID: "u1",
		Config: json.RawMessage(fmt.Sprintf(`{"base_url":%q,"model":"m","triggers":["."]}`, m.serve(t)))})
	if err != nil {
		t.Fatal(err)
	}
	err = h.After(t.Context(), called(failing))
	if !errors.Is(err, core.Unavailable) || !errors.Is(err, core.Denied) || len(m.asked()) != 0 {
		t.Errorf("got %v and %d questions, want that the address is refused", err, len(m.asked()))
	}
}

// transport serves an http.Client without a network, for tests with a clock of
// their own.
type transport struct{ http.Handler }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	t.ServeHTTP(w, r)
	return w.Result(), nil
}

// TestBudget: an answer costs 4 and may cost 10, which is set aside while it is made.
func TestBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &model{body: said}
		client := &http.Client{Transport: transport{m}}
		typ := enrich.Type(client, client)
		const prices = `,"max_output_tokens":10,"output_price":1000000,"max_cost_per_hour":20,"max_cost_per_day":26`
		h := open(t, typ, "http://model.example", prices)
		ask := func(want int) {
			t.Helper()
			if err := h.After(t.Context(), called(failing)); err != nil {
				t.Fatal(err)
			}
			if n := len(m.asked()); n != want {
				t.Errorf("asked %d times, want %d", n, want)
			}
		}
		for _, want := range []int{1, 2, 3, 3, 3} {
			ask(want) // the fourth could make it 22
		}
		h = open(t, typ, "http://model.example", prices)
		ask(3) // an edit refills nothing
		time.Sleep(time.Hour)
		for _, want := range []int{4, 5, 5} {
			ask(want) // the sixth could make it 30 in the day
		}
		time.Sleep(time.Hour)
		ask(5)
		time.Sleep(24 * time.Hour)
		ask(6)
	})
}

// TestBudgetOverTheHour: what was set aside in one hour gives nothing back to the
// next.
func TestBudgetOverTheHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, slow := &model{body: said}, make(chan struct{})
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("Authorization") != "" {
				<-slow
			}
			return transport{m}.RoundTrip(r)
		})}
		typ := enrich.Type(client, client)
		const prices = `,"max_output_tokens":10,"output_price":1000000,"max_cost_per_hour":20`
		late := open(t, typ, "http://model.example", prices+`,"api_key":"k"`)
		h := open(t, typ, "http://model.example", prices)
		ended := make(chan error)
		for range 2 { // each sets 10 aside
			go func() { ended <- late.After(t.Context(), called(failing)) }()
		}
		synctest.Wait()
		time.Sleep(time.Hour)
		ask := func(want int) {
			t.Helper()
			if err := h.After(t.Context(), called(failing)); err != nil {
				t.Fatal(err)
			}
			if n := len(m.asked()); n != want {
				t.Errorf("asked %d times, want %d", n, want)
			}
		}
		ask(1)
		ask(2)
		ask(3) // comes to 12
		close(slow)
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		ask(5)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestBudgetOfASleeper: a hook that did not ask for days keeps its budget when it is
// edited.
func TestBudgetOfASleeper(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &model{body: said}
		client := &http.Client{Transport: transport{m}}
		typ := enrich.Type(client, client)
		const prices = `,"max_output_tokens":10,"output_price":1000000,"max_cost_per_hour":12`
		h := open(t, typ, "http://model.example", prices)
		time.Sleep(48 * time.Hour)
		if _, err := typ.New(hooks.Instance{Key: "other", Config: json.RawMessage(`{"base_url":"http://x.example","model":"m","triggers":["x"]}`)}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := h.After(t.Context(), called(failing)); err != nil {
				t.Fatal(err)
			}
			h = open(t, typ, "http://model.example", prices)
		}
		if n := len(m.asked()); n != 1 {
			t.Errorf("asked %d times, want once", n)
		}
	})
}

// TestNoUsage: an endpoint that counts nothing is paid as for the worst.
func TestNoUsage(t *testing.T) {
	t.Parallel()
	m := &model{body: strings.Replace(said, `"prompt_tokens":120,"completion_tokens":4`, `"prompt_tokens":0,"completion_tokens":0`, 1)}
	h := open(t, typ(), m.serve(t), `,"max_output_tokens":10,"output_price":1000000,"max_cost_per_day":25`)
	for range 5 {
		if err := h.After(t.Context(), called(failing)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(m.asked()); n != 2 {
		t.Errorf("asked %d times, want 2", n)
	}
}

func TestBudgetIsNoted(t *testing.T) {
	t.Parallel()
	m := &model{body: said}
	h := open(t, typ(), m.serve(t), `,"input_price":1000,"max_cost_per_day":0.000001`)
	c := run(t, h, hooks.Enforce, failing)
	if len(m.asked()) != 0 || string(c.Result) != failing || len(c.Warnings) != 0 || len(c.Effects) != 1 ||
		c.Effects[0].Notes["skipped"] != "the budget of the day is used up" {
		t.Errorf("got %d questions, %v", len(m.asked()), c.Effects)
	}
}

// TestBudgetTogether: what a call may cost is set aside before it is asked, so that
// calls at the same time do not overspend.
func TestBudgetTogether(t *testing.T) {
	t.Parallel()
	m, answer := &model{body: said}, make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-answer
		m.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	h := open(t, typ(), srv.URL, `,"max_output_tokens":10,"output_price":1000000,"max_cost_per_day":15`)
	const calls = 20
	ended := make(chan error, calls)
	for range calls {
		go func() { ended <- h.After(context.WithoutCancel(t.Context()), called(failing)) }()
	}
	for i := range calls {
		if i == calls-1 {
			close(answer) // for the only one that asks
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if n := len(m.asked()); n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
}

// TestRetryAfter: an endpoint that asks to wait is left alone for so long.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, value := range []func() string{
			func() string { return "30" },
			func() string { return time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat) },
		} {
			m := &model{status: 429, header: http.Header{"Retry-After": {value()}}}
			client := &http.Client{Transport: transport{m}}
			h := open(t, enrich.Type(client, client), "http://model.example", "")
			err := h.After(t.Context(), called(failing))
			var refusal *core.Error
			if !errors.As(err, &refusal) || refusal.Kind != core.RateLimited || refusal.RetryAfter != 30*time.Second {
				t.Errorf("got %v, want rate_limited for 30 s", err)
			}
			for range 3 {
				if err := h.After(t.Context(), called(failing)); err != nil {
					t.Error(err)
				}
			}
			if n := len(m.asked()); n != 1 {
				t.Errorf("asked %d times while told to wait, want once", n)
			}
			time.Sleep(31 * time.Second)
			if err := h.After(t.Context(), called(failing)); err == nil || len(m.asked()) != 2 {
				t.Errorf("got %v after %d questions, want a second one", err, len(m.asked()))
			}
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		`{"base_url":"ftp://x","model":"m","triggers":["a","(b","c","[d"]}`:                              {"/base_url", "/triggers/1", "/triggers/3"},
		`{"base_url":"https://u:p@x.example","model":"m","triggers":["a"]}`:                              {"/base_url"},
		`{"base_url":"https://x.example/?a=b","model":"m","triggers":["a"]}`:                             {"/base_url"},
		`{"base_url":"https://x.example","model":"m","triggers":["a"],"prompt":"{{result}} {{secret}}"}`: {"/prompt"},
		`{"base_url":"https://x.example","model":"m","triggers":["a"],"prompt":"hello"}`:                 {"/prompt"},
		`{"base_url":"https://x.example","model":"m","triggers":["a"],"api_key":"a\nb"}`:                 {"/api_key"},
		`{"base_url":"https://x.example","model":"m","triggers":["a"],"max_cost_per_hour":1}`:            {"/max_cost_per_hour"},
		`{"base_url":"https://x.example","model":"m","triggers":["a"],"max_cost_per_day":1}`:             {"/max_cost_per_day"},
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

// FuzzTriggers: the look at the JSON that comes first keeps no match from being
// found, however the text is written.
func FuzzTriggers(f *testing.F) {
	for _, p := range []string{"error", "(?i)Task|fail(ed)?", "a(b|cd)+e{2,}", `\d+ x`, "(?i)ſ", `"q"`, "é1", "x*yz?", "^$", "a/b", "(?s)a.b"} {
		f.Add(p, "an ERROR: tasK 1 failed abcdee \n a/b \"q\" é1 \u2028 K ſ <x>", false)
	}
	f.Fuzz(func(t *testing.T, pattern, text string, escape bool) {
		re, err := regexp.Compile(pattern)
		if err != nil || pattern == "" || len(pattern) > 1000 {
			return
		}
		raw, err := core.EncodeJSON(text)
		if escape {
			raw, err = json.Marshal(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		config, err := json.Marshal(map[string]any{"base_url": "http://model.example", "model": "m", "triggers": []string{pattern}})
		if err != nil {
			t.Fatal(err)
		}
		m := &model{body: said}
		client := &http.Client{Transport: transport{m}}
		h, err := enrich.Type(client, client).New(hooks.Instance{Key: "k", Config: config})
		if err != nil {
			return // JSON has replaced what is not UTF-8, and left no pattern
		}
		if err := h.After(t.Context(), called(`{"content":[{"type":"text","text":`+string(raw)+`}]}`)); err != nil {
			t.Fatal(err)
		}
		if utf8.ValidString(pattern) && re.MatchString(strings.ToValidUTF8(text, "\uFFFD")) != (len(m.asked()) == 1) {
			t.Errorf("pattern %q, text %q: asked %d times", pattern, text, len(m.asked()))
		}
	})
}

// BenchmarkNoTrigger is what a call costs that no trigger matches.
func BenchmarkNoTrigger(b *testing.B) {
	text := strings.Repeat("All is well in line after line of this log, which goes on. ", 70)
	for name, triggers := range map[string]string{
		"literal": `["panic: ","Traceback"]`, "fold": `["(?i)error|exception|failed"]`, "class": `["[0-9]{7}"]`} {
		h, err := typ().New(hooks.Instance{Key: "k", Trusted: true,
			Config: json.RawMessage(`{"base_url":"http://127.0.0.1:1","model":"m","triggers":` + triggers + `}`)})
		if err != nil {
			b.Fatal(err)
		}
		c := called(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, text))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := h.After(b.Context(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
