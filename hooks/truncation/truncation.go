// Package truncation is the hook response_truncation: it shortens results that are
// too long for a model, says in their place what is missing, and keeps the whole
// for who wants to read on.
//
// What is kept is the result as this hook met it, with what hooks further in made of
// it: nobody reads past a redaction. It is kept only when the call is over, and only
// if the caller got what this hook left: a hook further out that withholds the
// result, or changes it, has the last word on the whole as well. The id is random
// and stands nowhere but in what was delivered.
package truncation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/schema"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/result"
)

// Type makes the type response_truncation, which keeps whole results in store.
func Type(store *postgres.Store) hooks.Type {
	schemas := &schema.Cache{}
	return hooks.Type{
		Name: "response_truncation",
		Description: "Shortens results that are too long, by bytes and by estimated tokens, with a marker that says what is missing. " +
			"JSON stays JSON. The rest can be read for a while, as an MCP resource and at /v1/results.",
		Events: []hooks.Event{hooks.ToolAfter, hooks.MetaAfter},
		Level:  hooks.Tool, OnError: hooks.Ignore, Priority: 400, Inline: true,
		Schema: settings,
		New: func(i hooks.Instance) (hooks.Hook, error) {
			c, err := readConfig(i.Config)
			if err != nil {
				return nil, err
			}
			return &truncation{config: c, store: store, schemas: schemas}, nil
		},
	}
}

// truncation is one configured hook.
type truncation struct {
	config
	store   *postgres.Store
	schemas *schema.Cache
}

// Before does nothing.
func (*truncation) Before(context.Context, *hooks.Call) error { return nil }

// After shortens the result.
func (t *truncation) After(_ context.Context, c *hooks.Call) error {
	if c.Err != nil || len(c.Result) <= t.harmless || c.Action != "execute_tool" {
		return nil
	}
	r, err := result.Parse(c.Result)
	if err != nil {
		return err
	}
	cut := cutting{config: t.config, Result: r, link: t.link(c), valid: t.valid(c.Tool)}
	cut.run()
	whole, left := c.Result, r.Bytes()
	if len(left) == len(whole) && &left[0] == &whole[0] {
		return nil // nothing was too long
	}
	c.Result = left
	c.Note("bytes", len(whole))
	c.Note("bytesLeft", len(left))
	c.SetMeta("truncated", cut.meta(len(whole)))
	if cut.id != "" {
		t.keepAtEnd(c, cut.id, whole)
	}
	return nil
}

// valid tells structured content that a tool's output schema allows. Of a schema that
// cannot be used nobody knows.
func (t *truncation) valid(tool *core.Tool) func(json.RawMessage) bool {
	return func(content json.RawMessage) bool {
		if tool == nil || len(tool.OutputSchema) == 0 {
			return true
		}
		in, faults := schema.Decode(content)
		if len(faults) > 0 {
			return false
		}
		faults, unchecked := t.schemas.Of(tool.SchemaHash, tool.OutputSchema).Check(in)
		return len(faults) == 0 && unchecked == ""
	}
}

// link says where the rest of a call's result will be.
func (t *truncation) link(c *hooks.Call) link {
	switch {
	case !t.Store:
		return link{why: "the rest was not kept"}
	case len(c.Result) > postgres.MaxResult:
		return link{why: fmt.Sprintf("the rest is not kept: the result is larger than %d MiB", postgres.MaxResult>>20)}
	case c.Server == nil:
		return link{why: "the rest was not kept"}
	}
	return link{id: postgres.NewResultID(), until: time.Now().Add(t.ttl)}
}

// meta is what programs learn of a shortened result, as toolscout/truncated.
type meta struct {
	OfBytes int    `json:"ofBytes"`
	Rest    string `json:"rest,omitempty"`
	URL     string `json:"url,omitempty"`
	Until   string `json:"until,omitempty"`
	// StructuredContent is "shortened" or "left out".
	StructuredContent string `json:"structuredContent,omitempty"`
}

func (c *cutting) meta(size int) meta {
	m := meta{OfBytes: size, StructuredContent: c.structured}
	if c.id != "" {
		m.Rest, m.URL, m.Until = uri(c.id, ""), path(c.id, ""), c.deadline()
	}
	return m
}

// keepTimeout bounds the keeping of a result: the answer waits for it.
const keepTimeout = 5 * time.Second

// lineage is a truncation of a chain that may have several, each of which shortens
// what the one before left: that it changed that is no reason to doubt the one before.
// It is made anew by each, so that one that does not count, in observe mode say,
// leaves no trace in the others.
type lineage struct {
	left   []byte
	before *lineage
	// delivered, known only at the end of the call: what the caller got comes from it.
	delivered bool
}

type lineageKey struct{}

// keepAtEnd keeps the whole result, of which the call's is what is left, if that is
// what the caller gets.
func (t *truncation) keepAtEnd(c *hooks.Call, id string, whole []byte) {
	line := &lineage{left: c.Result}
	if before, ok := c.Value(lineageKey{}).(*lineage); ok && bytes.Equal(before.left, whole) {
		line.before = before
	}
	c.SetValue(lineageKey{}, line)
	kept := postgres.Result{ID: id, TenantID: c.Principal.TenantID, UserID: c.Principal.UserID, Agent: c.Principal.Agent,
		ServerID: c.Server.ID, PageBytes: t.PageSize, Body: whole}
	c.AtEnd(func(ctx context.Context, c *hooks.Call) {
		if c.Err != nil || c.Result == nil {
			return
		}
		if !line.delivered && !bytes.Equal(c.Result, line.left) {
			c.Warn("the rest of the result is not kept: a hook further out changed what was left of it")
			return
		}
		if line.before != nil {
			line.before.delivered = true // its turn comes later
		}
		ctx, cancel := context.WithTimeout(ctx, keepTimeout)
		defer cancel()
		if err := t.store.SaveResult(ctx, kept, t.ttl); err != nil {
			c.Warn("the rest of the result could not be kept: " + core.Public(err).Message)
		}
	})
}
