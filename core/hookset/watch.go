package hookset

import (
	"bytes"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

const (
	// settle is how long nothing must happen to a folder before it is read: an
	// editor writes a file in several steps.
	settle = 50 * time.Millisecond
	// busy is how long a folder in which something happens all the time goes unread.
	busy = 500 * time.Millisecond
	// again is when a file is looked for that was there a moment ago.
	again = 250 * time.Millisecond
	// poll is when folders are read for which there was no notification: one that
	// did not exist, or lies on a network.
	poll = time.Second
)

// Run follows the scripts until ctx ends: one that changes acts from the next call
// on, within a second. A script that is not valid any more goes on as it was, and
// the log, State and an event say so.
func (s *Set) Run(ctx context.Context) error {
	if err := s.Refresh(ctx); err != nil {
		s.log.Warn("read the hooks of the database", "err", err) // the next call tries again
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		s.log.Warn("changes of scripts are seen by looking every second", "err", err)
		w = &fsnotify.Watcher{}
	} else {
		defer w.Close()
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	var latest time.Time // when to look, whatever still happens
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.Errors: // what was missed, the next look sees
		case <-w.Events:
			if latest.IsZero() {
				latest = time.Now().Add(busy)
			}
			if left := time.Until(latest); left > 0 {
				timer.Reset(min(settle, left))
			}
		case <-s.poke:
			timer.Reset(0)
		case <-timer.C:
			latest = time.Time{}
			timer.Reset(s.follow(ctx, w))
		}
	}
}

func (s *Set) wake() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// follow looks once, and says when to look again.
func (s *Set) follow(ctx context.Context, w *fsnotify.Watcher) time.Duration {
	s.reading.Lock()
	defer s.reading.Unlock()
	s.mu.Lock()
	f := s.file
	s.mu.Unlock()
	s.watch(f, w)
	missing, err := s.renew(ctx, f)
	if err != nil {
		s.log.Warn("look for scripts", "err", err)
	}
	if missing {
		return again
	}
	return poll
}

// watch asks to be told of changes in the folders that there are. One that was
// there before costs nothing.
func (s *Set) watch(f File, w *fsnotify.Watcher) {
	if w.Events == nil {
		return
	}
	wanted := slices.Clone(f.DiscoveryPaths)
	for _, d := range f.Hooks {
		if path := s.scriptPath(d); path != "" {
			wanted = append(wanted, filepath.Dir(path))
		}
	}
	for _, folder := range w.WatchList() {
		if !slices.Contains(wanted, folder) {
			_ = w.Remove(folder) // it is gone, or nobody's any more
		}
	}
	for _, folder := range wanted {
		_ = w.Add(folder) // one that is not there yet is looked for at the next poll
	}
}

// renew takes over what changed, and reports whether a file is missing that may be
// about to come back.
func (s *Set) renew(ctx context.Context, f File) (missing bool, err error) {
	all, err := s.look(f)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	before := s.sources
	s.mu.Unlock()
	after := s.candidates(all)
	for _, src := range after {
		missing = missing || src.missing > 0
	}
	if maps.EqualFunc(before, after, sameSource) {
		return missing, nil
	}
	p := s.propose(f, after)
	if len(p.wrong) > 0 {
		// Only what changed can be wrong, and that has fallen back.
		p.drop(nil)
		return missing, p.wrong[0]
	}
	s.accept(p)
	s.report(ctx, before, p)
	return missing, nil
}

func sameSource(a, b *source) bool {
	return a.discovered == b.discovered && a.missing == b.missing && a.failure == b.failure &&
		bytes.Equal(a.newest, b.newest) && bytes.Equal(a.text, b.text) && (a.text == nil) == (b.text == nil)
}

// report says which scripts act in a new version, and which do not.
func (s *Set) report(ctx context.Context, before map[string]*source, p *proposal) {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	for path, src := range p.sources {
		old := before[path]
		switch {
		case src.failure != "" && (old == nil || old.failure != src.failure || !bytes.Equal(old.newest, src.newest)):
			s.log.Warn("a script is not used as it is now", "file", path, "err", src.failure)
			s.reloaded(ctx, p, src, map[string]any{"ok": false, "error": src.failure})
		case src.failure == "" && (old == nil || old.failure != "" || !bytes.Equal(old.text, src.text)):
			s.log.Info("a script was read", "file", path)
			s.reloaded(ctx, p, src, map[string]any{"ok": true})
		}
	}
	for path, old := range before {
		if p.sources[path] == nil {
			s.log.Info("a script is gone", "file", path)
			s.reloaded(ctx, p, old, map[string]any{"ok": true, "removed": true})
		}
	}
}

// reloaded publishes what became of the hooks of a script.
func (s *Set) reloaded(ctx context.Context, p *proposal, src *source, what map[string]any) {
	var of []hooks.Definition
	for _, r := range p.own {
		if r.definition.Origin.Where == src.path || s.scriptPath(r.definition) == src.path {
			of = append(of, r.definition)
		}
	}
	if len(of) == 0 {
		of = append(of, src.outline())
	}
	for _, d := range of {
		members := maps.Clone(what)
		members["id"], members["file"] = d.ID, src.path
		if d.Version != 0 {
			members["version"] = d.Version
		}
		s.announce(ctx, core.Event{Time: time.Now(), Type: core.EventHookReloaded, Subject: d.Name, TenantID: core.DefaultTenant, Data: data(members)})
	}
}
