package integration_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkProxiedCall measures a call of a tool through the gateway beside the
// same call made directly, HTTP to HTTP with 2025-11-25 sessions, in turns of one
// run, at 1, 8 and 32 sessions. Client, gateway, database and server share the
// machine's cores. It reports, besides the time of a proxied call:
//
//	direct-p50-µs, proxied-p50-µs  medians over all calls
//	added-p50-µs                   their difference
//	throughput-%                   calls/s proxied of calls/s direct
func BenchmarkProxiedCall(b *testing.B) {
	upstream := echoServer(b, 0, 1)
	s := start(b, options{})
	if r := s.register(map[string]any{"name": "echo", "transport": "http", "url": upstream}); r.ToolCount != 1 {
		b.Fatalf("registered as %+v", r)
	}
	direct := &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hello"}}
	proxied := &mcp.CallToolParams{Name: "execute_tool", Arguments: map[string]any{"tool_id": s.toolID("echo"), "params": map[string]any{"text": "hello"}}}
	for _, sessions := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			there := openSessions(b, upstream, sessions)
			through := openSessions(b, s.url+"/mcp", sessions)
			compare(b, func(n int) []time.Duration { return calls(b, there, direct, n) },
				func(n int) []time.Duration { return calls(b, through, proxied, n) })
		})
	}
}

// compare runs both in turns, so that a machine whose speed drifts slows both.
func compare(b *testing.B, direct, proxied func(n int) []time.Duration) {
	const turns = 10
	direct(200)
	proxied(200)
	var d, p []time.Duration
	var dt, pt time.Duration
	n := max(b.N/turns, 100)
	b.ResetTimer()
	for range turns {
		b.StopTimer()
		began := time.Now()
		d = append(d, direct(n)...)
		dt += time.Since(began)
		b.StartTimer()
		began = time.Now()
		p = append(p, proxied(n)...)
		pt += time.Since(began)
	}
	b.StopTimer()
	dp, pp := micros(median(d)), micros(median(p))
	b.ReportMetric(dp, "direct-p50-µs")
	b.ReportMetric(pp, "proxied-p50-µs")
	b.ReportMetric(pp-dp, "added-p50-µs")
	b.ReportMetric(100*dt.Seconds()/pt.Seconds(), "throughput-%")
	b.ReportMetric(float64(len(p))/pt.Seconds(), "proxied/s")
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// calls makes n calls, spread over all sessions at once, and times each.
func calls(b *testing.B, sessions []*mcp.ClientSession, params *mcp.CallToolParams, n int) []time.Duration {
	b.Helper()
	took := make([]time.Duration, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for _, session := range sessions {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				began := time.Now()
				res, err := session.CallTool(context.Background(), params)
				took[i] = time.Since(began)
				if err != nil || res.IsError {
					b.Errorf("call: %v %+v", err, res)
					return
				}
			}
		})
	}
	wg.Wait()
	return took
}

// openSessions opens sessions; the token does no harm where none is asked for.
func openSessions(b *testing.B, url string, n int) []*mcp.ClientSession {
	b.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 2 * n
	client := &http.Client{Transport: bearerOver{adminToken, transport}}
	out := make([]*mcp.ClientSession, n)
	for i := range out {
		c := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
		session, err := c.Connect(b.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client},
			&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			b.Fatal(err)
		}
		out[i] = session
	}
	b.Cleanup(func() {
		for _, session := range out {
			session.Close()
		}
		transport.CloseIdleConnections()
	})
	return out
}

// bearerOver adds a token to requests over a transport of its own.
type bearerOver struct {
	token string
	base  http.RoundTripper
}

func (t bearerOver) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+t.token)
	return t.base.RoundTrip(r)
}

// echoServer builds and runs the server that is called, with made-up tools
// beside echo.
func echoServer(b *testing.B, tools, seed int) string {
	b.Helper()
	file := filepath.Join(b.TempDir(), "echoserver")
	if out, err := exec.Command("go", "build", "-o", file, "./echoserver").CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	port := freePort(b)
	return serve(b, exec.Command(file, "-http=127.0.0.1:"+port, fmt.Sprintf("-tools=%d", tools), fmt.Sprintf("-seed=%d", seed)), port)
}

// BenchmarkStart measures from exec to the listening log line, with a database
// that exists already in an embedded Postgres.
func BenchmarkStart(b *testing.B) {
	dir := sharedDir(b)
	first := start(b, options{database: "embedded", dataDir: dir})
	first.stop(syscall.SIGTERM)
	for b.Loop() {
		s := start(b, options{database: "embedded", dataDir: dir})
		b.StopTimer()
		s.stop(syscall.SIGTERM)
		b.StartTimer()
	}
}

// BenchmarkMemory reports the resident memory of a server with 10,000 tools and
// 100 sessions, after each session has searched.
func BenchmarkMemory(b *testing.B) {
	s := start(b, options{})
	const servers = 10
	for i := range servers {
		r := s.register(map[string]any{"name": fmt.Sprintf("many-%d", i), "url": echoServer(b, 999, i), "transport": "http", "prefix": fmt.Sprintf("s%d_", i)})
		if r.ToolCount != 1000 {
			b.Fatalf("registered as %+v", r)
		}
	}
	sessions := openSessions(b, s.url+"/mcp", 100)
	params := &mcp.CallToolParams{Name: "discover_tools", Arguments: map[string]any{"query": "create an issue in a repository"}}
	for b.Loop() {
		calls(b, sessions, params, 1000)
	}
	b.ReportMetric(residentMB(b, s.cmd.Process.Pid), "resident-MB")
}

// residentMB is the memory of a process that is in RAM, in 10⁶ bytes.
func residentMB(b *testing.B, pid int) float64 {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var kB float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kB); err == nil {
			return kB * 1024 / 1e6
		}
	}
	b.Fatal("no VmRSS")
	return 0
}

// sharedDir is a folder that the user whom Postgres runs as can reach too.
func sharedDir(b *testing.B) string {
	b.Helper()
	dir, err := os.MkdirTemp("", "toolscout-bench")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	return dir
}
