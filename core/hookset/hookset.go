// Package hookset holds the hooks that somebody configured, wherever that was: in
// the file, in the database, or in scripts that lie in a folder. It judges
// definitions, makes hooks of them, keeps them as new as their sources, and hands
// every call one consistent set.
//
// A hook whose definition did not change keeps its value, and with it what it
// remembers, when others around it come and go. One that left is closed once the
// last call that uses it has ended.
package hookset

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/singleflight"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/hooks"
)

// Config holds what a Set is made of. Only Types is needed.
type Config struct {
	// Store has the hooks of the database; without one there are none.
	Store *postgres.Store
	Types []hooks.Type
	// Open unseals a secret of a hook in the database.
	Open func(sealed string) (string, error)
	// Lookup gives what ${NAME} stands for.
	Lookup func(name string) (string, bool)
	// Publish makes an event known; PublishSync returns when it is stored, and is
	// Publish unless said.
	Publish, PublishSync func(context.Context, core.Event) error
	// Runner says what the Set's own Runner may use. Its Logger and OnDisable are
	// the Set's.
	Runner hooks.Config
	Logger *slog.Logger
}

// Set is all configured hooks. It is safe for concurrent use.
type Set struct {
	config Config
	log    *slog.Logger
	types  []hooks.Type
	kinds  map[string]*kind
	runner *hooks.Runner
	flight singleflight.Group
	tasks  sync.WaitGroup // what ends by itself: hooks that are closed or disabled
	// current is what calls go by.
	current atomic.Pointer[snapshot]
	poke    chan struct{} // wakes the watcher: the folders are others

	// reading is held while files are read; mu, taken after it, while a snapshot is
	// made.
	reading sync.Mutex
	mu      sync.Mutex
	closed  bool
	file    File
	sources map[string]*source // by path
	own     []ready            // of the file and of scripts
	rows    rows
}

// ready is a definition of the file or of a script with its hook, of which the Set
// has a use.
type ready struct {
	definition hooks.Definition
	live       *live
}

// rows are the definitions in the database as of one revision.
type rows struct {
	definitions []hooks.Definition
	revision    int64
}

// New makes a Set without any hook. It fails when a type's schema does not compile
// or a name occurs twice.
func New(c Config) (*Set, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Open == nil {
		c.Open = func(string) (string, error) { return "", errors.New("there is no key for secrets") }
	}
	if c.Lookup == nil {
		c.Lookup = func(string) (string, bool) { return "", false }
	}
	if c.Publish == nil {
		c.Publish = func(context.Context, core.Event) error { return nil }
	}
	if c.PublishSync == nil {
		c.PublishSync = c.Publish
	}
	s := &Set{config: c, log: c.Logger, types: slices.Clone(c.Types), kinds: map[string]*kind{},
		poke: make(chan struct{}, 1), sources: map[string]*source{}, rows: rows{revision: -1}}
	for _, t := range c.Types {
		k, err := newKind(t)
		if err != nil {
			return nil, fmt.Errorf("hook type %q: %w", t.Name, err)
		}
		if s.kinds[t.Name] != nil {
			return nil, fmt.Errorf("there are two hook types %q", t.Name)
		}
		s.kinds[t.Name] = k
	}
	if c.Store == nil {
		s.rows.revision = forever
	}
	c.Runner.Logger, c.Runner.OnDisable = c.Logger, s.disabled
	s.runner = hooks.NewRunner(c.Runner)
	s.current.Store(newSnapshot(nil, s.rows.revision))
	return s, nil
}

// Runner is what sends calls through chains of this Set's hooks, and owns what
// they do in the background.
func (s *Set) Runner() *hooks.Runner { return s.runner }

// Types gives the types that can be configured, in the order they were given.
func (s *Set) Types() []hooks.Type { return slices.Clone(s.types) }

// Type gives a type by its name.
func (s *Set) Type(name string) (hooks.Type, bool) {
	k := s.kinds[name]
	if k == nil {
		return hooks.Type{}, false
	}
	return k.Type, true
}

// Open reports whether users may have hooks of this type of their own: whether the
// configuration file opens it.
func (s *Set) Open(typ string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kinds[typ] != nil && slices.Contains(s.file.OpenToUsers, typ)
}

// Close ends the hooks, after the last call: first those in the background. When
// ctx ends first, it says what was not done.
func (s *Set) Close(ctx context.Context) error {
	err := s.runner.Close(ctx)
	s.retire()
	idle := make(chan struct{})
	go func() { s.tasks.Wait(); close(idle) }()
	select {
	case <-idle:
		return err
	case <-ctx.Done():
		return errors.Join(err, fmt.Errorf("close hooks: %w", ctx.Err()))
	}
}

// retire lets go of all hooks. Calls under way keep theirs.
func (s *Set) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	s.current.Swap(newSnapshot(nil, s.current.Load().revision)).release()
	for _, r := range s.own {
		r.live.release()
	}
	s.own = nil
}
