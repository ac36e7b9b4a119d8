package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/embeddings/builtin"
)

// CatalogTool is a tool with the name and the description of its server.
type CatalogTool struct {
	core.Tool
	ServerName        string
	ServerDescription string
}

// CatalogTools lists the tools of every active server by name.
func (a *Admin) CatalogTools(ctx context.Context, req core.Request, page core.Page) (list core.List[CatalogTool], err error) {
	err = a.read(ctx, req, "index.tools", func() error {
		servers, _, err := a.activeServers(ctx, req)
		if err != nil {
			return err
		}
		byID := make(map[string]core.Server, len(servers))
		ids := make([]string, len(servers))
		for i, s := range servers {
			byID[s.ID], ids[i] = s, s.ID
		}
		tools, err := a.store.ToolPage(ctx, postgres.ToolFilter{Servers: ids}, page)
		list = core.List[CatalogTool]{Items: make([]CatalogTool, len(tools.Items)), NextCursor: tools.NextCursor}
		for i, t := range tools.Items {
			s := byID[t.ServerID]
			list.Items[i] = CatalogTool{Tool: t, ServerName: s.Name, ServerDescription: s.Description}
		}
		return err
	})
	return list, err
}

// AdaptedTable is a table of the built-in model that was adapted to the catalog.
type AdaptedTable struct {
	// Base is the name of the model that it was adapted from.
	Base string
	// Table is in the format that package builtin describes.
	Table []byte
	// Questions, Gain and P are what it was found to be worth, for the audit.
	Questions int
	Gain, P   float64
}

// Table gives the adapted table that search uses. NotFound where it uses none.
func (a *Admin) Table(ctx context.Context, req core.Request) (table []byte, err error) {
	err = a.read(ctx, req, "index.table", func() error {
		_, active, err := a.indexer.Active()
		if err != nil {
			return err
		}
		table, err = a.store.TableData(ctx, active.ID)
		return err
	})
	return table, err
}

// Adapt has search use an adapted table. Every instance makes its vectors beside those
// in use, and then switches. Conflict when another model than the built-in one is in
// use, or the program has another table than the one that was adapted.
func (a *Admin) Adapt(ctx context.Context, req core.Request, t AdaptedTable) (model core.Model, err error) {
	err = a.change(ctx, req, "index.adapt", func(by *core.AuditEntry) error {
		_, active, err := a.indexer.Active()
		if err != nil {
			return err
		}
		stored, err := t.stored(active)
		if err != nil {
			return err
		}
		by.Details = details("model", map[string]any{"name": stored.Name, "base": t.Base, "questions": t.Questions, "gain": t.Gain, "p": t.P})
		if model, err = a.store.ChooseTable(ctx, *by, stored); err != nil {
			return err
		}
		a.indexer.Poke()
		return nil
	})
	return model, err
}

// stored checks a table, and gives it a name of its own: vectors of one table mean
// nothing to queries of another. What the active model weighs holds on.
func (t *AdaptedTable) stored(active core.Model) (postgres.Table, error) {
	if active.Provider != "builtin" {
		return postgres.Table{}, core.Errorf(core.Conflict, "search uses %s/%s: only the built-in model can be adapted", active.Provider, active.Name)
	}
	if t.Base != builtin.Name {
		return postgres.Table{}, core.Errorf(core.Conflict, "this server has the table %s, not %.100s", builtin.Name, t.Base).
			WithHint("adapt it with the program of the server's version")
	}
	table, err := builtin.Parse(string(t.Table))
	if err != nil {
		return postgres.Table{}, core.Errorf(core.InvalidParams, "this is no table of the built-in model: %v", err)
	}
	base, err := builtin.New()
	if err != nil {
		return postgres.Table{}, err
	}
	if table.Dimensions() != base.Dimensions() {
		return postgres.Table{}, core.Errorf(core.InvalidParams, "the table has %d dimensions, want %d", table.Dimensions(), base.Dimensions())
	}
	hash := sha256.Sum256(t.Table)
	provider, name, _ := strings.Cut(builtin.Name, "/")
	return postgres.Table{Base: t.Base, Data: t.Table, Model: core.Model{Provider: provider, Dimensions: table.Dimensions(), Weight: active.Weight,
		Name: fmt.Sprintf("%s+%s", name, hex.EncodeToString(hash[:6]))}}, nil
}

// Revert goes back from the adapted table that is in use to the one before it, or to
// the one in the program. It gives the model that is turned away from; the switch
// follows as after Adapt.
func (a *Admin) Revert(ctx context.Context, req core.Request) (model core.Model, err error) {
	err = a.change(ctx, req, "index.revert", func(by *core.AuditEntry) error {
		if model, err = a.store.RevertTable(ctx, *by); err != nil {
			return err
		}
		a.indexer.Poke()
		return nil
	})
	return model, err
}
