package gateway

import (
	"context"
	"errors"
	"sync"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
)

// maxCached bounds what a cache holds, in entries and in bytes. When it is full
// any one entry goes.
const (
	maxCached      = 10_000
	maxCachedBytes = 16 << 20
)

// toolCache holds tools as of one revision of the catalog, by id and by name. A
// caller who knows of a later revision starts an empty one.
type toolCache struct {
	store *postgres.Store

	mu      sync.Mutex
	catalog int64
	byRef   map[string][]*core.Tool
	bytes   int
}

func newToolCache(s *postgres.Store) *toolCache {
	return &toolCache{store: s, catalog: -1}
}

// find gives the tool with this id, or all tools with this exposed name, none if
// there are none. They are shared and must not be changed.
func (c *toolCache) find(ctx context.Context, ref string, atLeast int64) ([]*core.Tool, error) {
	c.mu.Lock()
	catalog := c.at(atLeast)
	tools, known := c.byRef[ref]
	c.mu.Unlock()
	if known {
		return tools, nil
	}
	tools, err := c.load(ctx, ref)
	if err != nil || len(tools) == 0 {
		return nil, err
	}
	c.keep(ref, tools, catalog)
	return tools, nil
}

// byID gives those of these tools that there are.
func (c *toolCache) byID(ctx context.Context, ids []string, atLeast int64) (map[string]*core.Tool, error) {
	found := make(map[string]*core.Tool, len(ids))
	var missing []string
	c.mu.Lock()
	catalog := c.at(atLeast)
	for _, id := range ids {
		if tools := c.byRef[id]; len(tools) == 1 && tools[0].ID == id {
			found[id] = tools[0]
			continue
		}
		missing = append(missing, id)
	}
	c.mu.Unlock()
	if len(missing) == 0 {
		return found, nil
	}
	loaded, err := c.store.ToolsByID(ctx, missing)
	if err != nil {
		return nil, err
	}
	for id, t := range loaded {
		found[id] = &t
		c.keep(id, []*core.Tool{&t}, catalog)
	}
	return found, nil
}

// at brings the cache to a revision and gives the one it is at. It needs the mutex.
func (c *toolCache) at(least int64) int64 {
	if c.catalog < least || c.byRef == nil {
		c.catalog, c.byRef, c.bytes = max(c.catalog, least), map[string][]*core.Tool{}, 0
	}
	return c.catalog
}

func (c *toolCache) load(ctx context.Context, ref string) ([]*core.Tool, error) {
	t, err := c.store.Tool(ctx, ref)
	if err == nil {
		return []*core.Tool{&t}, nil
	}
	if !errors.Is(err, core.NotFound) {
		return nil, err
	}
	named, err := c.store.ToolsNamed(ctx, ref)
	if err != nil {
		return nil, err
	}
	tools := make([]*core.Tool, len(named))
	for i := range named {
		tools[i] = &named[i]
	}
	return tools, nil
}

// keep remembers tools that were read when the cache was at a revision.
func (c *toolCache) keep(ref string, tools []*core.Tool, catalog int64) {
	for _, t := range tools {
		t.Definition = nil // nobody asks for it here
	}
	size := sizeOf(tools)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.catalog != catalog || size > maxCachedBytes/4 {
		return
	}
	for other, dropped := range c.byRef {
		if len(c.byRef) < maxCached && c.bytes+size <= maxCachedBytes {
			break
		}
		delete(c.byRef, other)
		c.bytes -= sizeOf(dropped)
	}
	if _, known := c.byRef[ref]; !known {
		c.bytes += size
	}
	c.byRef[ref] = tools
}

// sizeOf is about how many bytes tools take.
func sizeOf(tools []*core.Tool) int {
	size := 0
	for _, t := range tools {
		size += len(t.Description) + len(t.InputSchema) + len(t.OutputSchema) + len(t.Annotations) + 500
	}
	return size
}
