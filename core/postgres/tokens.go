package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
)

const tokenColumns = `t.id, t.user_id, t.name, t.agent, t.created_at, t.expires_at, t.last_used_at, t.revoked_at`

// CreateToken registers a token of the user t.UserID by the SHA-256 of its secret.
// Of t only user, name, agent and expiry count. NotFound when there is no such
// user in the tenant of by.
func (s *Store) CreateToken(ctx context.Context, by core.AuditEntry, t core.Token, secretHash [32]byte) (core.Token, error) {
	if err := checkID("user", t.UserID); err != nil {
		return core.Token{}, err
	}
	var created core.Token
	err := s.tx(ctx, "create token", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			insert into api_tokens as t (id, user_id, name, agent, secret_hash, expires_at)
			select @id, u.id, @name, @agent, @hash, @expires::timestamptz
			from users u where u.tenant_id = @tenant and u.id = @user
			returning `+tokenColumns, pgx.StrictNamedArgs{
			"id": newID(), "name": clean(t.Name), "agent": clean(t.Agent), "hash": secretHash[:],
			"expires": t.ExpiresAt, "tenant": tenant(by.TenantID), "user": t.UserID})
		if err != nil {
			return err
		}
		created, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[core.Token])
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound("user")
		}
		if err != nil {
			return err
		}
		return recordToken(ctx, tx, by, created)
	})
	return created, err
}

// Tokens lists a user's tokens by age, the revoked ones too. NotFound when there
// is no such user in the tenant.
func (s *Store) Tokens(ctx context.Context, tenantID, userID string, p core.Page) (core.List[core.Token], error) {
	after, err := readCursor(p.Cursor)
	if err != nil {
		return core.List[core.Token]{}, err
	}
	if _, err := s.User(ctx, tenantID, userID); err != nil {
		return core.List[core.Token]{}, err
	}
	rows, err := s.pool.Query(ctx, `
		select `+tokenColumns+` from api_tokens t
		where t.user_id = $1 and ($2 = '' or t.id > nullif($2, '')::uuid)
		order by t.id limit $3`, userID, after.ID, limit(p)+1)
	if err != nil {
		return core.List[core.Token]{}, wrap("list tokens", err)
	}
	tokens, err := pgx.CollectRows(rows, pgx.RowToStructByName[core.Token])
	if err != nil {
		return core.List[core.Token]{}, wrap("list tokens", err)
	}
	return page(tokens, limit(p), func(t core.Token) cursor { return cursor{ID: t.ID} }), nil
}

// RevokeToken ends a token for good. Revoking it again changes nothing. NotFound
// when the user has no such token.
func (s *Store) RevokeToken(ctx context.Context, by core.AuditEntry, tenantID, userID, tokenID string) error {
	if err := errors.Join(checkID("token", userID), checkID("token", tokenID)); err != nil {
		return notFound("token")
	}
	return s.tx(ctx, "revoke token", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			update api_tokens t set revoked_at = coalesce(t.revoked_at, now())
			from users u where u.id = t.user_id and u.tenant_id = $1 and u.id = $2 and t.id = $3
			returning `+tokenColumns, tenant(tenantID), userID, tokenID)
		if err != nil {
			return err
		}
		revoked, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[core.Token])
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound("token")
		}
		if err != nil {
			return err
		}
		return recordToken(ctx, tx, by, revoked)
	})
}

func recordToken(ctx context.Context, tx pgx.Tx, by core.AuditEntry, t core.Token) error {
	if len(by.Details) == 0 {
		by.Details = detail("userId", t.UserID, "tokenId", t.ID, "tokenName", t.Name)
	}
	return record(ctx, tx, by)
}
