package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/toolscout/toolscout/core"
)

const modelColumns = `id, provider, name, dimensions, active, coalesce(weight, 0) as weight, created_at`

// indexFrom is the number of vectors from which on an HNSW index pays. Below, an
// exact scan takes 10 ms or less and misses nothing.
const indexFrom = 20_000

// Models gives the embedding models on record, the oldest first.
func (s *Store) Models(ctx context.Context) ([]core.Model, error) {
	rows, err := s.pool.Query(ctx, `select `+modelColumns+` from embedding_models order by id`)
	if err != nil {
		return nil, wrap("list models", err)
	}
	models, err := pgx.CollectRows(rows, pgx.RowToStructByName[core.Model])
	return models, wrap("list models", err)
}

// EnsureModel gives the model of a provider by name, put on record if it is new.
// Conflict when it is on record with another dimension: its vectors would not be
// comparable.
func (s *Store) EnsureModel(ctx context.Context, provider, name string, dimensions int) (core.Model, error) {
	var model core.Model
	err := s.tx(ctx, "ensure model", func(tx pgx.Tx) (err error) {
		model, err = ensureModel(ctx, tx, provider, name, dimensions)
		return err
	})
	return model, err
}

func ensureModel(ctx context.Context, tx pgx.Tx, provider, name string, dimensions int) (core.Model, error) {
	_, err := tx.Exec(ctx, `
		insert into embedding_models (provider, name, dimensions)
		select $1, $2, $3 where not exists (select from embedding_models where provider = $1 and name = $2)
		on conflict (provider, name) do nothing`, clean(provider), clean(name), dimensions)
	if err != nil {
		return core.Model{}, err
	}
	rows, err := tx.Query(ctx, `select `+modelColumns+` from embedding_models where provider = $1 and name = $2`,
		clean(provider), clean(name))
	if err != nil {
		return core.Model{}, err
	}
	model, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[core.Model])
	if err != nil {
		return core.Model{}, err
	}
	if model.Dimensions != dimensions {
		return core.Model{}, core.Errorf(core.Conflict, "the embedding model %q has %d dimensions on record and now gives %d",
			model.Name, model.Dimensions, dimensions).WithHint("configure it under another name")
	}
	return model, nil
}

// ActivateModel makes a model the one that is searched with. NotFound when there
// is none with this id.
func (s *Store) ActivateModel(ctx context.Context, id int64) error {
	return s.tx(ctx, "activate model", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `update embedding_models set active = false where active and id <> $1`, id); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `update embedding_models set active = true where id = $1`, id)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return notFound("embedding model")
		}
		return notify(ctx, tx, fmt.Sprintf("model %d", id))
	})
}

// SetModelWeight sets the share of meaning against words in the scores of searches
// with a model; 0 takes it back. InvalidParams when it is not from 0 to 1, NotFound
// when there is no model with this id.
func (s *Store) SetModelWeight(ctx context.Context, by core.AuditEntry, id int64, weight float64) (core.Model, error) {
	if !(weight >= 0 && weight < 1) {
		return core.Model{}, core.Errorf(core.InvalidParams, "the weight %g is not from 0 to below 1", weight)
	}
	var model core.Model
	err := s.tx(ctx, "set the weight of a model", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `update embedding_models set weight = nullif($2::double precision, 0) where id = $1 returning `+modelColumns, id, weight)
		if err != nil {
			return err
		}
		model, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[core.Model])
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound("embedding model")
		}
		if err != nil {
			return err
		}
		if err := record(ctx, tx, by); err != nil {
			return err
		}
		return notify(ctx, tx, fmt.Sprintf("model %d", id))
	})
	return model, err
}

func (s *Store) model(ctx context.Context, id int64) (core.Model, error) {
	rows, err := s.pool.Query(ctx, `select `+modelColumns+` from embedding_models where id = $1`, id)
	if err != nil {
		return core.Model{}, err
	}
	model, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[core.Model])
	if errors.Is(err, pgx.ErrNoRows) {
		return core.Model{}, notFound("embedding model")
	}
	return model, err
}

// BuildVectorIndex builds the HNSW index of a model, unless it is there or would
// not pay yet, or another instance is building it at this moment. Searches and
// changes go on meanwhile; it can take minutes.
func (s *Store) BuildVectorIndex(ctx context.Context, modelID int64) error {
	return wrap("build vector index", s.buildVectorIndex(ctx, modelID))
}

func (s *Store) buildVectorIndex(ctx context.Context, modelID int64) (err error) {
	model, err := s.model(ctx, modelID)
	if err != nil {
		return err
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	// The session's settings and lock go with the connection.
	defer func() {
		raw := conn.Hijack()
		err = errors.Join(err, raw.Close(context.WithoutCancel(ctx)))
	}()
	// Without workers: they would share as much memory in /dev/shm, which in a
	// container ends at 64 MB, and take the processors from callers.
	_, err = conn.Exec(ctx, `set statement_timeout = 0; set maintenance_work_mem = '512MB'; set max_parallel_maintenance_workers = 0`)
	if err != nil {
		return err
	}
	// Not a lock to wait for: building concurrently waits in turn for everybody who
	// is in a statement, and so for whoever waits for it.
	var first bool
	err = conn.QueryRow(ctx, `select pg_try_advisory_lock(hashtextextended('toolscout vector index', 0))`).Scan(&first)
	if err != nil || !first {
		return err
	}
	if err := dropForsaken(ctx, conn); err != nil {
		return err
	}
	name := fmt.Sprintf("tool_embeddings_model_%d", modelID)
	var worth, valid, broken bool
	err = conn.QueryRow(ctx, `
		select (select count(*) from (select from tool_embeddings where model_id = $1 limit $2) e) = $2,
		       coalesce((select indisvalid from pg_index where indexrelid = to_regclass($3)), false),
		       coalesce((select not indisvalid from pg_index where indexrelid = to_regclass($3)), false)`,
		modelID, indexFrom, "toolscout."+name).Scan(&worth, &valid, &broken)
	if err != nil || valid || !worth {
		return err
	}
	if broken { // an earlier build was interrupted
		if _, err := conn.Exec(ctx, `drop index concurrently toolscout.`+name); err != nil {
			return err
		}
	}
	_, err = conn.Exec(ctx, fmt.Sprintf(`
		create index concurrently %s on toolscout.tool_embeddings using hnsw ((emb::halfvec(%d)) halfvec_ip_ops)
		with (m = 16, ef_construction = 128) where model_id = %d`, name, model.Dimensions, modelID))
	return err
}

// dropForsaken drops the indexes of models that are not on record any more.
func dropForsaken(ctx context.Context, conn *pgxpool.Conn) error {
	rows, err := conn.Query(ctx, `
		select indexname from pg_indexes where schemaname = 'toolscout' and indexname ~ '^tool_embeddings_model_[0-9]+$'
		and not exists (select from embedding_models where indexname = 'tool_embeddings_model_' || id)`)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := conn.Exec(ctx, `drop index concurrently if exists toolscout.`+name); err != nil {
			return err
		}
	}
	return nil
}
