package gateway

import (
	"math"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// cost bounds how often a schema with references is evaluated on one branch of
// an instance. References make a graph of a schema; one that leads twice to
// itself doubles the work at every level of nesting, and a handful of bytes could
// keep a processor busy for ever.
type cost struct {
	root *jsonschema.Schema

	mu      sync.Mutex
	byDepth []map[*jsonschema.Schema]float64
}

func newCost(root *jsonschema.Schema) *cost { return &cost{root: root} }

// of bounds the evaluations of an instance: on each of its nodes no more than on
// the costliest branch.
func (c *cost) of(in instance) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for d := len(c.byDepth); d <= in.depth; d++ {
		c.byDepth = append(c.byDepth, map[*jsonschema.Schema]float64{})
		c.at(c.root, d)
	}
	return c.byDepth[in.depth][c.root] * float64(in.nodes)
}

// at bounds the evaluations of s on a branch of depth d below it.
func (c *cost) at(s *jsonschema.Schema, d int) float64 {
	if s == nil {
		return 0
	}
	if n, known := c.byDepth[d][s]; known {
		return n
	}
	// Whoever comes back here without going deeper goes in a circle, and a few
	// definitions that all refer to each other have more ways round than can be
	// walked. No value is valid against a circle anyway.
	c.byDepth[d][s] = math.Inf(1)
	n := 1.0
	if s.DynamicRef != nil || s.RecursiveRef != nil { // these lead who knows where
		n = math.Inf(1)
	}
	for _, child := range inPlace(s) {
		n += c.at(child, d)
	}
	if d > 0 {
		n += c.below(s, d-1)
	}
	c.byDepth[d][s] = n
	return n
}

// below bounds the evaluations on the costliest member: of the named properties
// only one applies to it.
func (c *cost) below(s *jsonschema.Schema, d int) float64 {
	n, named := 0.0, 0.0
	for _, child := range s.Properties {
		named = max(named, c.at(child, d))
	}
	for _, child := range s.PrefixItems {
		named = max(named, c.at(child, d))
	}
	for _, child := range s.PatternProperties {
		n += c.at(child, d)
	}
	others := []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems}
	for _, any := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items} {
		switch v := any.(type) {
		case *jsonschema.Schema:
			others = append(others, v)
		case []*jsonschema.Schema:
			for _, child := range v {
				named = max(named, c.at(child, d))
			}
		}
	}
	for _, child := range others {
		n += c.at(child, d)
	}
	return n + named
}

// inPlace gives the schemas that are evaluated on the same value as s.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else, s.ContentSchema}
	list = append(list, s.AllOf...)
	list = append(list, s.AnyOf...)
	list = append(list, s.OneOf...)
	for _, child := range s.DependentSchemas {
		list = append(list, child)
	}
	for _, child := range s.Dependencies {
		if child, ok := child.(*jsonschema.Schema); ok {
			list = append(list, child)
		}
	}
	return list
}
