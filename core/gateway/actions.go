package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/schema"
)

// The actions. The first five are the meta-tools; the others are what REST offers
// beside them.
const (
	DiscoverTools    = "discover_tools"
	GetToolSchema    = "get_tool_schema"
	ExecuteTool      = "execute_tool"
	ListToolDomains  = "list_tool_domains"
	BrowseToolDomain = "browse_tool_domain"

	ListServers   = "list_servers"   // {query?, limit?, cursor?} gives a list of Server
	ServerTools   = "server_tools"   // {server_id, limit?, cursor?} gives a list of Tool
	ListTools     = "list_tools"     // {query?, domain?, server?, trial?, limit?, cursor?} gives a list of Tool
	SetPreference = "set_preference" // {server_id, enabled} gives the Server
	StreamEvents  = "stream_events"  // {types?, pattern?, after?}: see Gateway.Events
	ReadResult    = "read_result"    // {id, cursor?} gives a ResultPage

	ListHooks  = "list_hooks"  // {limit?, cursor?} gives a list of the caller's hookbook.Hook
	HookTypes  = "hook_types"  // {} gives a list of hookbook.Type
	GetHook    = "get_hook"    // {hook_id} gives the hookbook.Hook
	CreateHook = "create_hook" // its members give the hookbook.Hook
	UpdateHook = "update_hook" // {hook_id, …} and the members to change give the hookbook.Hook
	DeleteHook = "delete_hook" // {hook_id}
)

// action is one thing that a caller can do.
type action struct {
	name string
	// input is the JSON Schema of the arguments.
	input    json.RawMessage
	compiled *schema.Schema
	// slow actions set their deadline themselves.
	slow bool
	// ofTool actions are about the tool in tool_id.
	ofTool bool
	// config marks a change of configuration.
	config bool
	// aboutHooks actions do not go through the caller's own hooks: whoever made one
	// that refuses everything can still take it back.
	aboutHooks bool
	// private actions have an argument config that chains do not see.
	private bool
	run     func(context.Context, task) (json.RawMessage, error)
}

// actionTable is all that a caller can do.
func (g *Gateway) actionTable() map[string]action {
	table := map[string]action{}
	for _, a := range []action{
		{name: DiscoverTools, input: discoverInput, run: g.discover},
		{name: GetToolSchema, input: toolIDInput, run: g.toolSchema, ofTool: true},
		{name: ExecuteTool, input: executeInput, run: g.execute, ofTool: true, slow: true},
		{name: ListToolDomains, input: nothingInput, run: g.listDomains},
		{name: BrowseToolDomain, input: browseInput, run: g.browse},
		{name: ListServers, input: listServersInput, run: g.listServers},
		{name: ServerTools, input: serverToolsInput, run: g.serverTools},
		{name: ListTools, input: listToolsInput, run: g.listTools},
		{name: StreamEvents, input: streamInput, run: g.openStream},
		{name: SetPreference, input: preferenceInput, run: g.setPreference, config: true},
		{name: ReadResult, input: readResultInput, run: g.readResult},
		{name: ListHooks, input: hookPageInput, run: g.listHooks, aboutHooks: true},
		{name: HookTypes, input: nothingInput, run: g.hookTypes, aboutHooks: true},
		{name: GetHook, input: hookIDInput, run: g.getHook, aboutHooks: true},
		{name: CreateHook, input: createHookInput, run: g.createHook, aboutHooks: true, config: true, private: true},
		{name: UpdateHook, input: updateHookInput, run: g.updateHook, aboutHooks: true, config: true, private: true},
		{name: DeleteHook, input: hookIDInput, run: g.deleteHook, aboutHooks: true, config: true},
	} {
		a.compiled = schema.Compile(a.input)
		if why := a.compiled.Unusable(); why != "" {
			panic(fmt.Sprintf("input schema of %s: %s", a.name, why))
		}
		table[a.name] = a
	}
	return table
}

// unknown is what an action that does not exist does.
func (g *Gateway) unknown(_ context.Context, t task) (json.RawMessage, error) {
	return nil, core.Errorf(core.NotFound, "there is no tool %q", clip(t.Action, 100)).
		WithHint("this gateway has %s, %s, %s, %s and %s", DiscoverTools, GetToolSchema, ExecuteTool, ListToolDomains, BrowseToolDomain)
}

// checkArgs holds arguments against the action's own schema: InvalidParams with
// every fault.
func (a action) checkArgs(args json.RawMessage) error {
	if a.compiled == nil {
		return nil
	}
	in, faults := schema.DecodeObject(args)
	if len(faults) == 0 {
		faults, _ = a.compiled.Check(in)
	}
	if len(faults) == 0 {
		return nil
	}
	return invalid(a.name, faults, a.input)
}

// invalid is the refusal of arguments. The message names the first faults, for
// those who read no further.
func invalid(name string, faults []core.Fault, input json.RawMessage) *core.Error {
	var b bytes.Buffer
	for i, f := range faults[:min(len(faults), 3)] {
		if i > 0 {
			b.WriteString("; ")
		}
		if f.Pointer != "" {
			b.WriteString(f.Pointer + " ")
		}
		b.WriteString(f.Message)
	}
	if more := len(faults) - 3; more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	e := core.Errorf(core.InvalidParams, "the arguments of %s are not valid: %s", name, b.String())
	e.Faults, e.InputSchema = faults, input
	return e
}

// read decodes arguments that were checked against their schema.
func read[T any](args json.RawMessage) (T, error) {
	var v T
	err := json.Unmarshal(args, &v)
	return v, err
}

// integer is a small whole number however it is written: to a schema 5.0 and 5e0
// are integers too, and some clients write all numbers so.
type integer int

// UnmarshalJSON reads a number that the schema has found to be whole and in range.
func (n *integer) UnmarshalJSON(literal []byte) error {
	var f float64
	err := json.Unmarshal(literal, &f)
	*n = integer(f)
	return err
}
