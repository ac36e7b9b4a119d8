package embeddings

import (
	"container/list"
	"context"
	"sync"
)

// Cache remembers the vectors of the texts that were asked for last.
type Cache struct {
	inner Embedder
	size  int

	mu     sync.Mutex
	recent *list.List // of *cached, the latest first
	byText map[string]*list.Element
}

type cached struct {
	text   string
	vector []float32
}

// Cached puts a cache of n texts before a model that is slow to ask. The vectors
// it gives are shared: callers must not change them. Failures are not remembered.
func Cached(e Embedder, n int) *Cache {
	return &Cache{inner: e, size: max(n, 1), recent: list.New(), byText: make(map[string]*list.Element)}
}

// Name is the model's name.
func (c *Cache) Name() string { return c.inner.Name() }

// Dimensions is the length of the model's vectors.
func (c *Cache) Dimensions() int { return c.inner.Dimensions() }

// Embed answers from memory, and asks the model once for all the other texts.
func (c *Cache) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, missing := c.known(texts)
	if len(missing) == 0 {
		return vectors, nil
	}
	ask := make([]string, len(missing))
	for i, at := range missing {
		ask[i] = texts[at]
	}
	fresh, err := c.inner.Embed(ctx, ask)
	if err != nil {
		return nil, err
	}
	for i, at := range missing {
		vectors[at] = fresh[i]
	}
	c.remember(ask, fresh)
	return vectors, nil
}

// known fills in the vectors at hand and lists the places of the others.
func (c *Cache) known(texts []string) (vectors [][]float32, missing []int) {
	vectors = make([][]float32, len(texts))
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, text := range texts {
		e, ok := c.byText[text]
		if !ok {
			missing = append(missing, i)
			continue
		}
		c.recent.MoveToFront(e)
		vectors[i] = e.Value.(*cached).vector
	}
	return vectors, missing
}

func (c *Cache) remember(texts []string, vectors [][]float32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, text := range texts {
		if _, ok := c.byText[text]; ok {
			continue
		}
		c.byText[text] = c.recent.PushFront(&cached{text, vectors[i]})
		if c.recent.Len() > c.size {
			oldest := c.recent.Remove(c.recent.Back()).(*cached)
			delete(c.byText, oldest.text)
		}
	}
}
