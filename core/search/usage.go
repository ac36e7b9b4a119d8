package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
)

const (
	// usageWeight is what use is worth at most, against 1 for the best score: it decides
	// between tools that fit about as well. Half as much again cost tools that nobody had
	// used yet .0017 of NDCG@10 (docs/search.md).
	usageWeight = .02
	// muchUse is the use that counts in full where no candidate has more: three people
	// who ran it today.
	muchUse = 3
	// twinWeight is what use is worth between twins, which differ by their server alone:
	// less than what it is worth that a query names a server.
	twinWeight = .1
)

// Use is forgotten by halves.
const (
	useDays   = 60 // that count
	halfUse   = 14 // days after which a use counts half
	forgotten = .01
	day       = 24 * time.Hour
)

// uses are how much each tool is used: a day on which somebody ran it counts 1, however
// often they did, half as much after two weeks.
type uses map[uuid.UUID]float64

// usage is what is known of the days before today, each of which is read once.
type usage struct {
	upTo time.Time // the first day that is not in it
	past uses
}

// RefreshUsage reads how much each tool is used: searches place a tool that is used a
// little higher from then on. Until it is called use counts nothing. The first time it
// reads sixty days, one after the other. It must not be called while it runs.
func (e *Engine) RefreshUsage(ctx context.Context) error {
	today := time.Now().UTC().Truncate(day)
	h := &e.usage
	if first := today.Add(-useDays * day); h.upTo.Before(first) {
		h.upTo, h.past = first, uses{}
	}
	for ; h.upTo.Before(today); h.upTo = h.upTo.Add(day) {
		then, err := e.usesOn(ctx, h.upTo, h.past)
		if err != nil {
			return err
		}
		h.past = then
	}
	now, err := e.usesOn(ctx, today, h.past)
	if err != nil {
		return err
	}
	if len(now) == 0 {
		e.uses.Store(nil) // costs no search anything
		return nil
	}
	e.uses.Store(&now)
	return nil
}

// usesOn is what was known the day before, a day later, with the uses of that day.
func (e *Engine) usesOn(ctx context.Context, date time.Time, before uses) (uses, error) {
	list, err := e.config.Store.ToolUsers(ctx, date, date.Add(day))
	if err != nil {
		return nil, fmt.Errorf("use of tools on %s: %w", date.Format(time.DateOnly), err)
	}
	u := make(uses, len(before)+len(list))
	fade := math.Exp2(-1. / halfUse)
	for id, n := range before {
		if n *= fade; n > forgotten {
			u[id] = n
		}
	}
	for _, t := range list {
		// The audit holds whatever was asked for, so an id need not be one.
		if id, err := uuid.Parse(t.ToolID); err == nil {
			u[id] += float64(t.People)
		}
	}
	return u, nil
}

// of is the use of the tool of a candidate; 0 where nothing is known.
func (u *uses) of(c *candidate) float64 {
	if u == nil {
		return 0
	}
	return (*u)[c.id]
}

// used adds to each score what use is worth, as the logarithm of it against that of
// the candidate which is used most: what the caller may not see makes no difference.
func (s *search) used(list []*candidate) {
	most := float64(muchUse)
	for _, c := range list {
		most = max(most, s.uses.of(c))
	}
	for _, c := range list {
		c.score += usageWeight * math.Log1p(s.uses.of(c)) / math.Log1p(most)
	}
}

// byTwins are the places in a list of the twins among its tools, by what they share.
func byTwins(list []*candidate) map[uint32][]int {
	places := make(map[uint32][]int)
	for i, c := range list {
		if c.fact.twins != 0 {
			places[c.fact.twins] = append(places[c.fact.twins], i)
		}
	}
	return places
}

// weighTwins notes what each tool is worth against its twins.
func (s *search) weighTwins(list []*candidate) {
	for _, places := range byTwins(list) {
		most := 0.0
		for _, i := range places {
			most = max(most, s.uses.of(list[i]))
		}
		for _, i := range places {
			list[i].twin = list[i].score + twinWeight*math.Log1p(s.uses.of(list[i]))/max(tiny, math.Log1p(most))
		}
	}
}

// placeTwins has twins, which fit about alike, change places among themselves so that
// the one that is used comes first. No other tool moves.
func placeTwins(list []*candidate) {
	for _, places := range byTwins(list) {
		twins := make([]*candidate, len(places))
		scores, shares := make([]float64, len(places)), make([]float64, len(places))
		for n, i := range places {
			twins[n], scores[n], shares[n] = list[i], list[i].score, list[i].share
		}
		slices.SortStableFunc(twins, func(a, b *candidate) int { return cmp.Compare(b.twin, a.twin) })
		for n, i := range places {
			list[i] = twins[n]
			list[i].score, list[i].share = scores[n], shares[n]
		}
	}
}
