// Package integration_test runs the built binary as a person would: real
// Postgres, real MCP servers, real clients.
package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

// binary is the toolscout under test, built once.
var binary string

// adminToken is the first admin's in every server that these tests start.
const adminToken = "ts_integration_admin_0123456789abcdef"

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "toolscout-integration")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "toolscout")
	args := []string{"build", "-o", binary}
	if raceEnabled {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "../cmd/toolscout")...)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		panic(fmt.Sprintf("build toolscout: %v", err))
	}
	return m.Run()
}

// options say how a server is started.
type options struct {
	config   string   // TOML
	database string   // "" clones a fresh one
	env      []string // further NAME=VALUE
	dataDir  string
	args     []string
}

// instance is a running toolscout.
type instance struct {
	t       testing.TB
	cmd     *exec.Cmd
	url     string
	dataDir string
	log     logFile
	// database is where it keeps everything.
	database string
	exited   chan struct{}
	err      error // how it exited; read after exited
}

// start runs toolscout serve and waits until it listens.
func start(t testing.TB, o options) *instance {
	t.Helper()
	s := launch(t, o)
	for tick := time.Tick(2 * time.Millisecond); ; {
		if s.url = s.log.url(); s.url != "" {
			return s
		}
		select {
		case <-s.exited:
			t.Fatalf("toolscout ended at start: %v\n%s", s.err, s.log.tail())
		case <-tick:
		}
	}
}

// launch runs toolscout serve without waiting.
func launch(t testing.TB, o options) *instance {
	t.Helper()
	if o.dataDir == "" {
		o.dataDir = t.TempDir()
	}
	if o.database == "" {
		o.database = pgtest.URL(t)
	}
	s := &instance{t: t, dataDir: o.dataDir, database: o.database, log: newLog(t), exited: make(chan struct{})}
	s.cmd = exec.Command(binary, append([]string{"serve"}, o.args...)...)
	s.cmd.Env = append(cleanEnv(), "TOOLSCOUT_ADDR=127.0.0.1:0", "TOOLSCOUT_ADMIN_TOKEN="+adminToken, "TOOLSCOUT_DATA_DIR="+o.dataDir)
	if o.database != "embedded" {
		s.cmd.Env = append(s.cmd.Env, "TOOLSCOUT_DATABASE_URL="+o.database)
	}
	if o.config != "" {
		file := filepath.Join(o.dataDir, "toolscout.toml")
		if err := os.WriteFile(file, []byte(o.config), 0o600); err != nil {
			t.Fatal(err)
		}
		s.cmd.Env = append(s.cmd.Env, "TOOLSCOUT_CONFIG="+file)
	}
	s.cmd.Env = append(s.cmd.Env, o.env...)
	s.cmd.Stderr = s.log.File
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.exited)
	}()
	t.Cleanup(func() {
		s.stop(syscall.SIGTERM)
		if strings.Contains(s.log.String(), "DATA RACE") {
			t.Errorf("toolscout has a data race:\n%s", s.log)
			return
		}
		if t.Failed() {
			t.Logf("log of toolscout ends with:\n%s", s.log.tail())
		}
	})
	return s
}

// stop signals the server and waits for its end.
func (s *instance) stop(sig syscall.Signal) {
	s.t.Helper()
	_ = s.cmd.Process.Signal(sig) // it may be gone already
	select {
	case <-s.exited:
	case <-time.After(60 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.exited
		s.t.Errorf("toolscout did not end within a minute of %s", sig)
	}
}

// cleanEnv is our environment without any setting of Toolscout.
func cleanEnv() []string {
	var out []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "TOOLSCOUT_") && !strings.HasPrefix(kv, "DATABASE_URL=") {
			out = append(out, kv)
		}
	}
	return out
}

// logFile is where a server logs to: a file of its own, whose writing costs the
// test nothing.
type logFile struct{ *os.File }

func newLog(t testing.TB) logFile {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return logFile{f}
}

// url is where the server listens, "" while it does not.
func (l logFile) url() string {
	for text := range strings.Lines(l.String()) {
		var line struct{ Msg, Addr string }
		if json.Unmarshal([]byte(text), &line) == nil && line.Msg == "listening" {
			return "http://" + line.Addr
		}
	}
	return ""
}

func (l logFile) String() string {
	raw, err := os.ReadFile(l.Name())
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// tail is the last lines of the log.
func (l logFile) tail() string {
	const most = 40
	lines := strings.SplitAfter(l.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "")
}

// request is one call of the REST API; it returns status and body.
func (s *instance) request(method, path, token string, body any) (int, []byte) {
	s.t.Helper()
	status, raw, err := send(context.Background(), method, s.url+path, token, body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return status, raw
}

func send(ctx context.Context, method, url, token string, body any) (int, []byte, error) {
	return sendBy(ctx, http.DefaultClient, method, url, token, body)
}

func sendBy(ctx context.Context, client *http.Client, method, url, token string, body any) (int, []byte, error) {
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		in = bytes.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			return 0, nil, err
		}
		in = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, in)
	if err != nil {
		return 0, nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return res.StatusCode, raw, err
}

// must is request for what has to work; the answer is decoded into out, if any.
func (s *instance) must(method, path, token string, body, out any) {
	s.t.Helper()
	status, raw := s.request(method, path, token, body)
	if status >= 300 {
		s.t.Fatalf("%s %s: %d %s", method, path, status, raw)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(raw, out); err != nil {
		s.t.Fatalf("%s %s: %v in %s", method, path, err, raw)
	}
}

// user adds a user and returns their id and a token.
func (s *instance) user(name string, roles ...string) (id, token string) {
	s.t.Helper()
	var u struct{ ID string }
	s.must("POST", "/v1/admin/users", adminToken, map[string]any{"name": name, "roles": append([]string{}, roles...)}, &u)
	var tok struct{ Token string }
	s.must("POST", "/v1/admin/users/"+u.ID+"/tokens", adminToken, map[string]any{"name": "test"}, &tok)
	return u.ID, tok.Token
}

// registered is what the API says of a server.
type registered struct {
	ID, Name  string
	ToolCount int
	Health    struct{ State, Stage, Message string }
}

// register adds a server and waits for its tools.
func (s *instance) register(config map[string]any) registered {
	s.t.Helper()
	var r registered
	s.must("POST", "/v1/admin/servers?wait=60s", adminToken, config, &r)
	return r
}

// node gives the command of an official MCP server, installed by npm.
func node(server string, args ...string) map[string]any {
	dir, err := filepath.Abs("node_modules/@modelcontextprotocol/" + server + "/dist/index.js")
	if err != nil {
		panic(err)
	}
	return map[string]any{"transport": "stdio", "command": "node", "args": append([]string{dir}, args...)}
}

// with adds fields to a configuration.
func with(config map[string]any, fields ...any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, config)
	for i := 0; i < len(fields); i += 2 {
		out[fields[i].(string)] = fields[i+1]
	}
	return out
}

// eventually waits until f holds; there is no clock in it but patience's.
func eventually(t testing.TB, what string, f func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, errors.Join(err, ctx.Err()))
		case <-tick.C:
		}
	}
}
