package search

import (
	"strings"

	"github.com/toolscout/toolscout/embeddings/words"
)

// actions are kinds of doing, a bit each. Vectors cannot tell "add" from "remove":
// such words occur in the same places. So what a tool does is compared on its own.
type actions uint16

// Verbs by what they do. A verb that is in no line says nothing; the lines are ours.
var verbs = []string{
	`access analyze browse check compare count describe display examine explore fetch find get give inspect know list
	lookup monitor obtain print query read retrieve return review search see show tell view`,
	`add append book build compose create draft generate insert make new register save
	schedule start store write`,
	`adjust alter change edit fix modify move patch put rename replace revise set update`,
	`cancel clear delete destroy discard drop erase purge remove uninstall wipe`,
	`email notify post publish send share submit`,
	`convert transform translate`,
	`calculate compute estimate sum`,
	`download export`,
	`import upload`,
	`listen play`,
}

// actionsOf is what the stem of a verb does.
func actionsOf() map[string]actions {
	of := make(map[string]actions)
	for i, line := range verbs {
		for verb := range strings.FieldsSeq(line) {
			of[stem(verb)] |= 1 << i
		}
	}
	return of
}

// first gives the actions of the first verb of a text that has any.
func (s *stemmer) first(text string, of map[string]actions) actions {
	for word := range words.Of(text) {
		if a := of[s.stem(word)]; a != 0 {
			return a
		}
	}
	return 0
}

// opening gives the actions of the first word of a text.
func (s *stemmer) opening(text string, of map[string]actions) actions {
	for word := range words.Of(text) {
		return of[s.stem(word)]
	}
	return 0
}

// actionWeight is what it is worth to do what is asked for, and what it costs to
// do something else, against 1 for the best score.
const actionWeight = .05

// bonus compares what a query asks for with what a tool does.
func (a actions) bonus(tool actions) float64 {
	switch {
	case a == 0 || tool == 0:
		return 0
	case a&tool != 0:
		return actionWeight
	}
	return -actionWeight
}
