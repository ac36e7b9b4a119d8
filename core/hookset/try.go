package hookset

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// Trial is one hook, to be tried on a call that was recorded or made up.
type Trial struct {
	Type   string          `json:"type"`
	Config json.RawMessage `json:"config,omitempty"`
	Call   TrialCall       `json:"call"`
	// TenantID and Origin are those of whoever tries.
	TenantID string       `json:"-"`
	Origin   hooks.Origin `json:"-"`
}

// TrialCall is a recorded call.
type TrialCall struct {
	Level   hooks.Level     `json:"level,omitempty"` // tool unless said
	Action  string          `json:"action,omitempty"`
	Tool    *TrialTool      `json:"tool,omitempty"`
	Server  *TrialServer    `json:"server,omitempty"`
	User    string          `json:"user,omitempty"`
	Roles   []string        `json:"roles,omitempty"`
	Agent   string          `json:"agent,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	IsError bool            `json:"isError,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// TrialTool is the tool of a recorded call.
type TrialTool struct {
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

// TrialServer is the server of a recorded call.
type TrialServer struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
}

// TrialResult is what a hook made of a call.
type TrialResult struct {
	Before TrialState `json:"before"`
	After  TrialState `json:"after"`
	// Effects, warnings and events are what it left besides.
	Effects  []hooks.Effect `json:"effects"`
	Warnings []string       `json:"warnings"`
	Events   []TrialEvent   `json:"events,omitempty"`
	// Rejected is with what it stopped the call, Failed how it failed itself: with the
	// cause, which those whose call it is are not told.
	Rejected   *Rejected `json:"rejected,omitempty"`
	Failed     string    `json:"failed,omitempty"`
	DurationMs float64   `json:"durationMs"`
}

// TrialState is a call as it stands.
type TrialState struct {
	Args   json.RawMessage `json:"args"`
	Result json.RawMessage `json:"result,omitempty"`
}

// TrialEvent is an event that a hook published.
type TrialEvent struct {
	Type    string          `json:"type"`
	Subject string          `json:"subject,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Rejected is a hook's reason to stop a call.
type Rejected struct {
	Kind    core.Kind `json:"kind"`
	Message string    `json:"message"`
}

// maxTrialEvents bounds what a trial collects.
const maxTrialEvents = 100

// trialEvents collects what a hook publishes while it is tried.
type trialEvents struct {
	mu   sync.Mutex
	list []TrialEvent
}

func (t *trialEvents) add(e core.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.list) >= maxTrialEvents {
		return core.Errorf(core.Unavailable, "a trial collects %d events at most", maxTrialEvents)
	}
	t.list = append(t.list, TrialEvent{Type: e.Type, Subject: e.Subject, Data: e.Data})
	return nil
}

func (t *trialEvents) all() []TrialEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]TrialEvent{}, t.list...)
}

// Try sends a recorded call through one hook, whose result is what the work gives.
// What the hook does outside (a request that it sends) it really does. InvalidParams when
// the hook or the call is not valid; the hook's own failure is part of the result.
func (s *Set) Try(ctx context.Context, t Trial) (TrialResult, error) {
	c, err := t.Call.call(t.TenantID)
	if err != nil {
		return TrialResult{}, err
	}
	in, err := s.tried(t)
	if err != nil {
		return TrialResult{}, err
	}
	defer in.discard()
	published := &trialEvents{}
	ctx = context.WithValue(ctx, trying{}, published)
	res := TrialResult{Before: TrialState{c.Args, t.Call.Result}}
	start := time.Now()
	err = s.runner.Run(ctx, hooks.Compile([]hooks.Entry{in.entry}, c), c, t.Call.work)
	res.DurationMs = float64(time.Since(start).Microseconds()) / 1000
	res.After = TrialState{c.Args, c.Result}
	res.Effects, res.Warnings, res.Events = append([]hooks.Effect{}, c.Effects...), append([]string{}, c.Warnings...), published.all()
	res.judge(c, err)
	return res, nil
}

// tried makes the hook of a trial.
func (s *Set) tried(t Trial) (*instance, error) {
	typ, _ := s.Type(t.Type)
	d := typ.Definition()
	d.ID, d.Name, d.Type, d.TenantID, d.Origin = "trial:"+t.Type, cmp.Or(t.Type, "trial"), t.Type, t.TenantID, t.Origin
	d.Level, d.OnError, d.Config = "", hooks.Fail, t.Config
	d, faults := s.complete(d)
	if len(faults) > 0 {
		return nil, invalid(faults)
	}
	text, faults := s.text(d, readFile)
	if len(faults) > 0 {
		return nil, invalid(faults)
	}
	l, faults := s.make(d, text)
	if len(faults) > 0 {
		return nil, invalid(faults)
	}
	in := newInstance(s.kinds[d.Type], d, l)
	in.entry.Inline = false // whatever it does, it does not hold us up
	return in, nil
}

// invalid is the refusal of a definition.
func invalid(faults []core.Fault) error {
	e := core.Errorf(core.InvalidParams, "the hook is not valid: %s", sentence(faults))
	e.Faults = faults
	return e
}

// call is the recorded call as a chain takes it.
func (t *TrialCall) call(tenantID string) (*hooks.Call, error) {
	level := cmp.Or(t.Level, hooks.Tool)
	if level != hooks.Tool && level != hooks.Meta {
		return nil, core.Errorf(core.InvalidParams, "the level of a call is tool or meta")
	}
	args := t.Args
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	c := &hooks.Call{RequestID: "trial", Level: level, Via: core.LevelMeta, Action: cmp.Or(t.Action, "execute_tool"), Original: args, Args: args,
		Principal: core.Principal{TenantID: tenantID, UserID: t.User, UserName: t.User, Roles: t.Roles, Agent: t.Agent}}
	if t.Server != nil || level == hooks.Tool {
		server := TrialServer{Name: "server"}
		if t.Server != nil {
			server = *t.Server
		}
		c.Server = &core.Server{ID: cmp.Or(server.ID, server.Name), Name: server.Name, TenantID: tenantID}
	}
	if t.Tool != nil || level == hooks.Tool {
		tool := TrialTool{Name: "tool"}
		if t.Tool != nil {
			tool = *t.Tool
		}
		c.Tool = &core.Tool{ID: cmp.Or(tool.ID, tool.Name), ServerID: c.Server.ID, Name: tool.Name, OriginName: tool.Name, Description: tool.Description,
			Annotations: tool.Annotations, InputSchema: tool.InputSchema, OutputSchema: tool.OutputSchema}
	}
	return c, nil
}

// work answers as the recorded call was answered.
func (t *TrialCall) work(_ context.Context, c *hooks.Call) error {
	c.Sent, c.IsError = c.Level == hooks.Tool, t.IsError
	if t.Error != "" {
		return core.Errorf(core.UpstreamError, "%s", t.Error)
	}
	c.Result = t.Result
	return nil
}

// judge says how the call ended.
func (r *TrialResult) judge(c *hooks.Call, err error) {
	for _, e := range c.Effects {
		switch e.Did {
		case "reject":
			told := core.Public(err)
			r.Rejected = &Rejected{told.Kind, e.Message}
		case "fail":
			r.Failed = e.Message
		}
	}
	if told := core.Public(err); r.Failed != "" && told.Message == r.Failed && told.Unwrap() != nil {
		r.Failed += ": " + told.Unwrap().Error()
	}
}
