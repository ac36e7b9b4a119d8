package search

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/embeddings"
)

// pageSize is about how many changes are read at once.
const pageSize = 2000

// refreshTimeout bounds a refresh that nobody waits for, or it could hold up those that
// somebody does.
const refreshTimeout = time.Minute

// Heard says that the catalog has come to a revision: Run brings the word index up to
// it. With math.MaxInt64 it looks whatever there is, as after notices were missed, and
// sees a database that went back as well.
func (e *Engine) Heard(revision int64) {
	e.mu.Lock()
	e.heard = max(e.heard, revision)
	e.mu.Unlock()
	select {
	case e.news <- struct{}{}:
	default:
	}
}

// Run keeps the word index as new as what was Heard, until ctx ends: no search has to
// wait for it, and nobody who passes on notices.
func (e *Engine) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.news:
		}
		e.mu.Lock()
		revision := e.heard
		e.heard = 0
		e.mu.Unlock()
		if err := e.refreshSoon(ctx, revision); err != nil && ctx.Err() == nil {
			e.config.Logger.Warn("refresh the word index", "error", err)
		}
	}
}

func (e *Engine) refreshSoon(ctx context.Context, revision int64) error {
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	return e.Refresh(ctx, revision)
}

// Refresh brings the word index up to a catalog revision at least; the first time
// it reads everything. It is called by Search, and may be called before, so that
// no search has to wait. One caller does the work while others wait for it;
// searches that know enough of the servers they ask for go on meanwhile.
func (e *Engine) Refresh(ctx context.Context, atLeast int64) error {
	if x := e.index.Load(); x != nil && x.revision >= atLeast {
		return nil // without a turn
	}
	return e.config.Pace.Do(ctx, func() error {
		_, err := e.fresh(ctx, atLeast, nil)
		return err
	})
}

// fresh gives an index that is new enough for a search of these servers; of all,
// where none are named.
func (e *Engine) fresh(ctx context.Context, atLeast int64, servers []string) (*index, error) {
	x := e.index.Load()
	if x != nil && (x.revision >= atLeast || e.enough(ctx, x, servers)) {
		return x, nil
	}
	select {
	case e.refreshing <- struct{}{}:
		defer func() { <-e.refreshing }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the word index: %w", ctx.Err())
	}
	x = e.index.Load()
	if x != nil && x.revision >= atLeast {
		return x, nil // somebody else did it
	}
	x, err := e.follow(ctx, x, atLeast)
	if err != nil {
		return nil, err
	}
	e.index.Store(x)
	return x, nil
}

// enough reports whether an index that is behind has all there is of some servers. So
// while a thousand servers are registered, searches of others neither wait for each nor
// bring the index up to date themselves.
func (e *Engine) enough(ctx context.Context, x *index, servers []string) bool {
	if len(servers) == 0 {
		return false
	}
	changed, err := e.config.Store.Changed(ctx, x.revision, servers)
	return err == nil && !changed
}

// follow applies the changes since an index, nil for none, until it knows of a
// revision at least. Who starts from nothing reads on until there is no more: up to
// any revision before the last, tools are missing that changed again since.
// Otherwise reading on could go on for ever while servers are registered one after
// the other.
func (e *Engine) follow(ctx context.Context, x *index, atLeast int64) (*index, error) {
	whole := x == nil
	if whole {
		x = newIndex()
	}
	stems := &stemmer{stop: e.stop, seen: make(map[string]string)}
	for {
		changes, upTo, err := e.config.Store.ToolChanges(ctx, x.revision, pageSize)
		if err != nil {
			return nil, fmt.Errorf("changes of tools since revision %d: %w", x.revision, err)
		}
		switch {
		case upTo == x.revision:
			return x, nil
		case upTo < x.revision: // the database went back: a backup was restored
			x, whole = newIndex(), true
			continue
		}
		documents, err := documents(changes)
		if err != nil {
			return nil, err
		}
		x = x.apply(documents, upTo, stems)
		if !whole && upTo >= atLeast {
			return x, nil
		}
	}
}

func documents(changes []postgres.ToolText) ([]document, error) {
	list := make([]document, len(changes))
	for i, c := range changes {
		id, err := uuid.Parse(c.ID)
		if err != nil {
			return nil, fmt.Errorf("id of tool %q: %w", c.ID, err)
		}
		list[i] = document{id: id, removed: c.Removed, server: c.ServerID, domain: c.Domain,
			tool: embeddings.Describe(c.Tool, c.ServerName)}
	}
	return list, nil
}
