package script

import (
	"errors"
	"fmt"
	"sync"
	"time"

	startime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

const (
	mostCached   = 1000
	cacheBytes   = 8 << 20
	longestTTL   = 24 * time.Hour
	longestCache = 4 << 10 // of a key
)

// cache is what one script remembers, in this process, until it is edited or the
// process ends. Values are JSON, so that no run shares anything with another.
type cache struct {
	mu      sync.Mutex
	entries map[string]cached
	bytes   int
}

type cached struct {
	text    []byte
	expires time.Time
}

func (c *cache) get(key string, now time.Time) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok || !now.Before(e.expires) {
		c.remove(key)
		return nil
	}
	return e.text
}

// put stores a value; what expires first makes room.
func (c *cache) put(key string, e cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
	for len(c.entries) >= mostCached || c.bytes+len(key)+len(e.text) > cacheBytes && len(c.entries) > 0 {
		c.remove(c.soonest())
	}
	if c.entries == nil {
		c.entries = map[string]cached{}
	}
	c.entries[key] = e
	c.bytes += len(key) + len(e.text)
}

// remove needs the mutex, as does soonest.
func (c *cache) remove(key string) {
	if e, ok := c.entries[key]; ok {
		c.bytes -= len(key) + len(e.text)
		delete(c.entries, key)
	}
}

func (c *cache) soonest() string {
	var first string
	var when time.Time
	for key, e := range c.entries {
		if when.IsZero() || e.expires.Before(when) {
			first, when = key, e.expires
		}
	}
	return first
}

func cacheModule() *starlarkstruct.Module {
	return module("cache", map[string]builtin{"get": cacheGet, "put": cachePut})
}

// key is a user's own unless it is shared: what one user was answered is nothing
// that another may see.
func (r *run) key(v starlark.Value, shared bool) (string, error) {
	text, err := r.encode("the key", v)
	if err != nil {
		return "", err
	}
	if len(text) > longestCache {
		return "", fmt.Errorf("the key is larger than %d bytes", longestCache)
	}
	whose := "all"
	if !shared {
		if r.call == nil {
			return "", errors.New("outside calls there is no user: say shared=True")
		}
		whose = "user:" + r.call.Principal.TenantID + "/" + r.call.Principal.UserID
	}
	return whose + "\x00" + string(text), nil
}

func cacheGet(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var key, fallback starlark.Value = nil, starlark.None
	shared := false
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "key", &key, "default?", &fallback, "shared?", &shared); err != nil {
		return nil, err
	}
	r := current(t)
	k, err := r.key(key, shared)
	if err != nil {
		return nil, fmt.Errorf("cache.get: %w", err)
	}
	text := r.hook.cache.get(k, r.hook.now())
	if text == nil {
		return fallback, nil
	}
	return r.decode("the cached value", text)
}

func cachePut(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var key, value, ttl starlark.Value
	shared := false
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "key", &key, "value", &value, "ttl", &ttl, "shared?", &shared); err != nil {
		return nil, err
	}
	r := current(t)
	if r.hook.program == nil {
		return nil, errors.New("cache.put: only while a call or an event is handled")
	}
	k, err := r.key(key, shared)
	if err != nil {
		return nil, fmt.Errorf("cache.put: %w", err)
	}
	d, err := duration(ttl)
	if err != nil {
		return nil, fmt.Errorf("cache.put: %w", err)
	}
	text, err := r.encode("the value", value)
	if err != nil {
		return nil, fmt.Errorf("cache.put: %w", err)
	}
	if len(text) > cacheBytes/2 {
		return nil, fmt.Errorf("cache.put: the value is larger than %s", bytesText(cacheBytes/2))
	}
	r.hook.cache.put(k, cached{append([]byte(nil), text...), r.hook.now().Add(d)})
	return starlark.None, nil
}

// duration reads how long a value is kept: seconds, "1m30s" or a duration.
func duration(v starlark.Value) (time.Duration, error) {
	var d time.Duration
	switch v := v.(type) {
	case startime.Duration:
		d = time.Duration(v)
	case starlark.String:
		var err error
		if d, err = time.ParseDuration(string(v)); err != nil {
			return 0, fmt.Errorf("ttl: %.40q is no duration", string(v))
		}
	default:
		seconds, ok := starlark.AsFloat(v)
		if !ok {
			return 0, fmt.Errorf("ttl: a %s, want seconds, a text like \"1m30s\" or a duration", v.Type())
		}
		d = time.Duration(min(seconds, longestTTL.Seconds()+1) * float64(time.Second))
	}
	if d <= 0 || d > longestTTL {
		return 0, fmt.Errorf("ttl: want more than 0 and at most %v", longestTTL)
	}
	return d, nil
}
