package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/embeddings"
)

const (
	// Tools in one step, at most and at least. More of them would not be faster in sum,
	// searches would feel it, and of a service more than a minute's work could be lost.
	largestStep, smallestStep = 128, 32
	// A step that takes longer to save makes the next one smaller: changes of the catalog
	// wait meanwhile, and each vector costs a hundred times more once it goes into a graph.
	longSave = 100 * time.Millisecond
	// In each step so many of the tools that changed last are looked at first, for
	// them not to wait until a large catalog is done.
	latest = 50
	// suspicious is how many tools in a row must be refused, without one that
	// works, for the fault to be sought in the service rather than in the tools.
	suspicious = 3
	// A tool that was refused is tried again after this, doubled each time.
	firstDelay, longestDelay = time.Minute, 6 * time.Hour
	// How often progress is logged and announced.
	progressEvery, announceEvery = 5 * time.Second, time.Second
)

// toolModel is a tool and a model that refuses it.
type toolModel struct {
	tool  string
	model int64
}

// failure is a refusal.
type failure struct {
	hash  []byte
	tries int
	due   time.Time
}

// job is the embedding of what is pending for one model.
type job struct {
	embedder embeddings.Embedder
	model    core.Model
	target   bool // the configured model: its progress is shown, its failures kept

	step    int // tools to embed next
	saved   int
	refused int       // in a row
	logged  time.Time // when progress last was
}

// local reports whether the model works in this process.
func (j *job) local() bool {
	if _, ok := j.embedder.(prober); ok {
		return false
	}
	_, ok := j.embedder.(*embeddings.Cache)
	return !ok
}

// resize sets the size of the next step by how long the last one took to save.
func (j *job) resize(took time.Duration) {
	switch {
	case took > longSave:
		j.step = max(j.step/2, smallestStep)
	case took < longSave/4:
		j.step = min(2*j.step, largestStep)
	}
}

// fill embeds what is pending for a model behind the place where the last fill
// ended, and gives the number of vectors saved.
func (x *Indexer) fill(ctx context.Context, j job) (saved int, err error) {
	started := time.Now()
	j.logged, j.step = started, largestStep
	for inStep := j.target; ; {
		// With a model behind a service this can take hours, in which tools come and go.
		inStep = inStep && x.keepInStep(ctx, fullName(j.model))
		tools, next, err := x.pending(ctx, &j)
		if err != nil {
			return j.saved, err
		}
		if next == x.places[j.model.ID] {
			break
		}
		if len(tools) > 0 {
			x.begin(j.target)
			if err := x.embed(ctx, &j, tools); err != nil {
				return j.saved, err
			}
			x.progress(ctx, &j)
		}
		x.places[j.model.ID] = next
	}
	if j.saved > 0 {
		x.log.Info("tools indexed", "model", fullName(j.model), "tools", j.saved, "duration_ms", time.Since(started).Milliseconds())
		x.announce(ctx, &j, core.EventIndexCompleted, map[string]any{"indexed": j.saved, "durationMs": time.Since(started).Milliseconds()})
	}
	return j.saved, nil
}

// keepInStep indexes what is pending for the model that is searched with, unless that
// is the one of this name, and reports whether that makes sense again.
func (x *Indexer) keepInStep(ctx context.Context, but string) bool {
	e, active, err := x.Active()
	if err != nil || fullName(active) == but {
		return false
	}
	if _, err := x.fill(ctx, job{embedder: e, model: active}); err != nil {
		if ctx.Err() == nil {
			x.log.Warn("the active model is out of step", "model", fullName(active), "error", err)
		}
		return false
	}
	return true
}

// pending gives tools to embed, without those whose time has not come again, and
// the place behind them.
func (x *Indexer) pending(ctx context.Context, j *job) (tools []postgres.ToolText, next postgres.Place, err error) {
	err = x.pace.Do(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		var err error
		if tools, next, err = x.store.Pending(ctx, j.model.ID, x.places[j.model.ID], j.step); err != nil {
			return fmt.Errorf("read what is pending: %w", err)
		}
		if len(tools) < j.step {
			return nil
		}
		changed, err := x.store.PendingLatest(ctx, j.model.ID, next, latest)
		if err != nil {
			return fmt.Errorf("read what has changed last: %w", err)
		}
		tools = append(changed, tools...)
		return nil
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	return slices.DeleteFunc(tools, func(t postgres.ToolText) bool {
		f, ok := x.failed[toolModel{t.ID, j.model.ID}]
		return ok && bytes.Equal(f.hash, t.TextHash) && f.due.After(now)
	}), next, err
}

func (x *Indexer) begin(target bool) {
	if !target {
		return
	}
	x.move(func() {
		if !x.running {
			now := time.Now()
			x.running, x.started, x.finished = true, &now, nil
		}
	})
}

// embed makes and saves the vectors of some tools. When the model refuses them
// they are halved until the one in question is alone.
func (x *Indexer) embed(ctx context.Context, j *job, tools []postgres.ToolText) error {
	vectors, err := x.vectors(ctx, j, tools)
	switch {
	case err == nil:
		return x.save(ctx, j, tools, vectors)
	case ctx.Err() != nil || !errors.Is(err, core.UpstreamError):
		return err // the service is away, and may come back
	case len(tools) > 1:
		half := len(tools) / 2
		if err := x.embed(ctx, j, tools[:half]); err != nil {
			return err
		}
		return x.embed(ctx, j, tools[half:])
	}
	if j.refused++; j.refused >= suspicious {
		return err
	}
	x.log.Warn("tool not indexed", "tool", tools[0].Name, "tool_id", tools[0].ID, "model", fullName(j.model), "error", err)
	x.move(func() {
		key := toolModel{tools[0].ID, j.model.ID}
		f := x.failed[key]
		x.failed[key] = failure{hash: tools[0].TextHash, tries: f.tries + 1,
			due: time.Now().Add(min(firstDelay<<min(f.tries, 10), longestDelay))}
	})
	return nil
}

func (x *Indexer) vectors(ctx context.Context, j *job, tools []postgres.ToolText) (vectors [][]float32, err error) {
	embed := func() error {
		texts := make([]embeddings.Tool, len(tools))
		for i := range tools {
			texts[i] = embeddings.Describe(tools[i].Tool, tools[i].ServerName)
		}
		var err error
		vectors, err = embeddings.EmbedTools(ctx, j.embedder, texts)
		return err
	}
	if j.local() {
		err = x.pace.Do(ctx, embed)
	} else {
		err = embed() // to wait for a service takes nothing from others
	}
	return vectors, err
}

func (x *Indexer) save(ctx context.Context, j *job, tools []postgres.ToolText, vectors [][]float32) error {
	rows := make([]postgres.ToolVector, len(tools))
	for i := range tools {
		rows[i] = postgres.ToolVector{ToolID: tools[i].ID, TextHash: tools[i].TextHash, Vector: vectors[i]}
	}
	err := x.pace.Do(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		begun := time.Now()
		defer func() { j.resize(time.Since(begun)) }()
		return x.store.SaveVectors(ctx, j.model.ID, rows)
	})
	if err != nil {
		return fmt.Errorf("save %d vectors: %w", len(rows), err)
	}
	j.refused = 0
	j.saved += len(rows)
	if x.census.model == j.model.ID {
		x.census.indexed += len(rows)
	}
	x.move(func() {
		if j.target {
			x.saved = time.Now()
		}
		for _, t := range tools {
			delete(x.failed, toolModel{t.ID, j.model.ID})
		}
	})
	return nil
}

// progress tells how far the configured model has come, now and then.
func (x *Indexer) progress(ctx context.Context, j *job) {
	if !j.target || time.Since(x.told) < announceEvery {
		return // to count for two models by turns would be to count all the time
	}
	x.told = time.Now()
	if err := x.count(ctx, j.model.ID); err != nil {
		return // what comes next will meet it too
	}
	indexed, total := x.census.indexed, max(x.census.indexed, x.census.total)
	if time.Since(j.logged) > progressEvery {
		j.logged = time.Now()
		x.log.Info("indexing", "model", fullName(j.model), "indexed", indexed, "total", total)
	}
	x.announce(ctx, j, core.EventIndexProgress, map[string]any{"indexed": indexed, "total": total})
}

// census is how many tools have a vector of the configured model: as they were last
// counted, and what was saved since.
type census struct {
	model          int64
	indexed, total int
	at             time.Time
	took           time.Duration
}

// count counts again unless that was done not long ago. It looks at every tool, which
// searches feel, so of all time no more than a three-hundredth goes into it.
func (x *Indexer) count(ctx context.Context, modelID int64) error {
	if x.census.model == modelID && time.Since(x.census.at) < 300*x.census.took {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	begun := time.Now()
	pending, total, err := x.store.CountPending(ctx, modelID)
	if err != nil {
		return err
	}
	x.census = census{modelID, total - pending, total, time.Now(), time.Since(begun)}
	return nil
}

// announce tells of the configured model. What cannot be published is not worth
// stopping for.
func (x *Indexer) announce(ctx context.Context, j *job, typ string, data map[string]any) {
	if !j.target {
		return
	}
	data["model"] = fullName(j.model)
	raw, err := core.EncodeJSON(data)
	if err == nil {
		err = x.publish(ctx, core.Event{Type: typ, Subject: fullName(j.model), TenantID: core.DefaultTenant, Data: raw})
	}
	if err != nil && ctx.Err() == nil {
		x.log.Warn("progress of the index not announced", "error", err)
	}
}

// failures counts the tools that a model refuses. x.mu is held.
func (x *Indexer) failures(modelID int64) int {
	n := 0
	for key := range x.failed {
		if key.model == modelID {
			n++
		}
	}
	return n
}

// sweepDue is when to look for what is pending from the start again: vectors may be
// missing that no change tells of, and a tool that was refused gets another try.
func (x *Indexer) sweepDue() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	due := x.swept.Add(idlePause)
	for key, f := range x.failed {
		if time.Since(f.due) > idlePause {
			delete(x.failed, key) // the tool is gone, or the model
			continue
		}
		if f.due.Before(due) {
			due = f.due
		}
	}
	return due
}
