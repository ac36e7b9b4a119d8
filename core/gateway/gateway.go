// Package gateway is the one choke point: all that a caller can do goes through
// Gateway.Call, whichever transport it came in by.
//
// The outer chain wraps every action. execute_tool wraps its real call in the
// inner chain once more:
//
//	Call ─▶ outer chain ─▶ action ─▶ resolve ─▶ inner chain ─▶ validate ─▶ upstream
//
// Both chains begin with audit and access control, which no configuration can
// take away.
package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/access"
	"github.com/toolscout/toolscout/core/events"
	"github.com/toolscout/toolscout/core/hookbook"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/schema"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/core/upstream"
	"github.com/toolscout/toolscout/hooks"
	hookaccess "github.com/toolscout/toolscout/hooks/access"
	"github.com/toolscout/toolscout/hooks/audit"
)

// Config holds what a Gateway is made of. Hooks, Relist and Logger may be nil.
type Config struct {
	Store  *postgres.Store
	Access *access.Registry
	Search *search.Engine
	Pool   *upstream.Pool
	Audit  *audit.Writer
	Runner *hooks.Runner
	// Hooks are the configured ones; nil: there are none. Audit and access control
	// are added to them, always.
	Hooks *hookset.Set
	// Book has the hooks that users configure for themselves; nil: none can.
	Book *hookbook.Book
	// Events, if set, are told of calls and streamed.
	Events *events.Bus
	// Relist is told of a server that does not know a tool of ours.
	Relist func(serverID string)
	// PerPrincipal is how many calls of one user run at once (64); more wait.
	PerPrincipal int
	// Timeout bounds a call where its server says nothing (30 s).
	Timeout time.Duration
	Logger  *slog.Logger
}

// Gateway carries out what callers ask for. It is safe for concurrent use.
type Gateway struct {
	config  Config
	always  []hooks.Entry
	actions map[string]action
	limits  *limiter
	streams *streams
	tools   *toolCache
	schemas schema.Cache
}

// New makes a Gateway.
func New(c Config) *Gateway {
	if c.PerPrincipal <= 0 {
		c.PerPrincipal = 64
	}
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	g := &Gateway{config: c, limits: newLimiter(c.PerPrincipal), streams: &streams{open: map[string]int{}},
		tools: newToolCache(c.Store)}
	g.always = []hooks.Entry{audit.New(c.Audit), hookaccess.New(c.Access.Access)}
	g.actions = g.actionTable()
	return g
}

// Call is one use of an action.
type Call struct {
	// Action is a meta-tool, or one of the actions that REST has beside them.
	Action string
	// Via is core.LevelMeta for MCP and core.LevelHTTP for REST.
	Via string
	// Args is a JSON object; empty means {}.
	Args json.RawMessage
	// SessionID is the caller's session, "" without one.
	SessionID string
	// Progress, if set, hears how a real call comes along.
	Progress func(upstream.Progress)

	stream *EventStream // that stream_events opens
}

// Call carries out an action for a principal. It gives the action's result as
// JSON: for execute_tool a CallToolResult, for list actions {items, nextCursor},
// for the other meta-tools what their output schema says. Errors are *core.Error
// or become one by core.Public.
func (g *Gateway) Call(ctx context.Context, req core.Request, c Call) (json.RawMessage, error) {
	act, known := g.actions[c.Action]
	if !known {
		act = action{run: g.unknown}
	}
	call := g.outer(req, &c)
	configured := g.configured(ctx, req.Principal)
	defer configured.Release()
	var how executed
	t := task{Call: c, request: req, outer: call, configured: configured, executed: &how}
	if err := g.foresee(ctx, act, t); err != nil {
		configured.err = cmp.Or(configured.err, err)
	}
	ended := g.announce(ctx, call, true)
	err := g.through(ctx, configured, call, func(ctx context.Context, _ *hooks.Call) error { return g.serve(ctx, act, t) })
	ended()
	call.End(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	if c.Action == ExecuteTool {
		return how.stamp(call.Result, call)
	}
	return call.Result, nil
}

// outer is a call as the outer chain sees it.
func (g *Gateway) outer(req core.Request, c *Call) *hooks.Call {
	c.Via = cmp.Or(c.Via, core.LevelMeta)
	act, args := g.actions[c.Action], orEmpty(c.Args)
	if act.config {
		c.Via = core.LevelConfig
	}
	if act.private {
		args = withoutConfig(args)
	}
	return &hooks.Call{RequestID: req.ID, Level: hooks.Meta, Via: c.Via, Action: c.Action, Principal: req.Principal,
		Original: args, Args: args}
}

// configured is what hooks there are for a call, on both its levels, or why that is
// not known.
type configured struct {
	hookset.Entries
	err error
}

func (g *Gateway) configured(ctx context.Context, p core.Principal) configured {
	if g.config.Hooks == nil {
		return configured{}
	}
	entries, err := g.config.Hooks.Entries(ctx, p)
	return configured{entries, err}
}

// through sends a call through its chain, with next inside. Outermost are audit and
// access control, then comes what is configured, whatever its priority.
func (g *Gateway) through(ctx context.Context, hs configured, call *hooks.Call, next hooks.Next) error {
	if hs.err != nil {
		// Even then the call leaves its row, but goes no further.
		next = func(context.Context, *hooks.Call) error { return hs.err }
		audit.Conceal(call)
	}
	added := hs.Chain(call)
	if g.actions[call.Action].aboutHooks {
		added = slices.DeleteFunc(added, func(e *hooks.Entry) bool { return e.Owned })
	}
	chain := append(hooks.Compile(g.always, call), added...)
	audit.Heed(call, chain)
	return g.config.Runner.Run(ctx, chain, call, next)
}

// task is one action under way.
type task struct {
	Call
	request    core.Request
	outer      *hooks.Call
	view       *access.View
	configured configured
	// executed is filled in by execute_tool.
	executed *executed
}

// serve is the inside of the outer chain.
func (g *Gateway) serve(ctx context.Context, act action, t task) error {
	done, err := g.limits.enter(ctx, t.request.Principal.UserID, g.config.Timeout)
	if err != nil {
		return err
	}
	defer done()
	if !act.slow {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.config.Timeout)
		defer cancel()
	}
	if err := act.checkArgs(t.outer.Args); err != nil {
		return err
	}
	if t.view, err = g.config.Access.View(ctx, t.request.Principal); err != nil {
		return err
	}
	t.outer.Result, err = act.run(ctx, t)
	return err
}

func orEmpty(args json.RawMessage) json.RawMessage {
	if len(args) == 0 || string(args) == "null" {
		return json.RawMessage("{}")
	}
	return args
}
