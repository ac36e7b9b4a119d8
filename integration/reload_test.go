package integration_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/embeddings/embedtest"
)

// declared is a testserver as the file declares it.
func declared(t *testing.T, name string, lines ...string) string {
	t.Helper()
	config := testserver(t, name)
	return fmt.Sprintf("[[gateway.servers]]\nname = %q\nprefix = %q\ncommand = %q\n%s\n", name, config["prefix"], config["command"], strings.Join(lines, "\n"))
}

// reload writes the file anew and has the server read it; it returns when the log
// says how that went.
func (s *instance) reload(t *testing.T, config, want string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dataDir, "toolscout.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	before := strings.Count(s.log.String(), want)
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "reload", func() error {
		if strings.Count(s.log.String(), want) == before {
			return fmt.Errorf("the log does not say %q", want)
		}
		return nil
	})
}

// TestReload edits the file while the server runs. Servers come, change and leave;
// what leaves keeps its id and everybody's switches; a broken file changes nothing.
func TestReload(t *testing.T) {
	t.Parallel()
	const ok, failed = `"msg":"reloaded"`, `"msg":"reload failed`
	s := start(t, options{config: declared(t, "one") + declared(t, "two")})
	_, token := s.user("ann")
	w := viaMCP(join(t, s, caller{token: token}, legacy))
	sees := func(want ...string) {
		t.Helper()
		eventually(t, "list the servers", func() error {
			if got := w.find(t, "answers with the arguments"); !slices.Equal(got, want) {
				return fmt.Errorf("found %v, want %v", got, want)
			}
			return nil
		})
	}
	server := func(name string) map[string]any {
		t.Helper()
		for _, row := range s.rows(t, "/v1/admin/servers") {
			if row["name"] == name {
				return row
			}
		}
		t.Fatalf("there is no server %q", name)
		return nil
	}
	sees("one_echo", "two_echo")
	one, two := server("one")["id"], server("two")["id"]
	tool := s.toolID("two_echo")
	s.must("PUT", fmt.Sprintf("/v1/servers/%s/preference", two), token, map[string]any{"enabled": false}, nil)
	if status, body := s.request("PATCH", fmt.Sprintf("/v1/admin/servers/%s", one), adminToken, map[string]any{"domain": "x"}); status != http.StatusConflict || !strings.Contains(string(body), "file") {
		t.Errorf("an edit of what the file declares: %d %s", status, body)
	}
	sees("one_echo")

	// One changes, two leaves, three comes.
	s.reload(t, declared(t, "one", `domain = "ones"`, `description = "The first one"`)+declared(t, "three"), ok)
	sees("one_echo", "three_echo")
	if got := server("one"); got["id"] != one || got["domain"] != "ones" {
		t.Errorf("one became %v", got)
	}
	if got := server("two"); got["id"] != two || got["status"] != "inactive" {
		t.Errorf("two became %v", got)
	}
	if o := w.run(t, tool, nil); o.Kind != "not_found" {
		t.Errorf("a tool of a server that has left: %v", o)
	}
	eventually(t, "end the child of the server that has left", func() error {
		if n := len(s.children(t)); n != 2 {
			return fmt.Errorf("%d children run", n)
		}
		return nil
	})

	// A broken file, one with a mistake, and one that the registry refuses.
	for config, want := range map[string]string{
		"[[gateway.servers]\n":                          ".toml:1:",
		declared(t, "four") + "colour = \"red\"\n":      "colour",
		declared(t, "four") + declared(t, "four"):       "four",
		declared(t, "four", `visibility = "sometimes"`): ".toml:5: gateway.servers[0].visibility",
	} {
		s.reload(t, config, failed)
		if log := s.log.String(); !strings.Contains(log[strings.LastIndex(log, failed):], want) {
			t.Errorf("the log does not name %q: %s", want, log[strings.LastIndex(log, failed):])
		}
		sees("one_echo", "three_echo")
	}

	// Two comes back, as it was.
	s.reload(t, declared(t, "one")+declared(t, "two")+declared(t, "three"), ok)
	eventually(t, "see two again", func() error {
		if o := w.run(t, "two_echo", nil); o.Kind != "denied" {
			return fmt.Errorf("its tool is %v, want it switched off", o)
		}
		return nil
	})
	if got := server("two")["id"]; got != two {
		t.Errorf("two came back with another id")
	}
	s.must("PUT", fmt.Sprintf("/v1/servers/%s/preference", two), token, map[string]any{"enabled": true}, nil)
	sees("one_echo", "three_echo", "two_echo")
	if got := s.toolID("two_echo"); got != tool {
		t.Errorf("its tool came back with another id")
	}
}

// TestStartWithoutFile starts on the same database from where no file is, as a
// client does that runs toolscout stdio. What the file declared stays.
func TestStartWithoutFile(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	start(t, options{database: database, config: declared(t, "one")}).stop(syscall.SIGTERM)
	s := start(t, options{database: database})
	if rows := s.rows(t, "/v1/admin/servers"); len(rows) != 1 || rows[0]["status"] != "active" {
		t.Errorf("the registry holds %v", rows)
	}
}

// TestEmbeddingService takes the embedding service away, gives it back, and changes
// what it answers. Search goes on by words and says so.
func TestEmbeddingService(t *testing.T) {
	t.Parallel()
	service := embedtest.New(t)
	o := options{database: pgtest.URL(t), dataDir: t.TempDir(),
		config: fmt.Sprintf("[embeddings]\nprovider = \"openai\"\nbase_url = %q\nmodel = \"m\"\napi_key = \"very-secret-key\"\n", service.URL+"/v1")}
	service.FailAlways(embedtest.ServerError)
	s := start(t, o)
	s.register(testserver(t, "a", "-tools", allTools))
	w := s.viaREST(caller{token: adminToken})
	questions := 0
	search := func() listing {
		t.Helper()
		questions++ // no answer comes from memory
		l := w.try(t, "discover_tools", map[string]any{"query": fmt.Sprintf("end the server in the middle %d", questions), "top_k": 3}).listing(t)
		if len(l.Tools) == 0 || l.Tools[0].Name != "a_die" {
			t.Errorf("found %+v", l)
		}
		return l
	}
	becomes := func(degraded bool) {
		t.Helper()
		eventually(t, fmt.Sprintf("degraded: %t", degraded), func() error {
			if l := search(); (l.Degraded != "") != degraded {
				return fmt.Errorf("it is %q", l.Degraded)
			}
			return nil
		})
	}
	reindex := func() { s.must("POST", "/v1/admin/embeddings/index", adminToken, map[string]any{}, nil) }

	// The service was never there; it comes; it goes; it comes back.
	becomes(true)
	service.FailAlways(embedtest.None)
	reindex()
	becomes(false)
	for _, failure := range []embedtest.Failure{embedtest.ServerError, embedtest.Unauthorized, embedtest.HTML, embedtest.MoreDimensions, embedtest.Truncated, embedtest.Stall} {
		service.FailAlways(failure)
		becomes(true)
		service.FailAlways(embedtest.None)
		becomes(false)
	}

	// A service of another dimension, from the start.
	s.stop(syscall.SIGTERM)
	service.FailAlways(embedtest.MoreDimensions)
	s = start(t, o)
	w = s.viaREST(caller{token: adminToken})
	becomes(true)
	eventually(t, "say what is wrong", func() error {
		var st struct{ Error string }
		s.must("GET", "/v1/admin/embeddings/index", adminToken, nil, &st)
		if !strings.Contains(st.Error, "dimensions") {
			return fmt.Errorf("the index says %q", st.Error)
		}
		return nil
	})
	service.FailAlways(embedtest.None)
	reindex()
	becomes(false)
	if log := s.log.String(); strings.Contains(log, "very-secret-key") {
		t.Error("the key is in the log")
	}
}

// TestModelSwitch changes the model under a steady stream of searches. Not one is
// empty, fails, or lacks a half.
func TestModelSwitch(t *testing.T) {
	t.Parallel()
	database, dir := pgtest.URL(t), t.TempDir()
	s := start(t, options{database: database, dataDir: dir})
	s.register(testserver(t, "a", "-tools", "echo", "-many", "600"))
	s.stop(syscall.SIGTERM)

	service := embedtest.New(t)
	service.FailAlways(embedtest.ServerError) // until it has been searched beside
	service.Fail(make([]embedtest.Failure, 9)...)
	config := fmt.Sprintf("[embeddings]\nprovider = \"openai\"\nbase_url = %q\nmodel = \"m\"\napi_key = \"k\"\n", service.URL+"/v1")
	s = start(t, options{database: database, dataDir: dir, config: config})
	w := s.viaREST(caller{token: adminToken})
	active := func() string {
		t.Helper()
		for _, row := range s.rows(t, "/v1/admin/embeddings/models") {
			if row["active"] == true {
				return fmt.Sprint(row["provider"])
			}
		}
		return ""
	}
	began := time.Now()
	released := false
	for n := 0; ; n++ {
		l := w.try(t, "discover_tools", map[string]any{"query": fmt.Sprintf("state of item %d", n%600), "top_k": 5}).listing(t)
		if len(l.Tools) != 5 || l.Degraded != "" {
			t.Fatalf("search %d, with %s active after %s: %+v", n, active(), time.Since(began), l)
		}
		if !released && n > 50 && len(service.Requests()) > 9 {
			if got := active(); got != "builtin" {
				t.Errorf("the active model is %s although the new one is not complete", got)
			}
			released = true
			service.FailAlways(embedtest.None)
			s.must("POST", "/v1/admin/embeddings/index", adminToken, map[string]any{}, nil)
		}
		if released && active() == "openai" {
			break
		}
	}
	for n := range 20 {
		if l := w.try(t, "discover_tools", map[string]any{"query": fmt.Sprintf("warehouse %d", n), "top_k": 10}).listing(t); len(l.Tools) != 10 || l.Degraded != "" {
			t.Errorf("a search with the new model found %d tools, degraded %q", len(l.Tools), l.Degraded)
		}
	}
}
