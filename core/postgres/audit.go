package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
)

// AuditFilter narrows down what the audit shows. Zero fields do not narrow.
type AuditFilter struct {
	TenantID string
	// Since is the first moment that counts, Until the first that does not.
	Since, Until time.Time
	Action       string
	ActorID      string
	Outcome      core.Outcome
	ToolID       string
	ServerID     string
	RequestID    string
	Level        string
}

const auditColumns = `id, time, tenant_id, request_id, level, action, actor_id, actor, agent,
	tool_id, tool_name, server_id, server_name, outcome, error_kind, duration_ms, details`

const auditTypes = `$1::uuid[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
	$8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[],
	$16::double precision[], $17::json[]`

// A batch that was sent again, because nobody knows whether it arrived, must not
// leave two rows.
const (
	insertAudit = `insert into mcp_config_audit (` + auditColumns + `)
		select * from unnest(` + auditTypes + `) on conflict (id) do nothing`
	insertUsage = `insert into tool_usage (` + auditColumns + `, schema_hash)
		select * from unnest(` + auditTypes + `, $18::text[]) on conflict (id) do nothing`
)

// AppendAudit writes entries, all or none, in one round trip. Entries without an
// id get one, written into the slice: after an error the same slices can be sent
// again, and no row is written twice.
func (s *Store) AppendAudit(ctx context.Context, audit []core.AuditEntry, usage []core.UsageEntry) error {
	var batch pgx.Batch
	if len(audit) > 0 {
		var c auditArrays
		for i := range audit {
			complete(&audit[i])
			c.add(&audit[i])
		}
		batch.Queue(insertAudit, c.args()...)
	}
	if len(usage) > 0 {
		var c auditArrays
		hashes := make([]string, len(usage))
		for i := range usage {
			complete(&usage[i].AuditEntry)
			c.add(&usage[i].AuditEntry)
			hashes[i] = clean(usage[i].SchemaHash)
		}
		batch.Queue(insertUsage, append(c.args(), hashes)...)
	}
	if batch.Len() == 0 {
		return nil
	}
	return wrap("append audit", s.pool.SendBatch(ctx, &batch).Close())
}

// record writes the audit row of a change of configuration within its
// transaction, and announces it: no change without its row, no row without its
// change.
func record(ctx context.Context, tx pgx.Tx, entries ...core.AuditEntry) error {
	if len(entries) == 0 {
		return nil
	}
	var c auditArrays
	for i := range entries {
		entries[i].Outcome, entries[i].ErrorKind = core.OutcomeOK, ""
		complete(&entries[i])
		c.add(&entries[i])
	}
	if _, err := tx.Exec(ctx, insertAudit, c.args()...); err != nil {
		return fmt.Errorf("record change: %w", err)
	}
	return announce(ctx, tx, configChanged(entries)...)
}

// complete fills in what every row has.
func complete(e *core.AuditEntry) {
	if !isID(e.ID) {
		e.ID = newID()
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	if e.TenantID == "" {
		e.TenantID = core.DefaultTenant
	}
	if e.Level == "" {
		e.Level = core.LevelConfig
	}
	if e.Outcome == "" {
		e.Outcome = core.OutcomeOK
	}
}

// auditArrays are entries by column, as unnest takes them.
type auditArrays struct {
	times     []time.Time
	texts     [14][]string // all text columns in their order, the id first
	durations []float64
	details   []*string
}

func (c *auditArrays) add(e *core.AuditEntry) {
	c.times = append(c.times, e.Time)
	for i, text := range []string{e.ID, e.TenantID, e.RequestID, e.Level, e.Action, e.ActorID, e.Actor, e.Agent,
		e.ToolID, e.ToolName, e.ServerID, e.ServerName, string(e.Outcome), string(e.ErrorKind)} {
		c.texts[i] = append(c.texts[i], clean(text))
	}
	c.durations = append(c.durations, e.DurationMs)
	c.details = append(c.details, details(e.Details))
}

func (c *auditArrays) args() []any {
	args := []any{c.texts[0], c.times}
	for _, texts := range c.texts[1:] {
		args = append(args, texts)
	}
	return append(args, c.durations, c.details)
}

// details is a document for certain: what is not JSON is kept as a string, since
// a row must not be lost over it.
func details(raw json.RawMessage) *string {
	if len(raw) == 0 || json.Valid(raw) {
		return document(raw)
	}
	quoted, err := json.Marshal(string(raw))
	if err != nil {
		panic(err) // a string
	}
	return document(quoted)
}

// detail is a details document of one or more name and value pairs.
func detail(pairs ...string) json.RawMessage {
	m := make(map[string]string, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings
	}
	return raw
}

const auditFilter = `
	where tenant_id = @tenant
	  and (@since::timestamptz is null or time >= @since)
	  and (@until::timestamptz is null or time < @until)
	  and (@action = '' or action = @action)
	  and (@actor = '' or actor_id = @actor)
	  and (@outcome = '' or outcome = @outcome)
	  and (@tool = '' or tool_id = @tool)
	  and (@server = '' or server_id = @server)
	  and (@request = '' or request_id = @request)
	  and (@level = '' or level = @level)
	  and (@before_id::uuid is null or (time, id) < (@before_time::timestamptz, @before_id))
	order by time desc, id desc limit @limit`

// Audit lists what happened, the latest first.
func (s *Store) Audit(ctx context.Context, f AuditFilter, p core.Page) (core.List[core.AuditEntry], error) {
	return auditPage(ctx, s, `select `+auditColumns+` from mcp_config_audit`+auditFilter, f, p,
		func(e core.AuditEntry) core.AuditEntry { return e })
}

// Usage lists the real calls of real tools, the latest first.
func (s *Store) Usage(ctx context.Context, f AuditFilter, p core.Page) (core.List[core.UsageEntry], error) {
	return auditPage(ctx, s, `select `+auditColumns+`, schema_hash from tool_usage`+auditFilter, f, p,
		func(e core.UsageEntry) core.AuditEntry { return e.AuditEntry })
}

// auditPage runs a query over one of the two tables. It is planned for the values
// it gets: which of the conditions hold decides which index serves.
func auditPage[T any](ctx context.Context, s *Store, query string, f AuditFilter, p core.Page,
	entry func(T) core.AuditEntry) (core.List[T], error) {
	after, err := readCursor(p.Cursor)
	if err != nil {
		return core.List[T]{}, err
	}
	var beforeID *string
	var beforeTime *time.Time
	if after.ID != "" {
		t, err := after.time()
		if err != nil {
			return core.List[T]{}, err
		}
		beforeID, beforeTime = &after.ID, &t
	}
	rows, err := s.pool.Query(ctx, query, pgx.QueryExecModeCacheDescribe, pgx.StrictNamedArgs{
		"tenant": tenant(f.TenantID), "since": moment(f.Since), "until": moment(f.Until), "action": clean(f.Action),
		"actor": clean(f.ActorID), "outcome": clean(string(f.Outcome)), "tool": clean(f.ToolID), "server": clean(f.ServerID),
		"request": clean(f.RequestID), "level": clean(f.Level),
		"before_id": beforeID, "before_time": beforeTime, "limit": limit(p) + 1,
	})
	if err != nil {
		return core.List[T]{}, wrap("list audit", err)
	}
	items, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		return core.List[T]{}, wrap("list audit", err)
	}
	return page(items, limit(p), func(item T) cursor {
		e := entry(item)
		return cursor{Key: e.Time.Format(time.RFC3339Nano), ID: e.ID}
	}), nil
}

// moment is t, or nil for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// pruneBatch is how many rows are deleted at a time, so that no transaction is
// long and no statement meets the timeout.
const pruneBatch = 20_000

// PruneAudit deletes entries of both kinds from before a moment, and gives their
// number. It is the only way in which rows ever leave.
func (s *Store) PruneAudit(ctx context.Context, before time.Time) (int64, error) {
	var pruned int64
	for _, table := range []string{"mcp_config_audit", "tool_usage"} {
		for {
			n, err := s.pruneSome(ctx, table, before)
			pruned += n
			if err != nil {
				return pruned, wrap("prune audit", err)
			}
			if n < pruneBatch {
				break
			}
		}
	}
	return pruned, nil
}

func (s *Store) pruneSome(ctx context.Context, table string, before time.Time) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var n int64
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `set local toolscout.retention = 'on'`); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, fmt.Sprintf(
			`delete from %[1]s where id = any(array(select id from %[1]s where time < $1 limit $2))`, table), before, pruneBatch)
		n = tag.RowsAffected()
		return err
	})
	return n, err
}
