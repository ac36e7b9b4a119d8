package evaluate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search/evaluate"
	"github.com/toolscout/toolscout/embeddings/builtin"
)

// A company calls its things and what it does with them by names of its own; people
// who ask say it in common words, each in theirs.
var (
	things = []struct{ name, said string }{
		{"heron", "release, deployment, rollout"}, {"mallow", "invoice, bill, payment request"},
		{"quarry", "warehouse, stock room, depot"}, {"lantern", "alarm, alert, warning"},
		{"thicket", "customer complaint, support case, ticket"}, {"marrow", "employee, colleague, staff member"},
		{"sextant", "delivery route, itinerary, trip plan"}, {"bellows", "marketing campaign, newsletter, promotion"},
	}
	doings = []struct{ name, said string }{
		{"kindle", "start, begin, set up"}, {"douse", "stop, end, shut down"}, {"sift", "look through, search, find"},
		{"graft", "change, adjust, correct"}, {"tally", "count, add up, number of"}, {"ferry", "send on, forward, hand over"},
	}
	asking = []string{"%s the %s", "please %s our %s", "%s a %s for me", "I have to %s that %s today", "how do I %s this %s"}
)

// company is its tools, by what they are called there, or with plain true in words that
// everybody uses; and what people asked and then ran.
func company(plain bool) (tools []evaluate.Tool, usage []evaluate.Query) {
	random := rand.New(rand.NewPCG(1, 1))
	pick := func(list string) string {
		all := strings.Split(list, ", ")
		return all[random.IntN(len(all))]
	}
	for _, thing := range things {
		for _, doing := range doings {
			noun, verb := thing.name, doing.name
			if plain {
				noun, _, _ = strings.Cut(thing.said, ",")
				verb, _, _ = strings.Cut(doing.said, ",")
			}
			id := verb + "_" + noun
			tools = append(tools, evaluate.Tool{ID: id, Name: strings.ReplaceAll(id, " ", "_"), Server: thing.name,
				Description: fmt.Sprintf("%s one %s of yours. The log of the day says what became of it.", verb, noun)})
			for range 5 {
				said, done := pick(thing.said), pick(doing.said)
				if plain {
					said, done = noun, verb
				}
				usage = append(usage, evaluate.Query{Text: fmt.Sprintf(asking[random.IntN(len(asking))], done, said), Relevant: []string{id}})
			}
		}
	}
	random.Shuffle(len(usage), func(i, j int) { usage[i], usage[j] = usage[j], usage[i] })
	for i := range usage {
		usage[i].ID = fmt.Sprint(i)
	}
	return tools, usage
}

func material(t *testing.T, plain bool) evaluate.Material {
	t.Helper()
	now, err := builtin.New()
	if err != nil {
		t.Fatal(err)
	}
	m := evaluate.Material{HoldOut: .2, Seed: 1, Now: now}
	m.Tools, m.Usage = company(plain)
	return m
}

func TestAdaptLearnsTheWordsOfACompany(t *testing.T) {
	t.Parallel()
	m := material(t, false)
	a, table, err := evaluate.Adapt(t.Context(), pgtest.New(t), m)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.4f to %.4f (p = %.4f), learned from %d", a.Before.NDCG10, a.After.NDCG10, a.Main().P, a.Learned)
	if !a.Better() || a.Main().Gain < .1 || a.HeldOut != "usage" || a.Questions != 48 || a.Learned > 192 || a.Tools != 48 || a.From != builtin.Name {
		t.Errorf("got %+v", a)
	}
	if _, err := builtin.Parse(string(table)); err != nil {
		t.Errorf("what came out: %v", err)
	}
}

// TestAdaptThatOnlyMeasures ends there, with the figures: learning from all takes as
// long again.
func TestAdaptThatOnlyMeasures(t *testing.T) {
	t.Parallel()
	m := material(t, false)
	m.MeasureOnly = true
	m.Progress = func(line string) {
		if strings.Contains(line, "learning from what was held out") {
			t.Errorf("it goes on: %s", line)
		}
	}
	a, table, err := evaluate.Adapt(t.Context(), pgtest.New(t), m)
	if err != nil || !a.Better() || table != nil {
		t.Errorf("got %+v and %d bytes, %v", a, len(table), err)
	}
}

func TestAdaptGivesNoTableWhereItHelpsNothing(t *testing.T) {
	t.Parallel()
	m := material(t, true)
	a, table, err := evaluate.Adapt(t.Context(), pgtest.New(t), m)
	if err != nil || a.Better() || table != nil {
		t.Errorf("got %+v and %d bytes, %v", a, len(table), err)
	}
}

func TestAdaptWithoutUsageHoldsOutServers(t *testing.T) {
	t.Parallel()
	m := material(t, true)
	m.Usage, m.HoldOut = nil, .5
	m.Tools = append(m.Tools, evaluate.Tool{ID: "mute", Name: "mute", Server: "quiet"})
	a, _, err := evaluate.Adapt(t.Context(), pgtest.New(t), m)
	if err != nil || a.HeldOut != "servers" || a.Questions == 0 || a.Questions%len(doings) != 0 {
		t.Errorf("got %+v, %v", a, err)
	}
	m.Tools = m.Tools[:len(doings)*4]
	for i := range m.Tools {
		m.Tools[i].Description = strings.Repeat("very ", i) + m.Tools[i].Description
		m.Tools[i].Server = "one"
	}
	if a, _, err = evaluate.Adapt(t.Context(), pgtest.New(t), m); !errors.Is(err, core.InvalidParams) {
		t.Errorf("half of %d tools: got %+v, %v", len(m.Tools), a, err)
	}
}

func TestAdaptRefusesTooLittle(t *testing.T) {
	t.Parallel()
	m := material(t, false)
	few := m
	few.Usage = m.Usage[:97]
	none := m
	none.Tools, none.Usage = m.Tools[:3], nil
	all := m
	all.HoldOut = 1
	for want, m := range map[string]evaluate.Material{"19 questions": few, "left to learn from": none, "a share of 1": all} {
		a, table, err := evaluate.Adapt(t.Context(), pgtest.New(t), m)
		if !errors.Is(err, core.InvalidParams) || !strings.Contains(err.Error(), want) || table != nil {
			t.Errorf("want %q, got %+v, %v", want, a, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := evaluate.Adapt(ctx, pgtest.New(t), m); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}
