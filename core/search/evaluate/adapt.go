package evaluate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/embeddings"
	"github.com/toolscout/toolscout/embeddings/builtin"
	"github.com/toolscout/toolscout/embeddings/train"
)

// Material is what the table of the built-in model is adapted to, and held against.
type Material struct {
	Tools []Tool
	// About says of servers, by name, what they are for.
	About map[string]string
	// Usage are questions that were asked and the tools that were then run, the latest
	// first. Without any the tools alone are learned from.
	Usage []Query
	// HoldOut is the share that is not learned from but measured on, between 0 and 1.
	HoldOut float64
	// Seed is what all chance is drawn from.
	Seed uint64
	// Now is the table that is searched with, and Weight its share in a score; 0 stands
	// for the usual one.
	Now    embeddings.Embedder
	Weight float64
	// MeasureOnly ends with the measurement: there is no table to be used.
	MeasureOnly bool
	// Progress, if set, hears how it comes along.
	Progress func(string)
}

// Adaptation is what adapting the table came to.
type Adaptation struct {
	// From is the table that is searched with, and HeldOut what it and the adapted one
	// were measured on: "usage", "servers" or "tools".
	From    string `json:"from"`
	HeldOut string `json:"heldOut"`
	Tools   int    `json:"tools"`
	// Learned are the questions of usage that were learned from, and Questions those
	// that were measured on.
	Learned   int `json:"learned"`
	Questions int `json:"questions"`
	// Before and After are what search came to with either table, and Metrics how far
	// the adapted one lies above and how likely that is by chance.
	Before  Scores       `json:"before"`
	After   Scores       `json:"after"`
	Metrics []Difference `json:"metrics"`
	// Switched: the adapted table was stored under the name To.
	Switched bool   `json:"switched"`
	To       string `json:"to,omitempty"`
}

// Main is the metric that decides.
func (a Adaptation) Main() Difference { return a.Metrics[len(a.Metrics)-1] }

// Better reports whether the adapted table is better by more than chance.
func (a Adaptation) Better() bool { return a.Main().Gain > 0 && a.Main().P < lossAt }

// What is held out of a catalog without usage.
const (
	leastServers = 5   // for whole servers to be held out
	mostHeldOut  = 500 // questions made of tools: enough to see a gain of half a point
	leastWords   = 4   // of a first sentence that can be asked
)

// Adapt makes a table that knows more of the material and measures it: both tables
// search, in the database, which is used for nothing else, for what was held out. The
// table that it gives has then learned from all of the material in the same way. There
// is none where it would not be better, or only the measurement was asked for.
// InvalidParams when there is too little.
func Adapt(ctx context.Context, store *postgres.Store, m Material) (Adaptation, []byte, error) {
	if m.Progress == nil {
		m.Progress = func(string) {}
	}
	base, err := train.ReadTable(builtin.Table())
	if err != nil {
		return Adaptation{}, nil, err
	}
	trial, err := m.split()
	if err != nil {
		return Adaptation{}, nil, err
	}
	a := Adaptation{From: m.Now.Name(), HeldOut: trial.heldOut, Tools: len(m.Tools), Learned: len(trial.past), Questions: len(trial.set.Queries)}
	m.Progress(fmt.Sprintf("to be measured on %d questions of the %s held out", a.Questions, a.HeldOut))
	candidate, err := m.train(ctx, base, trial.learned, trial.past)
	if err != nil {
		return Adaptation{}, nil, err
	}
	if err := m.compare(ctx, store, trial.set, candidate, &a); err != nil {
		return Adaptation{}, nil, err
	}
	if !a.Better() || m.MeasureOnly {
		return a, nil, nil
	}
	m.Progress("better by more than chance: learning from what was held out too")
	whole, err := m.train(ctx, base, m.Tools, m.Usage)
	return a, whole, err
}

// train adapts the table to tools and usage.
func (m *Material) train(ctx context.Context, base *train.Table, tools []Tool, usage []Query) ([]byte, error) {
	table, err := train.Adapt(ctx, base, m.pairs(tools, usage), train.Options{Seed: m.Seed, Progress: m.Progress})
	if err != nil {
		return nil, fmt.Errorf("adapt the table: %w", err)
	}
	return table.Bytes(), nil
}

// usageWeight is how much more often than their number says pairs of usage are learned
// from: they are what people ask.
const usageWeight = 4

func (m *Material) pairs(tools []Tool, usage []Query) []train.Group {
	definitions := make([]train.Tool, len(tools))
	for i, t := range tools {
		definitions[i] = train.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema,
			Server: t.Server, ServerDescription: m.About[t.Server]}
	}
	groups := train.ToolPairs(definitions)
	texts := make(map[string]string, len(m.Tools))
	for _, t := range m.Tools {
		texts[t.ID] = t.Name + " " + t.Description
	}
	asked := train.Group{Name: "usage", Weight: usageWeight}
	for _, q := range usage {
		for _, id := range q.Relevant {
			if texts[id] != "" {
				asked.Pairs = append(asked.Pairs, train.Pair{A: q.Text, B: texts[id]})
			}
		}
	}
	if len(asked.Pairs) > 0 {
		groups = append(groups, asked)
	}
	return groups
}

// trial is what is learned from and what is measured on.
type trial struct {
	heldOut string
	learned []Tool
	past    []Query
	set     Set
}

// Check is the error that Adapt gives where there is too little; it takes no database.
func (m *Material) Check() error {
	_, err := m.split()
	return err
}

// needed is how many questions or tools it takes for enough of them to be held out.
func (m *Material) needed() int { return int(math.Ceil(LeastQuestions / m.HoldOut)) }

func (m *Material) split() (trial, error) {
	if !(m.HoldOut > 0 && m.HoldOut < 1) {
		return trial{}, core.Errorf(core.InvalidParams, "a share of %g cannot be held out", m.HoldOut)
	}
	if len(m.Usage) > 0 {
		return m.splitUsage()
	}
	return m.splitTools()
}

// splitUsage holds out the latest questions: what was asked before has to help with
// what is asked next. A question that was asked before in the same words is not learned
// from.
func (m *Material) splitUsage() (trial, error) {
	n := int(m.HoldOut*float64(len(m.Usage)) + .5)
	if n < LeastQuestions || n == len(m.Usage) {
		return trial{}, core.Errorf(core.InvalidParams, "%d questions are held out of %d that were asked and led to a call: at least %d are needed to tell a better table from chance, so %d in all",
			n, len(m.Usage), LeastQuestions, m.needed()).WithHint("go further back with --since, wait for more use, hold out a larger share with --holdout, or leave out --usage")
	}
	t := trial{heldOut: "usage", learned: m.Tools, set: Set{Name: "usage", Tools: m.Tools, Queries: m.Usage[:n]}}
	same := make(map[string]bool, n)
	for _, q := range t.set.Queries {
		same[wordSet(q.Text)] = true
	}
	for _, q := range m.Usage[n:] {
		if !same[wordSet(q.Text)] {
			t.past = append(t.past, q)
		}
	}
	return t, nil
}

// wordSet is the words of a text, in order of the alphabet.
func wordSet(text string) string {
	list := strings.Fields(strings.ToLower(text))
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " ")
}

// splitTools holds out servers, or tools where there are few servers, and makes
// questions of them: the first sentence of a description asks for the tool, which has
// the rest of its text alone. Tools that are like one of them are not learned from.
func (m *Material) splitTools() (trial, error) {
	random := rand.New(rand.NewPCG(m.Seed, 5))
	t := trial{heldOut: "servers"}
	of := func(t Tool) string { return t.Server }
	if len(keys(m.Tools, of)) < leastServers {
		t.heldOut, of = "tools", func(t Tool) string { return t.ID }
	}
	out := make(map[string]bool)
	all := keys(m.Tools, of)
	for _, i := range random.Perm(len(all))[:int(m.HoldOut*float64(len(all))+.5)] {
		out[all[i]] = true
	}
	names, sentences := make(map[string]bool), make(map[string]bool)
	byText := make(map[string][]string) // first sentence to the tools that have it
	t.set.Name = "catalog"
	for _, tool := range m.Tools {
		sentence, rest := train.FirstSentence(tool.Description)
		byText[wordSet(sentence)] = append(byText[wordSet(sentence)], tool.ID)
		asked := tool
		asked.Description = rest
		t.set.Tools = append(t.set.Tools, asked)
		if out[of(tool)] {
			names[wordSet(tool.Name)], sentences[wordSet(sentence)] = true, true
			if len(strings.Fields(sentence)) >= leastWords {
				t.set.Queries = append(t.set.Queries, Query{ID: tool.ID, Text: sentence})
			}
		}
	}
	for i, q := range t.set.Queries {
		t.set.Queries[i].Groups = [][]string{byText[wordSet(q.Text)]}
	}
	for _, tool := range m.Tools {
		sentence, _ := train.FirstSentence(tool.Description)
		if !out[of(tool)] && !names[wordSet(tool.Name)] && !(sentence != "" && sentences[wordSet(sentence)]) {
			t.learned = append(t.learned, tool)
		}
	}
	random.Shuffle(len(t.set.Queries), func(i, j int) {
		t.set.Queries[i], t.set.Queries[j] = t.set.Queries[j], t.set.Queries[i]
	})
	t.set.Queries = t.set.Queries[:min(mostHeldOut, len(t.set.Queries))]
	if len(t.set.Queries) < LeastQuestions || len(t.learned) == 0 {
		return trial{}, core.Errorf(core.InvalidParams, "too few tools (%d): %d with a description are held out and %d unlike them left to learn from: at least %d are needed to tell a better table from chance, so some %d tools in all",
			len(m.Tools), len(t.set.Queries), len(t.learned), LeastQuestions, m.needed()).WithHint("register more servers, hold out a larger share with --holdout, or learn from usage with --usage")
	}
	return t, nil
}

// keys are what tools have in common, each once and in order.
func keys(tools []Tool, of func(Tool) string) []string {
	list := make([]string, len(tools))
	for i, t := range tools {
		list[i] = of(t)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// compare has both tables search for what is held out.
func (m *Material) compare(ctx context.Context, store *postgres.Store, set Set, candidate []byte, a *Adaptation) error {
	table, err := builtin.Parse(string(candidate))
	if err != nil {
		return err
	}
	var results [2]Result
	var catalog *Catalog
	for i, e := range []embeddings.Embedder{m.Now, table.Named("builtin/candidate")} {
		rig, err := NewRigWith(ctx, store, e)
		if err != nil {
			return err
		}
		rig.Model.Weight, rig.Progress = m.Weight, m.Progress
		if catalog == nil {
			catalog, err = rig.Fill(ctx, set.Tools)
		} else {
			err = rig.index(ctx)
		}
		if err != nil {
			return fmt.Errorf("index %d tools: %w", len(set.Tools), err)
		}
		if results[i], err = rig.ask(ctx, catalog, set, 10); err != nil {
			return err
		}
	}
	a.Before, a.After = results[0].Scores, results[1].Scores
	a.Metrics, err = Compare(results[1].Each, results[0].Each)
	return err
}
