package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
)

// keptTables is how many tables that were turned away from are kept, to go back to.
const keptTables = 2

// Table is a table of the built-in model that was adapted.
type Table struct {
	core.Model
	// Base is the name of the model that it was adapted from.
	Base string
	// Data is the table itself, 16 MiB at most.
	Data []byte
}

// wantedTable is the table chosen last, of those that were not turned away from.
const wantedTable = `(select model_id from embedding_tables where chosen_at is not null order by chosen_at desc, model_id desc limit 1)`

// WantedTable gives the model of the adapted table that is to be searched with, and
// false where it is the one in the program.
func (s *Store) WantedTable(ctx context.Context) (core.Model, bool, error) {
	rows, err := s.pool.Query(ctx, `select `+modelColumns+` from embedding_models where id = `+wantedTable)
	if err != nil {
		return core.Model{}, false, wrap("look for an adapted table", err)
	}
	model, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[core.Model])
	if errors.Is(err, pgx.ErrNoRows) {
		return core.Model{}, false, nil
	}
	return model, err == nil, wrap("look for an adapted table", err)
}

// TableData gives an adapted table. NotFound when the model has none.
func (s *Store) TableData(ctx context.Context, modelID int64) ([]byte, error) {
	var data []byte
	err := s.pool.QueryRow(ctx, `select data from embedding_tables where model_id = $1`, modelID).Scan(&data)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, notFound("adapted table of this embedding model")
	}
	return data, wrap("read an adapted table", err)
}

// ChooseTable stores an adapted table under its model's name and says that it is the
// one to be searched with: every instance makes its vectors and then switches. Of the
// tables before it the last few stay, to go back to. Conflict when the name is on
// record with another dimension.
func (s *Store) ChooseTable(ctx context.Context, by core.AuditEntry, t Table) (core.Model, error) {
	var model core.Model
	err := s.tx(ctx, "choose a table", func(tx pgx.Tx) (err error) {
		if err := lockTables(ctx, tx); err != nil {
			return err
		}
		if model, err = ensureModel(ctx, tx, t.Provider, t.Name, t.Dimensions); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			insert into embedding_tables (model_id, base, data, chosen_at) values ($1, $2, $3, clock_timestamp())
			on conflict (model_id) do update set chosen_at = excluded.chosen_at`, model.ID, clean(t.Base), t.Data)
		if err != nil {
			return err
		}
		if t.Weight > 0 {
			if _, err := tx.Exec(ctx, `update embedding_models set weight = $2 where id = $1`, model.ID, t.Weight); err != nil {
				return err
			}
			model.Weight = t.Weight
		}
		if err := forgetTables(ctx, tx); err != nil {
			return err
		}
		if err := record(ctx, tx, by); err != nil {
			return err
		}
		return notify(ctx, tx, fmt.Sprintf("model %d", model.ID))
	})
	return model, err
}

// lockTables lets one choice be made at a time, so that the last is the last, and who
// goes back at the same time as another goes back from what that one left.
func lockTables(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `lock table embedding_tables in share row exclusive mode`)
	return err
}

// forgetTables deletes, with their vectors, tables that nobody will go back to.
func forgetTables(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
		delete from embedding_models where not active and id in (
			select model_id from embedding_tables order by chosen_at desc nulls last, model_id desc offset $1)`, 1+keptTables)
	return err
}

// RevertTable turns away from the table chosen last: the one before it is searched
// with again, or the one in the program. It gives what was turned away from. Each call
// goes back one step: of two at the same time, the second goes back from where the first
// has led. NotFound when no table was chosen.
func (s *Store) RevertTable(ctx context.Context, by core.AuditEntry) (core.Model, error) {
	var model core.Model
	err := s.tx(ctx, "go back to the table before", func(tx pgx.Tx) error {
		if err := lockTables(ctx, tx); err != nil {
			return err
		}
		var id int64
		err := tx.QueryRow(ctx, `update embedding_tables set chosen_at = null where model_id = `+wantedTable+` returning model_id`).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return core.Errorf(core.NotFound, "the table of the built-in model is the one in the program: there is none to go back from")
		}
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `select `+modelColumns+` from embedding_models where id = $1`, id)
		if err != nil {
			return err
		}
		if model, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[core.Model]); err != nil {
			return err
		}
		if err := record(ctx, tx, by); err != nil {
			return err
		}
		return notify(ctx, tx, fmt.Sprintf("model %d", id))
	})
	return model, err
}
