package evaluate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/access"
	"github.com/toolscout/toolscout/core/gateway"
	"github.com/toolscout/toolscout/core/tokens"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/audit"
)

// Result is what a set came to.
type Result struct {
	Set     string `json:"set"`
	Model   string `json:"model,omitempty"`
	Tools   int    `json:"tools,omitempty"` // of the set; 0 where a server was asked
	Queries int    `json:"queries"`
	Scores
	P50 float64 `json:"p50Ms"`
	P99 float64 `json:"p99Ms"`
	// Tokens is what an answer costs a language model, on average; 0 where no
	// answers were seen.
	Tokens float64 `json:"tokens,omitempty"`
	// Against is the difference to another run, where there is one.
	Against *Comparison `json:"against,omitempty"`

	// Ranked are the ids found for each query, in the order of the set, and Each
	// what they were worth.
	Ranked [][]string `json:"-"`
	Each   []Scores   `json:"-"`
}

// progressEvery is how often long work says how far it is.
const progressEvery = 5 * time.Second

// Finding is what one query was answered.
type Finding struct {
	IDs    []string
	Took   time.Duration
	Tokens int
}

// NewFinding is one whose answer a client got as JSON.
func NewFinding(answer []byte, took time.Duration) Finding {
	return Finding{Took: took, Tokens: tokens.Estimate(string(answer))}
}

// Ask puts each query of a set to find, and scores what comes.
func Ask(ctx context.Context, set Set, say func(string), find func(context.Context, Query) (Finding, error)) (Result, error) {
	result := Result{Set: set.Name, Tools: len(set.Tools), Queries: len(set.Queries)}
	var took []time.Duration
	told, cost := time.Now(), 0
	for i, q := range set.Queries {
		found, err := find(ctx, q)
		if err != nil {
			return Result{}, fmt.Errorf("search for query %s of %s: %w", q.ID, set.Name, err)
		}
		result.Ranked = append(result.Ranked, found.IDs)
		result.Each = append(result.Each, Score(q, found.IDs))
		took = append(took, found.Took)
		cost += found.Tokens
		if say != nil && time.Since(told) > progressEvery {
			told = time.Now()
			say(fmt.Sprintf("%s: %d of %d queries", set.Name, i+1, len(set.Queries)))
		}
	}
	result.Scores = Mean(result.Each)
	result.P50, result.P99 = Percentile(took, .5), Percentile(took, .99)
	result.Tokens = float64(cost) / float64(max(1, len(set.Queries)))
	return result, nil
}

// Run registers a set, asks each of its queries of discover_tools and takes the set
// away again. K is how many tools each search is asked for, at most 50; 10 are
// enough for every score but MRR.
func (r *Rig) Run(ctx context.Context, set Set, k int) (Result, error) {
	catalog, err := r.Fill(ctx, set.Tools)
	if err != nil {
		return Result{}, fmt.Errorf("register %s: %w", set.Name, err)
	}
	result, err := r.ask(ctx, catalog, set, k)
	if err != nil {
		return Result{}, err
	}
	return result, r.Drop(ctx, catalog)
}

// ask asks each query of a set of discover_tools.
func (r *Rig) ask(ctx context.Context, catalog *Catalog, set Set, k int) (Result, error) {
	c, err := r.caller(ctx)
	if err != nil {
		return Result{}, err
	}
	defer c.close()
	result, err := Ask(ctx, set, r.Progress, func(ctx context.Context, q Query) (Finding, error) {
		return c.discover(ctx, catalog, q.Text, k)
	})
	result.Model = r.Embedder.Name()
	return result, err
}

// caller is somebody who may use every tool, at the gateway's door.
type caller struct {
	gateway *gateway.Gateway
	request core.Request
	writer  *audit.Writer
	runner  *hooks.Runner
}

// caller makes one who knows of the catalog as it is now. Close it.
func (r *Rig) caller(ctx context.Context) (*caller, error) {
	user, err := r.user(ctx)
	if err != nil {
		return nil, fmt.Errorf("make a caller: %w", err)
	}
	_, catalog, err := r.Store.AllServers(ctx)
	if err != nil {
		return nil, err
	}
	c := &caller{runner: hooks.NewRunner(hooks.Config{}),
		writer: audit.NewWriter(audit.Config{Append: func(context.Context, []core.AuditEntry, []core.UsageEntry) error { return nil }})}
	c.request = core.Request{ID: "evaluation", Principal: core.Principal{TenantID: core.DefaultTenant, UserID: user.ID, UserName: user.Name,
		Seen: core.Revisions{Catalog: catalog}}}
	// Without a pool: discovery never touches an upstream.
	c.gateway = gateway.New(gateway.Config{Store: r.Store, Access: access.New(access.Config{Store: r.Store}), Search: r.Engine,
		Audit: c.writer, Runner: c.runner})
	return c, nil
}

const userName = "evaluation"

func (r *Rig) user(ctx context.Context) (core.User, error) {
	users, err := r.Store.Users(ctx, core.DefaultTenant, core.Page{Limit: core.MaxLimit})
	if err != nil {
		return core.User{}, err
	}
	if i := slices.IndexFunc(users.Items, func(u core.User) bool { return u.Name == userName }); i >= 0 {
		return users.Items[i], nil
	}
	return r.Store.CreateUser(ctx, entry("user.create"), core.User{Name: userName})
}

func (c *caller) close() {
	// Neither holds anything that could be lost.
	_ = c.runner.Close(context.Background())
	_ = c.writer.Close(context.Background())
}

// call uses a meta-tool, and gives the answer as a client gets it.
func (c *caller) call(ctx context.Context, action string, args any) (json.RawMessage, error) {
	raw, err := core.EncodeJSON(args)
	if err != nil {
		return nil, err
	}
	return c.gateway.Call(ctx, c.request, gateway.Call{Action: action, Args: raw})
}

func (c *caller) discover(ctx context.Context, catalog *Catalog, query string, k int) (Finding, error) {
	start := time.Now()
	raw, err := c.call(ctx, gateway.DiscoverTools, map[string]any{"query": query, "top_k": k})
	took := time.Since(start)
	if err != nil {
		return Finding{}, err
	}
	var answer gateway.Discovery
	if err := json.Unmarshal(raw, &answer); err != nil {
		return Finding{}, err
	}
	if answer.Degraded != "" {
		return Finding{}, fmt.Errorf("it was answered without %s", answer.Degraded)
	}
	found := NewFinding(raw, took)
	for _, t := range answer.Tools {
		found.IDs = append(found.IDs, cmp.Or(catalog.Origins[t.ID], t.ID))
	}
	return found, nil
}

// Percentile gives the duration, in milliseconds, below which a share p of all
// lies; 0 for none.
func Percentile(all []time.Duration, p float64) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	at := min(int(p*float64(len(sorted))), len(sorted)-1)
	return float64(sorted[at].Microseconds()) / 1000
}
