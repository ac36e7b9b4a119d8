package search

import "cmp"

// usualWeight is the share of meaning in a score where none was found for the model.
const usualWeight = .5

// weight is the share of meaning against words in a score.
func (s *search) weight() float64 {
	return cmp.Or(s.query.Weight, s.model.Weight, usualWeight)
}
