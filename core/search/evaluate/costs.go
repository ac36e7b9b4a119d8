package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolscout/toolscout/core/gateway"
	"github.com/toolscout/toolscout/core/tokens"
)

// Costs are what a language model reads, in tokens: about, as core/tokens counts.
type Costs struct {
	// Listing is all tools as tools/list would name them, were there no gateway, and
	// Meta what it names instead.
	Listing, Meta int
	// Brief, Signature and Full are answers of discover_tools at each detail, Schema
	// one of get_tool_schema, on average.
	Brief, Signature, Full, Schema float64
	// Execution is what a call through execute_tool takes more than a direct one.
	Execution int
}

// Costs registers tools and asks questions of them, ten tools each and the schema of
// the first.
func (r *Rig) Costs(ctx context.Context, tools []Tool, questions []string) (Costs, error) {
	var k Costs
	catalog, err := r.Fill(ctx, tools)
	if err != nil {
		return k, err
	}
	if k.Listing, err = listing(tools); err != nil {
		return k, err
	}
	c, err := r.caller(ctx)
	if err != nil {
		return k, err
	}
	defer c.close()
	meta, err := c.gateway.MetaTools(ctx, c.request.Principal)
	if err != nil {
		return k, err
	}
	if k.Meta, err = count(meta); err != nil {
		return k, err
	}
	for _, q := range questions {
		if err := c.costs(ctx, q, 1/float64(len(questions)), &k); err != nil {
			return k, fmt.Errorf("%q: %w", q, err)
		}
	}
	return k, r.Drop(ctx, catalog)
}

// costs adds the share of one question.
func (c *caller) costs(ctx context.Context, question string, share float64, k *Costs) error {
	var first string
	for detail, sum := range map[string]*float64{"brief": &k.Brief, "signature": &k.Signature, "full": &k.Full} {
		raw, err := c.call(ctx, gateway.DiscoverTools, map[string]any{"query": question, "detail": detail})
		if err != nil {
			return err
		}
		*sum += share * float64(tokens.Estimate(string(raw)))
		var answer gateway.Discovery
		if err := json.Unmarshal(raw, &answer); err != nil {
			return err
		}
		if len(answer.Tools) == 0 {
			return errors.New("nothing was found")
		}
		first = answer.Tools[0].ID
	}
	raw, err := c.call(ctx, gateway.GetToolSchema, map[string]any{"tool_id": first})
	if err != nil {
		return err
	}
	k.Schema += share * float64(tokens.Estimate(string(raw)))
	through, err := count(map[string]any{"tool_id": first, "params": struct{}{}})
	k.Execution = through - tokens.Estimate("{}")
	return err
}

// listing counts tools as a server lists them.
func listing(tools []Tool) (int, error) {
	sum := 0
	for _, t := range tools {
		n, err := count(struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"inputSchema"`
		}{t.Name, t.Description, stored(t).InputSchema})
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func count(v any) (int, error) {
	raw, err := json.Marshal(v)
	return tokens.Estimate(string(raw)), err
}
