package schema

import (
	"math"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// cost bounds how often a schema is evaluated on one branch of an instance. A
// validation cannot be interrupted: a list of a thousand alternatives takes its
// time for each element of an array, and references make a graph of a schema, where
// one that leads twice to itself doubles the work at every level of nesting.
type cost struct {
	root *jsonschema.Schema

	mu   sync.Mutex
	kept evaluations
}

// evaluations are those of each schema, by the depth of the branch below it.
type evaluations []map[*jsonschema.Schema]float64

// keptDepth is how deep evaluations are remembered: deeper arguments are rare, and
// each level takes memory for every part of the schema.
const keptDepth = 16

func newCost(root *jsonschema.Schema) *cost { return &cost{root: root} }

// of bounds the evaluations of an instance: on each of its nodes no more than on
// the costliest branch.
func (c *cost) of(in Instance) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = c.kept.upTo(c.root, min(in.depth, keptDepth))
	return slices.Clip(c.kept).upTo(c.root, in.depth)[in.depth][c.root] * float64(in.nodes)
}

// upTo adds what is missing up to a depth.
func (e evaluations) upTo(root *jsonschema.Schema, depth int) evaluations {
	for d := len(e); d <= depth; d++ {
		e = append(e, map[*jsonschema.Schema]float64{})
		e.at(root, d)
	}
	return e
}

// at bounds the evaluations of s on a branch of depth d below it.
func (e evaluations) at(s *jsonschema.Schema, d int) float64 {
	if s == nil {
		return 0
	}
	if n, known := e[d][s]; known {
		return n
	}
	// Whoever comes back here without going deeper goes in a circle, and a few
	// definitions that all refer to each other have more ways round than can be
	// walked. No value is valid against a circle anyway.
	e[d][s] = math.Inf(1)
	n := 1.0
	if s.Enum != nil {
		n += float64(len(s.Enum.Values)) / 4 // a comparison is less than an evaluation
	}
	if s.DynamicRef != nil || s.RecursiveRef != nil { // these lead who knows where
		n = math.Inf(1)
	}
	for _, child := range inPlace(s) {
		n += e.at(child, d)
	}
	if d > 0 {
		n += e.below(s, d-1)
	}
	e[d][s] = n
	return n
}

// below bounds the evaluations on the costliest member: of the named properties
// only one applies to it.
func (e evaluations) below(s *jsonschema.Schema, d int) float64 {
	n, named := 0.0, 0.0
	for _, child := range s.Properties {
		named = max(named, e.at(child, d))
	}
	for _, child := range s.PrefixItems {
		named = max(named, e.at(child, d))
	}
	for _, child := range s.PatternProperties {
		n += e.at(child, d)
	}
	others := []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems}
	for _, any := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items} {
		switch v := any.(type) {
		case *jsonschema.Schema:
			others = append(others, v)
		case []*jsonschema.Schema:
			for _, child := range v {
				named = max(named, e.at(child, d))
			}
		}
	}
	for _, child := range others {
		n += e.at(child, d)
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
