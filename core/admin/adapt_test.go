package admin_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/admin"
	"github.com/toolscout/toolscout/embeddings/builtin"
)

// TestAdaptTakesOnlyWhatCanBeSearchedWith, and says why where it does not.
func TestAdaptTakesOnlyWhatCanBeSearchedWith(t *testing.T) {
	t.Parallel()
	b := newBundle(t, admin.Policy{LoopbackOnly: true})
	if err := b.index.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole := admin.AdaptedTable{Base: builtin.Name, Table: builtin.Table(), Questions: 30, Gain: .1, P: .01}
	adapt := func(change func(*admin.AdaptedTable)) (core.Model, error) {
		table := whole
		change(&table)
		return b.Adapt(t.Context(), b.admin, table)
	}
	small := append([]byte(builtin.Magic), 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 'x', 0, 0, 128, 63, 1, 1)
	nan := bytes.Clone(small)
	copy(nan[len(nan)-6:], []byte{0, 0, 192, 127})
	for want, change := range map[string]func(*admin.AdaptedTable){
		"this server has the table": func(t *admin.AdaptedTable) { t.Base = "builtin/older" },
		"not a table":               func(t *admin.AdaptedTable) { t.Table = []byte("x") },
		"has 2 dimensions":          func(t *admin.AdaptedTable) { t.Table = small },
		"the scale of":              func(t *admin.AdaptedTable) { t.Table = nan },
	} {
		if _, err := adapt(change); !errors.Is(err, core.InvalidParams) && !errors.Is(err, core.Conflict) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := b.Table(t.Context(), b.admin); !errors.Is(err, core.NotFound) {
		t.Errorf("the table of the program: %v", err)
	}
	if _, err := b.Revert(t.Context(), b.admin); !errors.Is(err, core.NotFound) {
		t.Errorf("back from nothing: %v", err)
	}
	model, err := adapt(func(*admin.AdaptedTable) {})
	if err != nil || model.Provider != "builtin" || !strings.HasPrefix("builtin/"+model.Name, builtin.Name+"+") {
		t.Fatalf("got %+v, %v", model, err)
	}
	if row := b.row(t, "index.adapt"); row.Outcome != core.OutcomeOK || !strings.Contains(string(row.Details), `"questions":30`) {
		t.Errorf("the row of the audit is %+v", row)
	}
	if wanted, adapted, err := b.store.WantedTable(t.Context()); err != nil || !adapted || wanted.ID != model.ID {
		t.Errorf("wanted is %+v, %v", wanted, err)
	}
	if s, err := b.IndexStatus(t.Context(), b.admin); err != nil || s.Chosen != "builtin/"+model.Name {
		t.Errorf("the status is %+v, %v", s, err)
	}
	back, err := b.Revert(t.Context(), b.admin)
	if err != nil || back.ID != model.ID {
		t.Errorf("turned away from %+v, %v", back, err)
	}
	if s, err := b.IndexStatus(t.Context(), b.admin); err != nil || s.Chosen != builtin.Name {
		t.Errorf("the status afterwards is %+v, %v", s, err)
	}
}
