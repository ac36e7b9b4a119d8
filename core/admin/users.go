package admin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/mail"
	"regexp"
	"strings"
	"time"

	"github.com/toolscout/toolscout/core"
)

// personName is a name for a user or a token.
var personName = regexp.MustCompile(`^[^\s\pC](?:[^\pC]{0,98}[^\s\pC])?$`)

// UserPatch is an edit of a user: what is nil stays.
type UserPatch struct {
	Name, Email *string
	Roles       *[]string
}

// Users lists users.
func (a *Admin) Users(ctx context.Context, req core.Request, page core.Page) (list core.List[core.User], err error) {
	err = a.read(ctx, req, "user.list", func() error {
		list, err = a.store.Users(ctx, req.Principal.TenantID, page)
		return err
	})
	return list, err
}

// User gives one user.
func (a *Admin) User(ctx context.Context, req core.Request, id string) (u core.User, err error) {
	err = a.read(ctx, req, "user.get", func() error {
		u, err = a.store.User(ctx, req.Principal.TenantID, id)
		return err
	})
	return u, err
}

// CreateUser adds a user of the name, email and roles in u.
func (a *Admin) CreateUser(ctx context.Context, req core.Request, u core.User) (core.User, error) {
	err := a.change(ctx, req, "user.create", func(by *core.AuditEntry) (err error) {
		by.Details = details("name", shorten(u.Name))
		if err := invalid(validateUser(u)); err != nil {
			return err
		}
		u, err = a.store.CreateUser(ctx, timed(by), u)
		return err
	})
	return u, err
}

// UpdateUser edits a user. Conflict when that would leave nobody with the role
// admin.
func (a *Admin) UpdateUser(ctx context.Context, req core.Request, id string, p UserPatch) (u core.User, err error) {
	err = a.change(ctx, req, "user.update", func(by *core.AuditEntry) error {
		u, err = a.store.User(ctx, req.Principal.TenantID, id)
		if err != nil {
			return err
		}
		by.Details = details("name", u.Name)
		set(&u.Name, p.Name)
		set(&u.Email, p.Email)
		set(&u.Roles, p.Roles)
		if err := invalid(validateUser(u)); err != nil {
			return err
		}
		u, err = a.store.UpdateUser(ctx, timed(by), u)
		return err
	})
	return u, err
}

// DeleteUser removes a user with their tokens, switches and own servers. What
// they did stays in the audit. Conflict for the last admin.
func (a *Admin) DeleteUser(ctx context.Context, req core.Request, id string) error {
	return a.change(ctx, req, "user.delete", func(by *core.AuditEntry) error {
		u, err := a.store.User(ctx, req.Principal.TenantID, id)
		if err != nil {
			return err
		}
		by.Details = details("name", u.Name)
		return a.store.DeleteUser(ctx, timed(by), req.Principal.TenantID, id)
	})
}

// NewToken is what a token is made of.
type NewToken struct {
	Name string
	// Agent, if set, is the only agent that the token speaks for.
	Agent string
	// ExpiresAt is nil for a token that lasts until it is revoked.
	ExpiresAt *time.Time
}

// Tokens lists a user's tokens, without their secrets.
func (a *Admin) Tokens(ctx context.Context, req core.Request, userID string, page core.Page) (list core.List[core.Token], err error) {
	err = a.read(ctx, req, "token.list", func() error {
		list, err = a.store.Tokens(ctx, req.Principal.TenantID, userID, page)
		return err
	})
	return list, err
}

// CreateToken makes a token for a user and returns its secret, which is stored as
// a hash alone and never seen again.
func (a *Admin) CreateToken(ctx context.Context, req core.Request, userID string, n NewToken) (t core.Token, secret string, err error) {
	err = a.change(ctx, req, "token.create", func(by *core.AuditEntry) error {
		u, err := a.store.User(ctx, req.Principal.TenantID, userID)
		if err != nil {
			return err
		}
		by.Details = details("user", u.Name)
		if err := invalid(validateToken(n)); err != nil {
			return err
		}
		secret = NewSecret()
		t, err = a.store.CreateToken(ctx, timed(by), core.Token{UserID: u.ID, Name: n.Name, Agent: n.Agent, ExpiresAt: n.ExpiresAt},
			sha256.Sum256([]byte(secret)))
		return err
	})
	if err != nil {
		return core.Token{}, "", err
	}
	return t, secret, nil
}

// RevokeToken ends a token: the next request with it is refused.
func (a *Admin) RevokeToken(ctx context.Context, req core.Request, userID, tokenID string) error {
	return a.change(ctx, req, "token.revoke", func(by *core.AuditEntry) error {
		by.Details = details("tokenId", shorten(tokenID))
		return a.store.RevokeToken(ctx, timed(by), req.Principal.TenantID, userID, tokenID)
	})
}

// NewSecret makes the secret of a token: "ts_" and 256 random bits.
func NewSecret() string {
	var raw [32]byte
	rand.Read(raw[:]) // never fails: crypto/rand ends the process instead
	return "ts_" + base64.RawURLEncoding.EncodeToString(raw[:])
}

// SetPreference switches a server for a user. On a hidden server it grants and
// withdraws; on any other it is the switch that the user has as well.
func (a *Admin) SetPreference(ctx context.Context, req core.Request, userID, serverID string, enabled bool) error {
	return a.change(ctx, req, "preference.set", func(by *core.AuditEntry) error {
		u, err := a.store.User(ctx, req.Principal.TenantID, userID)
		if err != nil {
			return err
		}
		s, err := a.store.Server(ctx, req.Principal.TenantID, serverID)
		if err != nil {
			return err
		}
		by.ServerID, by.ServerName = s.ID, s.Name
		by.Details = details("preference", map[string]any{"user": u.Name, "enabled": enabled})
		now, _, err := a.store.Preferences(ctx, u.ID)
		if err != nil {
			return fmt.Errorf("read the preferences: %w", err)
		}
		return a.store.SetPreference(ctx, timed(by), u.ID, s.ID, switched(s.Visibility, now[s.ID], enabled))
	})
}

// switched is what an admin's switch makes of a preference.
func switched(v core.Visibility, p core.Preference, enabled bool) core.Preference {
	if v == core.Hidden && !enabled {
		return core.Preference{}
	}
	return core.Preference{Granted: p.Granted || v == core.Hidden, Enabled: &enabled}
}

func validateUser(u core.User) []core.Fault {
	var f faults
	if !personName.MatchString(u.Name) {
		f.add("/name", "want 1 to 100 characters, without control characters")
	}
	if u.Email != "" {
		addr, err := mail.ParseAddress(u.Email)
		if err != nil || addr.Address != u.Email || strings.ContainsAny(u.Email, " \t\"") || len(u.Email) > 254 {
			f.add("/email", "is not an address")
		}
	}
	if len(u.Roles) > 64 {
		f.add("/roles", "holds %d entries, of which 64 are allowed", len(u.Roles))
	}
	for i, role := range u.Roles {
		if !personName.MatchString(role) {
			f.add(fmt.Sprintf("/roles/%d", i), "want 1 to 100 characters, without control characters")
		}
	}
	return f
}

func validateToken(n NewToken) []core.Fault {
	var f faults
	if !personName.MatchString(n.Name) {
		f.add("/name", "want 1 to 100 characters, without control characters")
	}
	if n.Agent != "" && !personName.MatchString(n.Agent) {
		f.add("/agent", "want at most 100 characters, without control characters")
	}
	if n.ExpiresAt != nil && !n.ExpiresAt.After(time.Now()) {
		f.add("/expiresAt", "is in the past")
	}
	return f
}
