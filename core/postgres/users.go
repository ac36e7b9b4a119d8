package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
)

const userColumns = `id, name, email, roles, created_at, updated_at`

// tenant is id, or the default one where none is named.
func tenant(id string) string {
	if id == "" {
		return core.DefaultTenant
	}
	return clean(id)
}

// CreateUser registers a user in the tenant of by. Conflict when the name is
// taken. The id is made here.
func (s *Store) CreateUser(ctx context.Context, by core.AuditEntry, u core.User) (core.User, error) {
	var created core.User
	err := s.tx(ctx, "create user", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			insert into users (id, tenant_id, name, email, roles) values ($1, $2, $3, $4, $5)
			returning `+userColumns, newID(), tenant(by.TenantID), clean(u.Name), clean(u.Email), roleSet(u.Roles))
		if err != nil {
			return err
		}
		if created, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[core.User]); err != nil {
			return err
		}
		return recordUser(ctx, tx, by, created)
	})
	return created, err
}

// User gives one user. NotFound when there is none in the tenant.
func (s *Store) User(ctx context.Context, tenantID, id string) (core.User, error) {
	if err := checkID("user", id); err != nil {
		return core.User{}, err
	}
	rows, err := s.pool.Query(ctx, `select `+userColumns+` from users where tenant_id = $1 and id = $2`, tenant(tenantID), id)
	if err != nil {
		return core.User{}, wrap("read user", err)
	}
	u, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[core.User])
	if errors.Is(err, pgx.ErrNoRows) {
		return core.User{}, notFound("user")
	}
	return u, wrap("read user", err)
}

// FindUser gives one user by id or name. NotFound when there is none in the tenant.
func (s *Store) FindUser(ctx context.Context, tenantID, idOrName string) (core.User, error) {
	rows, err := s.pool.Query(ctx, `
		select `+userColumns+` from users where tenant_id = $1 and (id::text = lower($2) or name = $2)
		order by (id::text = lower($2)) desc limit 1`, tenant(tenantID), clean(idOrName))
	if err != nil {
		return core.User{}, wrap("find user", err)
	}
	u, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[core.User])
	if errors.Is(err, pgx.ErrNoRows) {
		return core.User{}, notFound("user")
	}
	return u, wrap("find user", err)
}

// Users lists a tenant's users by name.
func (s *Store) Users(ctx context.Context, tenantID string, p core.Page) (core.List[core.User], error) {
	after, err := readCursor(p.Cursor)
	if err != nil {
		return core.List[core.User]{}, err
	}
	rows, err := s.pool.Query(ctx, `
		select `+userColumns+` from users
		where tenant_id = $1 and ($3 = '' or (name, id) > ($2, nullif($3, '')::uuid))
		order by name, id limit $4`, tenant(tenantID), after.Key, after.ID, limit(p)+1)
	if err != nil {
		return core.List[core.User]{}, wrap("list users", err)
	}
	users, err := pgx.CollectRows(rows, pgx.RowToStructByName[core.User])
	if err != nil {
		return core.List[core.User]{}, wrap("list users", err)
	}
	return page(users, limit(p), func(u core.User) cursor { return cursor{Key: u.Name, ID: u.ID} }), nil
}

// UpdateUser replaces name, e-mail address and roles of the user u.ID. Conflict
// when that would leave nobody with the role admin.
func (s *Store) UpdateUser(ctx context.Context, by core.AuditEntry, u core.User) (core.User, error) {
	if err := checkID("user", u.ID); err != nil {
		return core.User{}, err
	}
	var updated core.User
	err := s.tx(ctx, "update user", func(tx pgx.Tx) error {
		if !slices.Contains(u.Roles, core.RoleAdmin) {
			if err := checkNotLastAdmin(ctx, tx, tenant(by.TenantID), u.ID); err != nil {
				return err
			}
		}
		rows, err := tx.Query(ctx, `
			update users set name = $3, email = $4, roles = $5, revision = revision + 1, updated_at = now()
			where tenant_id = $1 and id = $2 returning `+userColumns,
			tenant(by.TenantID), u.ID, clean(u.Name), clean(u.Email), roleSet(u.Roles))
		if err != nil {
			return err
		}
		updated, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[core.User])
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound("user")
		}
		if err != nil {
			return err
		}
		if err := recordUser(ctx, tx, by, updated); err != nil {
			return err
		}
		return notify(ctx, tx, "user "+u.ID)
	})
	return updated, err
}

// DeleteUser deletes a user with their tokens, preferences, hooks and own servers. What
// they did stays in the audit under their name. Conflict for the last admin.
func (s *Store) DeleteUser(ctx context.Context, by core.AuditEntry, tenantID, id string) error {
	if err := checkID("user", id); err != nil {
		return err
	}
	return s.tx(ctx, "delete user", func(tx pgx.Tx) error {
		next, err := lockCatalog(ctx, tx)
		if err != nil {
			return err
		}
		if err := checkNotLastAdmin(ctx, tx, tenant(tenantID), id); err != nil {
			return err
		}
		if err := buryTools(ctx, tx, next, `owner_id = $2`, id); err != nil {
			return err
		}
		if err := dropHooks(ctx, tx, `user_id = $1 or server_id in (select id from mcp_servers where owner_id = $1)`, id); err != nil {
			return err
		}
		owned, err := tx.Exec(ctx, `delete from mcp_servers where owner_id = $1 and tenant_id = $2`, id, tenant(tenantID))
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `delete from users where tenant_id = $1 and id = $2 returning `+userColumns, tenant(tenantID), id)
		if err != nil {
			return err
		}
		deleted, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[core.User])
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound("user")
		}
		if err != nil {
			return err
		}
		if err := recordUser(ctx, tx, by, deleted); err != nil {
			return err
		}
		if owned.RowsAffected() > 0 {
			return publishCatalog(ctx, tx, next)
		}
		return nil
	})
}

// checkNotLastAdmin is a Conflict when nobody but this user is an admin. It locks
// the user and all admins, so that two of them cannot take the role from each
// other at once.
func checkNotLastAdmin(ctx context.Context, tx pgx.Tx, tenantID, id string) error {
	rows, err := tx.Query(ctx, `
		select id from users where tenant_id = $1 and ($2 = any(roles) or id = $3) order by id for update`,
		tenantID, core.RoleAdmin, id)
	if err != nil {
		return err
	}
	locked, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if !slices.Contains(locked, id) {
		return notFound("user")
	}
	if len(locked) > 1 {
		return nil
	}
	var admin bool
	if err := tx.QueryRow(ctx, `select $2 = any(roles) from users where id = $1`, id, core.RoleAdmin).Scan(&admin); err != nil {
		return err
	}
	if !admin {
		return nil
	}
	return core.Errorf(core.Conflict, "this is the last user with the role %q", core.RoleAdmin).
		WithHint("give the role to another user first")
}

// recordUser audits a change of a user. Whoever called may have said more.
func recordUser(ctx context.Context, tx pgx.Tx, by core.AuditEntry, u core.User) error {
	if len(by.Details) == 0 {
		by.Details = detail("userId", u.ID, "userName", u.Name)
	}
	return record(ctx, tx, by)
}

// roleSet is roles in order and each once.
func roleSet(roles []string) []string {
	set := cleanAll(roles)
	slices.Sort(set)
	return slices.Compact(set)
}
