package schema

import (
	"encoding/json"
	"sync"
)

// Cache holds compiled schemas. The zero Cache is empty, and it is safe for
// concurrent use.
type Cache struct {
	mu     sync.RWMutex
	byHash map[string]*Schema
}

// maxSchemas bounds the compiled schemas: some 10 KB each.
const maxSchemas = 2000

// Of gives a schema compiled. hash stands for what is compiled; "" for what is not
// to be remembered.
func (c *Cache) Of(hash string, raw json.RawMessage) *Schema {
	c.mu.RLock()
	s := c.byHash[hash]
	c.mu.RUnlock()
	if s != nil {
		return s
	}
	s = Compile(raw)
	if hash == "" {
		return s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byHash == nil {
		c.byHash = map[string]*Schema{}
	}
	for other := range c.byHash {
		if len(c.byHash) < maxSchemas {
			break
		}
		delete(c.byHash, other)
	}
	c.byHash[hash] = s
	return s
}
