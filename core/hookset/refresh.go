package hookset

import (
	"context"
	"slices"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// loadTimeout bounds a refresh, which outlives the caller that started it because
// others wait for it too.
const loadTimeout = 10 * time.Second

// Entries are the hooks that a call goes by, on both its levels: what changes
// meanwhile is for the next call. The zero Entries are none. Release them after the
// call.
type Entries struct {
	snapshot *snapshot
	index    *index
}

// Entries gives the hooks for a principal's call, at least as new as the
// principal's knowledge of them: Unavailable when the database cannot be asked for
// newer ones.
func (s *Set) Entries(ctx context.Context, p core.Principal) (Entries, error) {
	n, err := s.hold(ctx, p.Seen.Hooks)
	if err != nil {
		return Entries{}, err
	}
	return Entries{n, n.of(p.TenantID)}, nil
}

// OfServers reports whether there are hooks for calls of some servers on the outer
// chain: whoever puts it together has to know the server then.
func (e Entries) OfServers() bool { return e.index != nil && e.index.ofServers }

// Chain gives the hooks that one call goes through, outermost first.
func (e Entries) Chain(c *hooks.Call) hooks.Chain {
	if e.index == nil {
		return nil
	}
	return e.index.chain(c)
}

// Release lets hooks that left meanwhile be closed.
func (e Entries) Release() {
	if e.snapshot != nil {
		e.snapshot.release()
	}
}

// hold takes a use of a snapshot that is new enough.
func (s *Set) hold(ctx context.Context, atLeast int64) (*snapshot, error) {
	// Whoever joins a load that began before its own revision was known asks once
	// more: the next load begins afterwards.
	for range 3 {
		for n := s.current.Load(); n.revision >= atLeast && n.revision >= 0; n = s.current.Load() {
			if n.hold() {
				return n, nil
			}
		}
		if err := s.load(ctx); err != nil {
			return nil, err
		}
	}
	return nil, core.Errorf(core.Unavailable, "the database is behind what was already seen of it")
}

// Refresh reads the hooks of the database, so that neither the next call nor an
// event outside calls has to wait for it.
func (s *Set) Refresh(ctx context.Context) error {
	if s.config.Store == nil {
		return nil
	}
	return s.load(ctx)
}

// load reads the rows, once for all who ask at the same time.
func (s *Set) load(ctx context.Context) error {
	done := s.flight.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		definitions, revision, err := s.config.Store.Hooks(ctx)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		// One load follows the other, so a lower revision is no older answer: the
		// database went back, as a backup was restored.
		if revision != s.rows.revision && !s.closed {
			s.rows = rows{definitions, revision}
			s.arrange()
		}
		return nil, nil
	})
	select {
	case res := <-done:
		return res.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// arrange makes a snapshot of what there is, and the current one of it. Callers
// hold the lock.
func (s *Set) arrange() {
	before := s.current.Load()
	all := make([]*instance, 0, len(s.own)+len(s.rows.definitions))
	for _, r := range s.own {
		all = append(all, newInstance(s.kinds[r.definition.Type], r.definition, r.live))
	}
	for _, d := range s.rows.definitions {
		in := s.row(before, d)
		in.closed = d.Owned && !slices.Contains(s.file.OpenToUsers, d.Type)
		all = append(all, in)
	}
	s.current.Store(newSnapshot(all, s.rows.revision))
	before.release()
}

// row makes a hook of a row, unless there is one. A row that is not valid becomes a
// hook that fails.
func (s *Set) row(before *snapshot, d hooks.Definition) *instance {
	k := s.kinds[d.Type]
	if in := before.byKey[d.ID]; in != nil && in.version == d.Version {
		return newInstance(k, d, in.live)
	}
	if !d.Enabled || !d.DisabledAt.IsZero() {
		return newInstance(k, d, &live{set: s, key: d.ID, version: d.Version})
	}
	l, faults := s.makeRow(k, d)
	if len(faults) > 0 {
		l = s.unusable(d, faults)
		s.log.Warn("a hook in the database cannot be used", "hook", d.Name, "hook_id", d.ID, "err", sentence(faults))
	}
	return newInstance(k, d, l)
}

func (s *Set) makeRow(k *kind, d hooks.Definition) (*live, []core.Fault) {
	d, faults := s.complete(d)
	if len(faults) > 0 {
		return nil, faults
	}
	if d, faults = s.open(k, d); len(faults) > 0 {
		return nil, faults
	}
	if _, faults = s.text(d, readFile); len(faults) > 0 {
		return nil, faults
	}
	return s.make(d, nil)
}
