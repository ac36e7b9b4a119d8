package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
)

// Authenticate gives the principal who holds a token, by the SHA-256 of the
// secret, with the revisions of the catalog, of the user and of the hooks. Unauthenticated when
// the token is unknown, expired or revoked. It is the first thing that happens to
// a request, and sees every change that was done before.
func (s *Store) Authenticate(ctx context.Context, secretHash [32]byte) (core.Principal, error) {
	p, err := s.leases.principal(ctx, secretHash)
	if err == nil {
		s.uses.note(p.TokenID)
	}
	return p, err
}

// authenticate is one query by a unique key.
func (s *Store) authenticate(ctx context.Context, secretHash [32]byte) (core.Principal, error) {
	const query = `
		select u.tenant_id, u.id, u.name, u.roles, t.id, t.agent, r.catalog, u.revision, r.hooks, e.listening_until > now(),
		       t.revoked_at is not null, coalesce(t.expires_at <= now(), false)
		from api_tokens t join users u on u.id = t.user_id cross join revision r cross join event_state e
		where t.secret_hash = $1`
	var p core.Principal
	var revoked, expired bool
	err := s.pool.QueryRow(ctx, query, secretHash[:]).Scan(&p.TenantID, &p.UserID, &p.UserName, &p.Roles,
		&p.TokenID, &p.Agent, &p.Seen.Catalog, &p.Seen.User, &p.Seen.Hooks, &p.Seen.Listening, &revoked, &expired)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return core.Principal{}, core.Errorf(core.Unauthenticated, "the token is not known")
	case err != nil:
		return core.Principal{}, wrap("authenticate", err)
	case revoked:
		return core.Principal{}, core.Errorf(core.Unauthenticated, "the token was revoked")
	case expired:
		return core.Principal{}, core.Errorf(core.Unauthenticated, "the token has expired")
	}
	return p, nil
}

// saveUses writes that tokens were used. The condition spares the write when
// another instance has just done it.
func (s *Store) saveUses(ctx context.Context, tokenIDs []string) error {
	_, err := s.pool.Exec(ctx, `
		update api_tokens set last_used_at = now()
		where id = any($1) and (last_used_at is null or last_used_at < now() - $2::interval)`,
		tokenIDs, useInterval-time.Second)
	return wrap("record use of tokens", err)
}

// EnsureAdmin sees to it that there is a user of this name in the default tenant,
// with the role admin, who holds this token. It changes nothing that is so
// already, and does not bring back a token that was revoked. Conflict when the
// token belongs to somebody else.
func (s *Store) EnsureAdmin(ctx context.Context, name string, secretHash [32]byte) error {
	return s.tx(ctx, "ensure admin", func(tx pgx.Tx) error {
		userID, err := ensureAdminUser(ctx, tx, clean(name))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			insert into api_tokens (id, user_id, name, secret_hash) values ($1, $2, 'first admin token', $3)
			on conflict (secret_hash) do nothing`, newID(), userID, secretHash[:])
		if err != nil {
			return err
		}
		var holder string
		var revoked bool
		err = tx.QueryRow(ctx, `select user_id, revoked_at is not null from api_tokens where secret_hash = $1`,
			secretHash[:]).Scan(&holder, &revoked)
		if err != nil {
			return err
		}
		if holder != userID {
			return core.Errorf(core.Conflict, "the admin token belongs to a user other than %q", name)
		}
		if revoked {
			s.log.Warn("the admin token was revoked and stays so", "user", name)
		}
		return nil
	})
}

func ensureAdminUser(ctx context.Context, tx pgx.Tx, name string) (string, error) {
	_, err := tx.Exec(ctx, `
		insert into users (id, tenant_id, name, roles) values ($1, $2, $3, array[$4::text])
		on conflict (tenant_id, name) do nothing`, newID(), core.DefaultTenant, name, core.RoleAdmin)
	if err != nil {
		return "", err
	}
	var id string
	var roles []string
	err = tx.QueryRow(ctx, `select id, roles from users where tenant_id = $1 and name = $2 for update`,
		core.DefaultTenant, name).Scan(&id, &roles)
	if err != nil || (core.Principal{Roles: roles}).Admin() {
		return id, err
	}
	_, err = tx.Exec(ctx, `
		update users set roles = roles || $2::text, revision = revision + 1, updated_at = now() where id = $1`,
		id, core.RoleAdmin)
	return id, err
}
