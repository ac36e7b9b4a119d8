package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/embeddings"
)

// prober is a model whose dimensions must be asked for.
type prober interface {
	Probe(ctx context.Context) error
}

// follow makes the model that is chosen the one to index with.
func (x *Indexer) follow(ctx context.Context) error {
	if x.choose == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	chosen, err := x.choose(ctx)
	if err != nil {
		return fmt.Errorf("ask which model to index with: %w", err)
	}
	x.mu.Lock()
	building, served := x.index.building, x.served
	x.mu.Unlock()
	if fullName(chosen) == x.embedder.Name() || building { // its end wakes us
		return nil
	}
	e := served.embedder
	if served.err != nil || fullName(served.model) != fullName(chosen) {
		if e, err = x.remake(ctx, chosen); err != nil {
			return err
		}
	}
	x.move(func() {
		x.embedder, x.target, x.switched, x.index = e, core.Model{}, false, vectorIndex{}
	})
	return nil
}

// prepare puts the configured model on record; the first model there is becomes
// the active one at once.
func (x *Indexer) prepare(ctx context.Context) (core.Model, error) {
	if x.target.ID != 0 { // written by this goroutine alone
		return x.target, nil
	}
	if p, ok := x.embedder.(prober); ok {
		if err := p.Probe(ctx); err != nil {
			return core.Model{}, fmt.Errorf("probe %s: %w", x.embedder.Name(), err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	provider, name := split(x.embedder.Name())
	target, err := x.store.EnsureModel(ctx, provider, name, x.embedder.Dimensions())
	if err != nil {
		return core.Model{}, err
	}
	if errors.Is(x.servedError(), errNoModel) {
		if err := x.store.ActivateModel(ctx, target.ID); err != nil {
			return core.Model{}, err
		}
	}
	x.move(func() { x.target = target })
	return target, nil
}

// errNoModel is why nothing is served while no model is active.
var errNoModel = errors.New("no model is active")

func (x *Indexer) servedError() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.served.err
}

// refresh learns which model is active: another instance may have switched.
func (x *Indexer) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	models, err := x.store.Models(ctx)
	if err != nil {
		return fmt.Errorf("read the models: %w", err)
	}
	next := served{err: core.Errorf(core.Unavailable, "there is no embedding model yet").Because(errNoModel)}
	for _, m := range models {
		if m.Active {
			next = served{model: m}
		}
	}
	x.mu.Lock()
	now := x.served
	x.mu.Unlock()
	if next.err == nil {
		if now.err == nil && now.model.ID == next.model.ID {
			if now.model.Weight != next.model.Weight {
				x.move(func() { x.served.model = next.model })
			}
			return nil // with what it remembers
		}
		next.embedder, next.err = x.serve(ctx, next.model)
	}
	x.move(func() {
		x.served = next
		x.switched = x.switched || next.model.ID != 0 && next.model.ID == x.target.ID
	})
	return nil
}

// serve makes the embedder of an active model.
func (x *Indexer) serve(ctx context.Context, m core.Model) (e embeddings.Embedder, err error) {
	e = x.embedder
	if provider, name := split(e.Name()); m.Provider != provider || m.Name != name {
		if e, err = x.remake(ctx, m); err != nil {
			return nil, err
		}
	}
	if _, ok := e.(prober); ok {
		return embeddings.Cached(e, queryCache), nil
	}
	return e, nil
}

// vectorIndex is the state of the index over the target's vectors.
type vectorIndex struct {
	building bool
	upToDate bool // what was there when it was last looked at is in it
}

// finish has the index of vectors built that are complete, and then makes the
// model the active one. It does so once: where two instances are configured
// differently, the one that started last wins, and they do not switch to and fro.
func (x *Indexer) finish(ctx context.Context, target core.Model, saved int) error {
	x.mu.Lock()
	if saved > 0 {
		x.index.upToDate = false
	}
	build, ready := !x.index.upToDate && !x.index.building, x.index.upToDate
	x.index.building = x.index.building || build
	done := x.switched || x.served.model.ID == target.ID
	x.mu.Unlock()
	if build {
		x.building.Go(func() { x.build(ctx, target) })
	}
	if !done && !ready {
		return nil // build calls again
	}
	if !done {
		asking, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		if err := x.store.ActivateModel(asking, target.ID); err != nil {
			return fmt.Errorf("activate %s: %w", fullName(target), err)
		}
		x.log.Info("embedding model switched", "model", fullName(target))
		if err := x.refresh(ctx); err != nil {
			return err
		}
	}
	x.move(func() { x.switched = true })
	return nil
}

// calm is how long no vector must have been saved for the index of vectors to be
// built, and mostCalm how long that is waited for.
const calm, mostCalm = 5 * time.Second, 5 * time.Minute

// build makes the index of vectors, where it pays. That can take minutes, in
// which new tools go on being indexed.
func (x *Indexer) build(ctx context.Context, target core.Model) {
	x.settle(ctx, target)
	err := x.store.BuildVectorIndex(ctx, target.ID)
	if err != nil && ctx.Err() == nil {
		x.log.Warn("index of vectors not built", "model", fullName(target), "error", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.index = vectorIndex{upToDate: err == nil}
	if err == nil {
		nudge(x.wake) // to switch to it, or to another that was chosen meanwhile
	}
}

// settle waits while tools come in by the thousand: into an index that is there,
// each vector takes twenty times as long. A switch of models does not wait.
func (x *Indexer) settle(ctx context.Context, target core.Model) {
	for end := time.Now().Add(mostCalm); ; {
		x.mu.Lock()
		wait := min(time.Until(x.saved.Add(calm)), time.Until(end))
		serves := x.served.model.ID == target.ID
		x.mu.Unlock()
		if wait <= 0 || !serves {
			return
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// split takes an embedder's name apart into provider and model.
func split(name string) (provider, model string) {
	provider, model, ok := strings.Cut(name, "/")
	if !ok {
		return name, name
	}
	return provider, model
}

func fullName(m core.Model) string { return m.Provider + "/" + m.Name }
