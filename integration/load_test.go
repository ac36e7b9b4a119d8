package integration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// tally counts what clients have done, to be held against the audit.
type tally struct {
	calls, real, refused atomic.Int64
}

// did counts a call. A real one came to a server, whatever became of it there.
func (c *tally) did(o outcome, tool string) {
	c.calls.Add(1)
	switch {
	case o.Kind != "" && !strings.Contains(o.Message, "may have run"):
		c.refused.Add(1)
	case tool == "execute_tool":
		c.real.Add(1)
	}
}

// TestLoad lets 32 clients of both generations loose on one gateway, while a server
// comes, is switched and goes. Every answer is right or a clear refusal, the audit
// has each call once, and afterwards nothing is left running.
func TestLoad(t *testing.T) {
	t.Parallel()
	const clients, rounds = 32, 12
	s := start(t, options{})
	stay := with(testserver(t, "stay"), "domain", "steady")
	s.register(stay)
	s.register(with(newRemote(t, "far").config, "domain", "steady"))
	s.register(with(testserver(t, "mine", "-tools", "echo,pid"), "domain", "steady", "isolation", "user"))
	var tokens []string
	for i := range 4 {
		_, token := s.user(fmt.Sprintf("user%d", i))
		tokens = append(tokens, token)
	}
	descriptors := s.descriptors(t)

	var count tally
	var pids sync.Map // of the servers that belong to a user, by user
	stop, churned := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(churned)
		churn(t, s, tokens[0], &count, stop)
	}()
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			protocol := []string{"", legacy}[i%2]
			session := join(t, s, caller{token: tokens[i/2%4]}, protocol)
			defer session.Close()
			c := &loadClient{t: t, way: viaMCP(session), count: &count, id: i}
			for round := range rounds {
				c.round(round)
			}
			pid := c.call("execute_tool", map[string]any{"tool_id": "mine_pid", "params": map[string]any{}})
			if other, seen := pids.LoadOrStore(i/2%4, pid.Text); seen && other != pid.Text {
				t.Errorf("two sessions of one user have the processes %s and %s", other, pid.Text)
			}
		})
	}
	all.Wait()
	close(stop)
	<-churned

	own := map[any]bool{}
	pids.Range(func(_, pid any) bool { own[pid] = true; return true })
	if len(own) != 4 {
		t.Errorf("4 users share %d processes of a server that is not to be shared", len(own))
	}
	s.checkAudit(t, int(count.calls.Load()), int(count.real.Load()))
	t.Logf("%d calls, %d of them real, %d refused", count.calls.Load(), count.real.Load(), count.refused.Load())
	eventually(t, "come to rest", func() error {
		// One shared child, one for each user, and the one that listed that server.
		if n := len(s.children(t)); n < 5 || n > 6 {
			return fmt.Errorf("%d children run", n)
		}
		// The database's connections may be more than they were.
		if n := s.descriptors(t); n > descriptors+40 {
			return fmt.Errorf("%d files are open, %d were before", n, descriptors)
		}
		return nil
	})
}

// descriptors is how many files and connections the server has open.
func (s *instance) descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

// loadClient is one of many.
type loadClient struct {
	t     *testing.T
	way   way
	count *tally
	id    int
}

func (c *loadClient) call(tool string, args map[string]any) outcome {
	c.t.Helper()
	o, err := c.way(tool, args)
	if err != nil {
		c.t.Errorf("client %d, %s %v: %v", c.id, tool, args, err)
	}
	c.count.did(o, tool)
	return o
}

// round uses every meta-tool, in an order of its own.
func (c *loadClient) round(n int) {
	c.t.Helper()
	steps := []func(int){c.discover, c.describe, c.execute, c.browse, c.useWhatComesAndGoes}
	for i := range steps {
		steps[(i+c.id+n)%len(steps)](n)
	}
}

func (c *loadClient) discover(int) {
	o := c.call("discover_tools", map[string]any{"query": "answers with the arguments it was given", "top_k": 50})
	names := o.listing(c.t).names()
	for _, want := range []string{"far_echo", "mine_echo", "stay_echo"} {
		if !slices.Contains(names, want) {
			c.t.Errorf("client %d found %v, not %s", c.id, names, want)
		}
	}
}

func (c *loadClient) describe(int) {
	o := c.call("get_tool_schema", map[string]any{"tool_id": "stay_echo"})
	if !strings.Contains(string(o.Body), `"serverName":"stay"`) {
		c.t.Errorf("client %d: the schema is %v", c.id, o)
	}
}

func (c *loadClient) execute(n int) {
	for i, tool := range []string{"stay_echo", "far_echo", "mine_echo"} {
		c.checkEcho(c.echo(tool, n*10+i), n*10+i)
	}
}

// echo has a tool repeat what only this call says.
func (c *loadClient) echo(tool string, n int) outcome {
	return c.call("execute_tool", map[string]any{"tool_id": tool, "params": map[string]any{"client": c.id, "n": n}})
}

func (c *loadClient) checkEcho(o outcome, n int) {
	c.t.Helper()
	var said struct{ Client, N int }
	if err := json.Unmarshal(o.Body, &said); err != nil || said.Client != c.id || said.N != n {
		c.t.Errorf("client %d said %d, and got %v", c.id, n, o)
	}
}

func (c *loadClient) browse(int) {
	if got := c.call("browse_tool_domain", map[string]any{"domain_id": "steady"}).listing(c.t).names(); len(got) != 4 {
		c.t.Errorf("client %d: the domain holds %v", c.id, got)
	}
	for _, d := range c.call("list_tool_domains", nil).listing(c.t).Domains {
		if d.ID == "steady" && d.ToolCount != 4 || d.ID == "moving" && d.ToolCount != 1 {
			c.t.Errorf("client %d: the domain %s holds %d tools", c.id, d.ID, d.ToolCount)
		}
	}
}

// useWhatComesAndGoes gets the right answer, or is told why not.
func (c *loadClient) useWhatComesAndGoes(n int) {
	switch o := c.echo("moving_echo", n); o.Kind {
	case "":
		c.checkEcho(o, n)
	case "not_found", "denied", "unavailable":
	case "upstream_error":
		if !strings.Contains(o.Message, "may have run") {
			c.t.Errorf("client %d: %v", c.id, o)
		}
	default:
		c.t.Errorf("client %d: %v", c.id, o)
	}
}

// churn registers a server, switches it and removes it, again and again.
func churn(t *testing.T, s *instance, token string, count *tally, stop <-chan struct{}) {
	config := with(testserver(t, "moving"), "domain", "moving")
	must := func(method, path, token string, body any, status int) []byte {
		got, raw := s.request(method, path, token, body)
		if got != status {
			t.Errorf("%s %s: %d %s", method, path, got, raw)
		}
		return raw
	}
	for {
		var r registered
		if err := json.Unmarshal(must("POST", "/v1/admin/servers?wait=60s", adminToken, config, http.StatusCreated), &r); err != nil {
			t.Errorf("register: %v", err)
			return
		}
		must("PUT", "/v1/servers/"+r.ID+"/preference", token, map[string]any{"enabled": false}, http.StatusOK)
		must("PUT", "/v1/servers/"+r.ID+"/preference", token, map[string]any{"enabled": true}, http.StatusOK)
		must("PATCH", "/v1/admin/servers/"+r.ID, adminToken, map[string]any{"timeout": "20s"}, http.StatusOK)
		before := count.calls.Load()
		eventually(t, "be used", func() error {
			select {
			case <-stop:
				return nil
			default:
			}
			if n := count.calls.Load() - before; n < 50 {
				return fmt.Errorf("%d calls since the server came", n)
			}
			return nil
		})
		must("DELETE", "/v1/admin/servers/"+r.ID, adminToken, nil, http.StatusNoContent)
		select {
		case <-stop:
			return
		default:
		}
	}
}
