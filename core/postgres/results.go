package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
)

// The bounds of results that are kept for those who may want the rest of them.
const (
	// MaxResult is the size of one result.
	MaxResult = 16 << 20
	// MaxResults is what is kept for one user: of more, the oldest go first. Calls
	// at the same moment may pass it by what they bring.
	MaxResults = 64 << 20
	// leastResult is what a small result counts for in MaxResults, which bounds
	// their number.
	leastResult = 64 << 10
)

// Result is a result that was cut before it went out, whole.
type Result struct {
	ID       string
	TenantID string
	// UserID and Agent are who made the call: nobody else may read it.
	UserID   string
	Agent    string
	ServerID string
	// ExpiresAt is by the database's clock; SaveResult sets it.
	ExpiresAt time.Time
	// PageBytes is how much of it is read at a time.
	PageBytes int
	// Body is a CallToolResult.
	Body []byte
}

// NewResultID makes an id that nobody can guess.
func NewResultID() string { return uuid.NewString() }

// SaveResult keeps a result for some time. It makes room among the user's older
// ones. InvalidParams when it is larger than MaxResult.
func (s *Store) SaveResult(ctx context.Context, r Result, ttl time.Duration) error {
	if len(r.Body) > MaxResult {
		return core.Errorf(core.InvalidParams, "a result of more than %d MiB is not kept", MaxResult>>20)
	}
	_, err := s.pool.Exec(ctx, saveResult, pgx.StrictNamedArgs{"id": r.ID, "tenant": r.TenantID, "user": r.UserID,
		"agent": clean(r.Agent), "server": r.ServerID, "ttl": ttl, "page": r.PageBytes, "size": len(r.Body), "body": r.Body,
		"least": leastResult, "most": MaxResults})
	return wrap("save a result", err)
}

// saveResult deletes what of a user's has expired or is too much beside the new one.
// The rows that both refer to are locked first, as by whoever deletes a user or a
// server with its results.
const saveResult = `
	with owners as (
	    select from users u, mcp_servers s where u.id = @user and s.id = @server for key share
	), sized as (
	    select id, expires_at, sum(greatest(size, @least::bigint)) over (order by created_at desc, id desc) as newer
	    from results where user_id = @user
	), room as (
	    delete from results r using owners, sized
	    where r.id = sized.id and (sized.expires_at <= now() or sized.newer + greatest(@size, @least::bigint) > @most::bigint)
	)
	insert into results (id, tenant_id, user_id, agent, server_id, expires_at, page_bytes, size, body)
	values (@id, @tenant, @user, @agent, @server, now() + @ttl, @page, @size::bigint, @body)`

// Result gives a result to who made the call: NotFound to everybody else, and once
// it has expired.
func (s *Store) Result(ctx context.Context, p core.Principal, id string) (Result, error) {
	if err := checkID("result", id); err != nil {
		return Result{}, err
	}
	r := Result{ID: id, TenantID: p.TenantID, UserID: p.UserID, Agent: p.Agent}
	err := s.pool.QueryRow(ctx, `
		select server_id, expires_at, page_bytes, body from results
		where id = @id and tenant_id = @tenant and user_id = @user and agent = @agent and expires_at > now()`,
		pgx.StrictNamedArgs{"id": id, "tenant": p.TenantID, "user": p.UserID, "agent": clean(p.Agent)}).
		Scan(&r.ServerID, &r.ExpiresAt, &r.PageBytes, &r.Body)
	if errors.Is(err, pgx.ErrNoRows) {
		return Result{}, notFound("result")
	}
	return r, wrap("read a result", err)
}

// PruneResults deletes the results that have expired, and says how many.
func (s *Store) PruneResults(ctx context.Context) (int64, error) {
	tag, err := s.pool.Exec(ctx, `delete from results where expires_at <= now()`)
	return tag.RowsAffected(), wrap("prune results", err)
}
