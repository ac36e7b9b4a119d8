package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/toolscout/toolscout/core"
)

// ToolVector is a tool's vector: of unit length, or zero for a text without any
// known word. TextHash is that of the ToolText it was made of.
type ToolVector struct {
	ToolID   string
	TextHash []byte
	Vector   []float32
}

// Place is how far someone has come who goes through the tools in the order of
// their changes: behind this one. The zero Place is before all of them.
type Place struct {
	Revision int64
	ToolID   string
}

// pendingPart is how many tools Pending looks at once: some milliseconds' work.
const pendingPart = 500

// Pending gives tools without a vector of a model for their text as it is now, at
// most limit of them, in the order of their changes and behind a place; and the place
// up to which that is everything, which is after itself when nothing is behind it.
// Whoever goes on from there reads nothing twice: of 100,000 tools that are all done,
// looking from the start costs a hundred times more than looking behind them. There may
// be none before that place and some behind it, since only a part is looked at.
// A tool that cannot be embedded stays pending until it gets some vector: the zero
// vector says that only its words count.
func (s *Store) Pending(ctx context.Context, modelID int64, after Place, limit int) ([]ToolText, Place, error) {
	args := pgx.StrictNamedArgs{"revision": after.Revision, "tool": or(after.ToolID, firstID), "part": pendingPart}
	end := after
	err := s.pool.QueryRow(ctx, `select revision, id from (`+changesPart+`) part order by revision desc, id desc limit 1`, args).
		Scan(&end.Revision, &end.ToolID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, after, nil
	}
	if err != nil {
		return nil, after, wrap("list pending tools", err)
	}
	args["model"], args["limit"] = modelID, max(limit, 1)
	tools, err := s.pending(ctx, `
		select t.id from (`+changesPart+`) t
		where t.removed_at is null and `+lacksVector+` order by t.revision, t.id limit @limit`, args)
	if err != nil {
		return nil, after, err
	}
	if n := len(tools); n == max(limit, 1) {
		end = Place{Revision: tools[n-1].Revision, ToolID: tools[n-1].ID}
	}
	return tools, end, nil
}

// changesPart are the changes behind a place, removals among them: just what the index
// has, so that it is read however wrongly the number of tools is estimated while they
// come in.
const changesPart = `
	select id, revision, text_hash, removed_at from mcp_server_tools
	where (revision, id) > (@revision, @tool::uuid) order by revision, id limit @part`

// PendingLatest is Pending for the tools that changed last, so many of which are
// looked at: a change need not wait for a hundred thousand new tools.
func (s *Store) PendingLatest(ctx context.Context, modelID int64, after Place, among int) ([]ToolText, error) {
	return s.pending(ctx, `
		select t.id from (select id, revision, text_hash, removed_at from mcp_server_tools order by revision desc, id desc limit @limit) t
		where t.revision > @revision and t.removed_at is null and `+lacksVector, pgx.StrictNamedArgs{
		"model": modelID, "revision": after.Revision, "limit": max(among, 1)})
}

// lacksVector looks a tool up by its key: a join may read every vector there is, when
// their number is wrongly estimated.
const lacksVector = `t.text_hash is distinct from (
	select e.text_hash from tool_embeddings e where e.tool_id = t.id and e.model_id = @model)`

// firstID comes before every other id.
const firstID = "00000000-0000-0000-0000-000000000000"

func (s *Store) pending(ctx context.Context, ids string, args pgx.StrictNamedArgs) ([]ToolText, error) {
	rows, err := s.pool.Query(ctx, `
		select `+toolTextColumns+`
		from (`+ids+`) pending
		join mcp_server_tools t on t.id = pending.id join mcp_servers s on s.id = t.server_id
		order by t.revision, t.id`, args)
	if err != nil {
		return nil, wrap("list pending tools", err)
	}
	tools, err := pgx.CollectRows(rows, pgx.RowToStructByName[ToolText])
	return tools, wrap("list pending tools", err)
}

// CountPending gives how many tools lack a vector of a model for their text as it
// is now, and how many tools there are.
func (s *Store) CountPending(ctx context.Context, modelID int64) (pending, total int, err error) {
	err = s.pool.QueryRow(ctx, `
		select count(*) filter (where e.tool_id is null), count(*)
		from mcp_server_tools t
		left join tool_embeddings e on e.tool_id = t.id and e.model_id = $1 and e.text_hash = t.text_hash
		where t.removed_at is null`, modelID).Scan(&pending, &total)
	return pending, total, wrap("count pending tools", err)
}

// SaveVectors writes vectors of a model over those that there are of another text.
// Tools that are gone, or have another text meanwhile, are left out. InvalidParams when a vector
// has another dimension than the model, NotFound when there is no such model.
func (s *Store) SaveVectors(ctx context.Context, modelID int64, vectors []ToolVector) error {
	model, err := s.model(ctx, modelID)
	if err != nil {
		return wrap("save vectors", err)
	}
	toolIDs := make([]string, 0, len(vectors))
	hashes := make([][]byte, 0, len(vectors))
	halves := make([]pgvector.HalfVector, 0, len(vectors))
	for _, v := range vectors {
		if len(v.Vector) != model.Dimensions {
			return core.Errorf(core.InvalidParams, "a vector has %d dimensions, the embedding model %q has %d",
				len(v.Vector), model.Name, model.Dimensions)
		}
		if isID(v.ToolID) {
			toolIDs = append(toolIDs, v.ToolID)
			hashes = append(hashes, v.TextHash)
			halves = append(halves, pgvector.NewHalfVector(v.Vector))
		}
	}
	var batch pgx.Batch
	// Holds off changes of the catalog, so that no tool is removed between its
	// being looked up and its vector being there. A statement of its own: the next
	// one has to see what this one waited for.
	batch.Queue(`select from revision for share`)
	batch.Queue(`
		insert into tool_embeddings (tool_id, model_id, server_id, domain, text_hash, emb)
		select distinct on (t.id) t.id, $1, t.server_id, t.domain, t.text_hash, u.emb
		from unnest($2::uuid[], $3::bytea[], $4::halfvec[]) as u (tool_id, text_hash, emb)
		join mcp_server_tools t on t.id = u.tool_id and t.text_hash = u.text_hash and t.removed_at is null
		order by t.id
		on conflict (tool_id, model_id) do update set server_id = excluded.server_id, domain = excluded.domain,
			text_hash = excluded.text_hash, emb = excluded.emb
		where tool_embeddings.text_hash <> excluded.text_hash`, modelID, toolIDs, hashes, halves)
	return wrap("save vectors", s.pool.SendBatch(ctx, &batch).Close())
}

// OutdateVectors makes every tool pending for a model. The vectors stay, and are
// searched, until each is written anew.
//
// It goes on by key and in parts: each row moves within the HNSW index too, which
// for all rows at once would take longer than a statement may.
func (s *Store) OutdateVectors(ctx context.Context, modelID int64) error {
	const part = 2000
	last := firstID
	for {
		rows, err := s.pool.Query(ctx, `
			update tool_embeddings e set text_hash = ''
			from (select tool_id from tool_embeddings where model_id = $1 and tool_id > $2 order by tool_id limit $3) part
			where e.tool_id = part.tool_id and e.model_id = $1
			returning e.tool_id`, modelID, last, part)
		if err != nil {
			return wrap("outdate vectors", err)
		}
		done, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return wrap("outdate vectors", err)
		}
		if len(done) < part {
			return nil
		}
		last = slices.Max(done)
	}
}
