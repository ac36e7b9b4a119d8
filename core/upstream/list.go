package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolscout/toolscout/core"
)

// Bounds of a listing. A server that exceeds them is listed as far as they go.
const (
	maxPages     = 1000
	maxItems     = 20_000
	maxListBytes = 64 << 20
)

// List asks a server for all that it offers. Definitions come as they were sent;
// what could not be listed, or was cut, is in the warnings. The error is a
// core.Error when the server cannot be reached or does not list its tools.
func (p *Pool) List(ctx context.Context, s *core.Server) (Listing, error) {
	t, f := p.resolve(s)
	srv := p.server(s.ID)
	if f != nil {
		srv.failed(f, f.text)
		return Listing{}, refuse(&target{name: s.Name}, f, false)
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.dialTimeout(t)+p.cfg.CallTimeout)
		defer cancel()
	}
	ctx, cancel := p.deadline(ctx, 0)
	defer cancel()
	listing, err := p.list(ctx, srv, t, Key{ServerID: t.id, Credential: t.credential, Isolation: isolation(s, Caller{})})
	if err != nil {
		return Listing{}, refuse(t, closing(ctx, err), false)
	}
	return listing, nil
}

// list tries a second session when the first turns out to be dead: to list twice
// does no harm.
func (p *Pool) list(ctx context.Context, srv *server, t *target, key Key) (Listing, error) {
	for again := true; ; again = false {
		s, err := p.acquire(ctx, key, t)
		if err != nil {
			return Listing{}, err
		}
		l, err := s.list(ctx)
		err = dead(err)
		p.settle(srv, s, nil, true, err)
		var f *fault
		if err == nil || !again || ctx.Err() != nil || !errors.As(err, &f) || !f.evict {
			return l, listFault(ctx, err)
		}
	}
}

// Test tries a configuration that is not saved, in a session of its own, which is
// closed afterwards.
func (p *Pool) Test(ctx context.Context, s *core.Server) TestResult {
	t, f := p.resolve(s)
	if f != nil {
		return TestResult{Stage: f.stage, Message: f.text}
	}
	t.id = "" // nobody is told of a trial
	ctx, cancel := p.deadline(ctx, p.dialTimeout(t))
	defer cancel()
	fail := func(stage string, err error) TestResult {
		f := asFault(stage, closing(ctx, err))
		return TestResult{Stage: f.stage, Message: t.mask.clean(f.text)}
	}
	sess, err := p.dial(ctx, t, s.Era)
	if err != nil {
		return fail(stageConnect, err)
	}
	defer sess.close()
	if !p.adopt(sess) {
		return fail(stageConnect, errClosed)
	}
	l, err := sess.list(ctx)
	if err != nil {
		return fail(stageList, inStage(stageList, listFault(ctx, err)))
	}
	return TestResult{OK: true, Name: l.Server.Name, Version: l.Server.Version, Protocol: l.Server.Protocol, ToolCount: len(l.Tools)}
}

// listFault says why a list failed.
func listFault(ctx context.Context, err error) error {
	var rpc *RPCError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &rpc):
		return faultf(stageList, "answered with error %d: %s", rpc.Code, rpc.Message).because(err)
	case ctx.Err() != nil:
		return faultf(stageList, "did not list its tools in time").because(err)
	}
	return err
}

// list reads all lists of a session.
func (s *session) list(ctx context.Context) (Listing, error) {
	l := Listing{Server: s.info}
	var err error
	if l.Tools, err = s.pages(ctx, "tools/list", "tools", &l); err != nil {
		var rpc *RPCError
		if s.caps.Tools != nil || !errors.As(err, &rpc) {
			return l, err
		}
		l.Warnings = append(l.Warnings, "the server offers no tools")
	}
	if s.caps.Resources != nil {
		l.Resources = s.optional(ctx, "resources/list", "resources", &l)
	}
	if s.caps.Prompts != nil {
		l.Prompts = s.optional(ctx, "prompts/list", "prompts", &l)
	}
	return l, nil
}

// optional reads a list that the server can be used without.
func (s *session) optional(ctx context.Context, method, key string, l *Listing) []json.RawMessage {
	items, err := s.pages(ctx, method, key, l)
	if err != nil {
		l.Warnings = append(l.Warnings, fmt.Sprintf("the server did not answer %s: %s", method, s.target.mask.clean(listFault(ctx, err).Error())))
	}
	return items
}

// pages reads the pages of a list, with a guard against lists that never end.
func (s *session) pages(ctx context.Context, method, key string, l *Listing) ([]json.RawMessage, error) {
	var items []json.RawMessage
	var cursor json.RawMessage
	seen := map[string]bool{}
	size := 0
	cut := func(why string) ([]json.RawMessage, error) {
		l.Warnings = append(l.Warnings, fmt.Sprintf("%s was cut after %d entries: %s", method, len(items), why))
		return items, nil
	}
	for range maxPages {
		page, next, err := s.page(ctx, method, key, cursor)
		if err != nil {
			return items, err
		}
		for _, item := range page {
			if size += len(item); size > maxListBytes || len(items) >= maxItems {
				return cut("it is too long")
			}
			items = append(items, item)
		}
		if next == nil {
			return items, nil
		}
		if seen[string(next)] {
			return cut("it repeats a cursor")
		}
		seen[string(next)] = true
		cursor = next
	}
	return cut("it has too many pages")
}

// page reads one page and the cursor of the next, nil at the end.
func (s *session) page(ctx context.Context, method, key string, cursor json.RawMessage) (items []json.RawMessage, next json.RawMessage, err error) {
	var fields []byte
	if cursor != nil {
		fields = bytes.Join([][]byte{[]byte(`"cursor":`), cursor, {','}}, nil)
	}
	x := &exchange{method: method}
	s.wire.add(x)
	x.params = withMeta(fields, s.meta, 0)
	raw, err := s.wire.request(ctx, x)
	if err != nil {
		return nil, nil, err
	}
	var result map[string]json.RawMessage
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, nil, faultf(stageList, "sent a list that cannot be read").because(err)
	}
	if list := result[key]; len(list) > 0 {
		if err := json.Unmarshal(list, &items); err != nil {
			return nil, nil, faultf(stageList, "sent a list that cannot be read").because(err)
		}
	}
	next = bytes.TrimSpace(result["nextCursor"])
	if len(next) == 0 || string(next) == "null" || string(next) == `""` {
		next = nil
	}
	return items, next, nil
}
