package gateway

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookbook"
	"github.com/toolscout/toolscout/core/schema"
)

// A user's own hooks, which act on the calls of that user alone.

// The members of a hook that a user can set, and their types. Whether the values
// are right is hookbook's to say.
const hookMembers = `"name":{"type":"string"},"type":{"type":"string"},"userId":{"type":["string","null"]},"serverId":{"type":["string","null"]},` +
	`"level":{"type":["string","null"]},"events":{"type":["array","null"],"items":{"type":"string"}},"pattern":{"type":["string","null"]},` +
	`"servers":{"type":["array","null"],"items":{"type":"string"}},"agents":{"type":["array","null"],"items":{"type":"string"}},` +
	`"mode":{"type":["string","null"]},"onError":{"type":["string","null"]},"priority":{"type":["integer","null"]},` +
	`"timeout":{"type":["string","null"]},"enabled":{"type":["boolean","null"]},"config":{"type":["object","null"]}`

var (
	hookPageInput   = json.RawMessage(`{"type":"object","properties":{` + pageInput + `},"additionalProperties":false}`)
	hookIDInput     = json.RawMessage(`{"type":"object","properties":{"hook_id":{"type":"string"}},"required":["hook_id"],"additionalProperties":false}`)
	createHookInput = json.RawMessage(`{"type":"object","properties":{` + hookMembers + `},"required":["name","type"],"additionalProperties":false}`)
	updateHookInput = json.RawMessage(`{"type":"object","properties":{"hook_id":{"type":"string"},` + hookMembers +
		`},"required":["hook_id"],"additionalProperties":false}`)
)

// own is on whose behalf a task edits hooks.
func (t task) own() *hookbook.Own {
	return &hookbook.Own{Principal: t.request.Principal, Sees: func(id string) bool { _, sees := t.view.Server(id); return sees }}
}

func (g *Gateway) book() (*hookbook.Book, error) {
	if g.config.Book == nil {
		return nil, core.Errorf(core.Unavailable, "hooks cannot be configured here")
	}
	return g.config.Book, nil
}

func (g *Gateway) listHooks(ctx context.Context, t task) (json.RawMessage, error) {
	args, err := read[paging](t.outer.Args)
	if err != nil {
		return nil, err
	}
	book, err := g.book()
	if err != nil {
		return nil, err
	}
	list, err := book.Mine(ctx, t.request.Principal, args.page())
	if err != nil {
		return nil, err
	}
	return core.EncodeJSON(list)
}

func (g *Gateway) hookTypes(_ context.Context, t task) (json.RawMessage, error) {
	book, err := g.book()
	if err != nil {
		return nil, err
	}
	return core.EncodeJSON(core.List[hookbook.Type]{Items: book.Types()})
}

func (g *Gateway) getHook(ctx context.Context, t task) (json.RawMessage, error) {
	return g.onHook(t, func(book *hookbook.Book, id string, _ hookbook.Patch) (any, error) {
		return book.Hook(ctx, t.request.Principal, t.own(), id)
	})
}

// createHook, updateHook and deleteHook write their audit rows with the change.
func (g *Gateway) createHook(ctx context.Context, t task) (json.RawMessage, error) {
	by := t.request.Entry(core.LevelConfig, CreateHook)
	return g.onHook(t, func(book *hookbook.Book, _ string, p hookbook.Patch) (any, error) {
		return book.Create(ctx, &by, t.own(), p)
	})
}

func (g *Gateway) updateHook(ctx context.Context, t task) (json.RawMessage, error) {
	by := t.request.Entry(core.LevelConfig, UpdateHook)
	return g.onHook(t, func(book *hookbook.Book, id string, p hookbook.Patch) (any, error) {
		return book.Update(ctx, &by, t.own(), id, p)
	})
}

func (g *Gateway) deleteHook(ctx context.Context, t task) (json.RawMessage, error) {
	by := t.request.Entry(core.LevelConfig, DeleteHook)
	return g.onHook(t, func(book *hookbook.Book, id string, _ hookbook.Patch) (any, error) {
		return struct{}{}, book.Delete(ctx, &by, t.own(), id)
	})
}

// onHook reads what is to be done to which hook, and writes down what came of it.
func (g *Gateway) onHook(t task, do func(book *hookbook.Book, id string, p hookbook.Patch) (any, error)) (json.RawMessage, error) {
	book, err := g.book()
	if err != nil {
		return nil, err
	}
	patch, err := read[hookbook.Patch](t.outer.Args)
	if err != nil {
		return nil, err
	}
	if _, given := patch["config"]; given {
		if patch["config"], err = t.config(); err != nil {
			return nil, err
		}
	}
	var id string
	if raw, given := patch["hook_id"]; given {
		if err := json.Unmarshal(raw, &id); err != nil {
			return nil, err
		}
		delete(patch, "hook_id")
	}
	out, err := do(book, id, patch)
	if err != nil {
		return nil, err
	}
	return core.EncodeJSON(out)
}

// config is a hook's configuration as the caller gave it.
func (t task) config() (json.RawMessage, error) {
	if _, faults := schema.DecodeObject(t.Call.Args); len(faults) > 0 {
		return nil, invalid(t.Action, faults, nil)
	}
	given, err := read[map[string]json.RawMessage](t.Call.Args)
	return given["config"], err
}

// withoutConfig is the arguments of an edit of a hook as chains see them, and
// whatever they leave behind: the configuration may hold secrets, and they are
// nobody's but the hook's.
func withoutConfig(args json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(args, &members) != nil || !bytes.HasPrefix(bytes.TrimSpace(members["config"]), []byte("{")) {
		return args
	}
	members["config"] = json.RawMessage("{}")
	open, err := core.EncodeJSON(members)
	if err != nil {
		return json.RawMessage("{}")
	}
	return open
}
