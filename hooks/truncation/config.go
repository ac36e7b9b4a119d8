package truncation

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
)

// config is what a definition says. A limit of 0 is none.
type config struct {
	MaxBytes       int    `json:"max_bytes"`
	MaxTokens      int    `json:"max_tokens"`
	MaxBlockBytes  int    `json:"max_block_bytes"`
	MaxBlockTokens int    `json:"max_block_tokens"`
	MaxBinaryBytes int    `json:"max_binary_bytes"`
	Keep           string `json:"keep"`
	Store          bool   `json:"store"`
	TTL            string `json:"ttl"`
	PageSize       int    `json:"page_size"`

	ttl time.Duration
	// harmless is the length of a result in which nothing can be over a limit.
	harmless int
}

// The values of keep.
const (
	keepHead     = "head"
	keepHeadTail = "head_tail"
)

// settings says why the defaults are what they are.
var settings = json.RawMessage(`{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "max_bytes": {"type": "integer", "minimum": 0, "default": 65536, "description": "How many bytes of text a result has at most: 1024 or more, or 0 for no limit. 64 KiB of prose are some 15,000 tokens: one result should not take more than a tenth of a context window of 200,000."},
    "max_tokens": {"type": "integer", "minimum": 0, "default": 20000, "description": "How many tokens, by estimate, a result has at most: 400 or more, or 0 for no limit. It is for text that is dense in tokens, such as numbers and Asian scripts; known clients cut or refuse results of more than 25,000."},
    "max_block_bytes": {"type": "integer", "minimum": 0, "default": 32768, "description": "The same for one content block, so that a long one leaves room for the others."},
    "max_block_tokens": {"type": "integer", "minimum": 0, "default": 10000, "description": "The same for one content block."},
    "max_binary_bytes": {"type": "integer", "minimum": 0, "default": 1048576, "description": "How many bytes of images, audio and other binary content a result has at most, decoded; 0 for no limit. They do not count as text: an image costs a model the same whatever its bytes. A block that is too much is left out whole."},
    "keep": {"enum": ["head", "head_tail"], "default": "head", "description": "What is kept of long text and long arrays: the beginning, or two thirds of the beginning and one of the end."},
    "store": {"type": "boolean", "default": true, "description": "Whether the whole result is kept, so that the rest can be read."},
    "ttl": {"type": "string", "default": "15m", "description": "How long it is kept: 1s to 24h."},
    "page_size": {"type": "integer", "minimum": 1024, "maximum": 1048576, "default": 32768, "description": "How many bytes are read of it at a time."}
  }
}`)

func readConfig(raw json.RawMessage) (config, error) {
	c := config{MaxBytes: 64 << 10, MaxTokens: 20000, MaxBlockBytes: 32 << 10, MaxBlockTokens: 10000,
		MaxBinaryBytes: 1 << 20, Keep: keepHead, Store: true, TTL: "15m", PageSize: 32 << 10}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &c); err != nil {
			return c, err
		}
	}
	if err := c.atLeast(); err != nil {
		return c, err
	}
	var err error
	if c.ttl, err = time.ParseDuration(c.TTL); err != nil || c.ttl < time.Second || c.ttl > 24*time.Hour {
		e := core.Errorf(core.InvalidParams, "ttl is a duration between 1s and 24h")
		e.Faults = []core.Fault{{Pointer: "/ttl", Message: `is a duration between 1s and 24h, as in "15m"`}}
		return c, e
	}
	c.harmless = postgres.MaxResult
	for _, limit := range []int{c.MaxBytes, c.MaxTokens, c.MaxBlockBytes, c.MaxBlockTokens, c.MaxBinaryBytes} {
		if limit > 0 {
			c.harmless = min(c.harmless, limit)
		}
	}
	return c, nil
}

// What a limit may be at the least: less has no room for the marker that says what
// is missing.
const (
	leastBytes  = 1024
	leastTokens = 400
)

// atLeast refuses limits that are too small.
func (c config) atLeast() error {
	var faults []core.Fault
	for _, limit := range []struct {
		name       string
		got, least int
	}{
		{"max_bytes", c.MaxBytes, leastBytes}, {"max_tokens", c.MaxTokens, leastTokens},
		{"max_block_bytes", c.MaxBlockBytes, leastBytes}, {"max_block_tokens", c.MaxBlockTokens, leastTokens},
	} {
		if limit.got != 0 && limit.got < limit.least {
			faults = append(faults, core.Fault{Pointer: "/" + limit.name,
				Message: fmt.Sprintf("is %d, and can be %d or more, or 0 for no limit", limit.got, limit.least)})
		}
	}
	if len(faults) == 0 {
		return nil
	}
	e := core.Errorf(core.InvalidParams, "a limit is too small")
	e.Faults = faults
	return e
}

// all is what a whole result may have, block what one block may.
func (c config) all() budget   { return limit(c.MaxBytes, c.MaxTokens) }
func (c config) block() budget { return limit(c.MaxBlockBytes, c.MaxBlockTokens) }
