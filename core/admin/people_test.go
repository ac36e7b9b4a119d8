package admin_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/admin"
	"github.com/toolscout/toolscout/core/postgres"
)

func TestUserFromCreationToDeletion(t *testing.T) {
	t.Parallel()
	b := newBundle(t, admin.Policy{})
	ctx := t.Context()
	u, err := b.CreateUser(ctx, b.admin, core.User{Name: "ada", Email: "ada@example.com", Roles: []string{"dev"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.CreateUser(ctx, b.admin, core.User{Name: "ada"}); !errors.Is(err, core.Conflict) {
		t.Errorf("the same name: %v, want conflict", err)
	}
	u, err = b.UpdateUser(ctx, b.admin, u.ID, admin.UserPatch{Roles: &[]string{"ops"}})
	if err != nil || u.Name != "ada" || u.Email != "ada@example.com" || !cmp.Equal(u.Roles, []string{"ops"}) {
		t.Errorf("edited %+v, %v", u, err)
	}
	if got, err := b.User(ctx, b.admin, u.ID); err != nil || got.Name != "ada" {
		t.Errorf("read %+v, %v", got, err)
	}
	if list, err := b.Users(ctx, b.admin, core.Page{}); err != nil || len(list.Items) != 2 {
		t.Errorf("list %+v, %v", list, err)
	}
	if err := b.DeleteUser(ctx, b.admin, u.ID); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{"delete": b.DeleteUser(ctx, b.admin, u.ID), "nonsense": b.DeleteUser(ctx, b.admin, "x")} {
		if !errors.Is(err, core.NotFound) {
			t.Errorf("%s: %v, want not_found", what, err)
		}
	}
	if err := b.DeleteUser(ctx, b.admin, b.admin.Principal.UserID); !errors.Is(err, core.Conflict) {
		t.Errorf("the last admin: %v, want conflict", err)
	}
	for _, action := range []string{"user.create", "user.update", "user.delete"} {
		rows := b.rows(t, action)
		if last := rows[len(rows)-1]; last.Outcome != core.OutcomeOK || !strings.Contains(string(last.Details), "ada") {
			t.Errorf("%s left the row %+v with %s", action, last, last.Details)
		}
	}
}

func TestUserIsValidated(t *testing.T) {
	t.Parallel()
	b := newBundle(t, admin.Policy{})
	for pointer, u := range map[string]core.User{
		"/name": {Name: " "}, "/email": {Name: "a", Email: "Ada <ada@example.com>"}, "/roles/1": {Name: "a", Roles: []string{"ok", "\n"}},
	} {
		_, err := b.CreateUser(t.Context(), b.admin, u)
		if e := core.Public(err); e == nil || len(e.Faults) != 1 || e.Faults[0].Pointer != pointer {
			t.Errorf("%+v: %+v, want a fault at %s", u, e, pointer)
		}
	}
}

func TestTokenOpensAndIsRevoked(t *testing.T) {
	t.Parallel()
	b := newBundle(t, admin.Policy{})
	ctx := t.Context()
	u, err := b.CreateUser(ctx, b.admin, core.User{Name: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	tomorrow := time.Now().Add(24 * time.Hour)
	token, secret, err := b.CreateToken(ctx, b.admin, u.ID, admin.NewToken{Name: "laptop", Agent: "claude", ExpiresAt: &tomorrow})
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^ts_[A-Za-z0-9_-]{43}$`).MatchString(secret) || secret == admin.NewSecret() {
		t.Errorf("secret %q", secret)
	}
	p, err := b.store.Authenticate(ctx, sha256.Sum256([]byte(secret)))
	if err != nil || p.UserName != "ada" || p.Agent != "claude" {
		t.Errorf("principal %+v, %v", p, err)
	}
	if list, err := b.Tokens(ctx, b.admin, u.ID, core.Page{}); err != nil || len(list.Items) != 1 || list.Items[0].ID != token.ID {
		t.Errorf("list %+v, %v", list, err)
	}
	if err := b.RevokeToken(ctx, b.admin, u.ID, token.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.Authenticate(ctx, sha256.Sum256([]byte(secret))); !errors.Is(err, core.Unauthenticated) {
		t.Errorf("after it was revoked: %v, want unauthenticated", err)
	}
	past := time.Now().Add(-time.Second)
	for name, n := range map[string]admin.NewToken{"no name": {}, "expired": {Name: "x", ExpiresAt: &past}, "agent": {Name: "x", Agent: "a\nb"}} {
		if _, secret, err := b.CreateToken(ctx, b.admin, u.ID, n); !errors.Is(err, core.InvalidParams) || secret != "" {
			t.Errorf("%s: %v, want invalid_params", name, err)
		}
	}
	if _, _, err := b.CreateToken(ctx, b.admin, "0d4cb5a4-4b0b-4a33-a2fb-6a6a3e0ba6b4", admin.NewToken{Name: "x"}); !errors.Is(err, core.NotFound) {
		t.Errorf("for nobody: %v, want not_found", err)
	}
	for _, row := range b.rows(t, "token.create") {
		if strings.Contains(string(row.Details), secret) {
			t.Errorf("the audit holds the secret: %s", row.Details)
		}
	}
}

func TestSetPreference(t *testing.T) {
	t.Parallel()
	b := newBundle(t, admin.Policy{})
	ctx := t.Context()
	u, err := b.CreateUser(ctx, b.admin, core.User{Name: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	p := core.Principal{TenantID: core.DefaultTenant, UserID: u.ID}
	for _, tc := range []struct {
		visibility core.Visibility
		enabled    []bool
		want       core.Access
	}{
		{core.Visible, nil, core.On}, {core.Visible, []bool{false}, core.Off}, {core.Visible, []bool{false, true}, core.On},
		{core.Hidden, nil, core.Invisible}, {core.Hidden, []bool{true}, core.On},
		{core.Hidden, []bool{true, false}, core.Invisible}, {core.Hidden, []bool{false, true}, core.On},
	} {
		s, err := b.store.CreateServer(ctx, core.AuditEntry{}, remote(func(s *core.Server) { s.Name, s.Visibility = admin.NewSecret(), tc.visibility }))
		if err != nil {
			t.Fatal(err)
		}
		for _, enabled := range tc.enabled {
			if err := b.SetPreference(ctx, b.admin, u.ID, s.ID, enabled); err != nil {
				t.Fatal(err)
			}
		}
		prefs, _, err := b.store.Preferences(ctx, u.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := core.AccessTo(p, &s, prefs[s.ID]); got != tc.want {
			t.Errorf("%s after %v: %v, want %v", tc.visibility, tc.enabled, got, tc.want)
		}
	}
	for what, ids := range map[string][2]string{"no user": {"x", "y"}, "no server": {u.ID, "0d4cb5a4-4b0b-4a33-a2fb-6a6a3e0ba6b4"}} {
		if err := b.SetPreference(ctx, b.admin, ids[0], ids[1], true); !errors.Is(err, core.NotFound) {
			t.Errorf("%s: %v, want not_found", what, err)
		}
	}
}

func TestIndexDomainsAndTrial(t *testing.T) {
	t.Parallel()
	b := newBundle(t, admin.Policy{LoopbackOnly: true})
	ctx := t.Context()
	s, err := b.CreateServer(ctx, b.admin, core.Server{Name: "echo", Transport: core.HTTP, URL: newUpstream(t), Domain: "texts"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	status, err := b.IndexStatus(ctx, b.admin)
	if err != nil || status.State != "idle" || status.Indexed != 1 || status.Model != "builtin/words-256-v2" {
		t.Errorf("status %+v, %v", status, err)
	}
	if status, err = b.StartIndex(ctx, b.admin, true); err != nil || status.Total != 1 {
		t.Errorf("status %+v, %v", status, err)
	}
	if models, err := b.Models(ctx, b.admin); err != nil || len(models) != 1 || !models[0].Active {
		t.Errorf("models %+v, %v", models, err)
	}
	answer, err := b.TrySearch(ctx, b.admin, admin.Trial{Query: "give me the text back"})
	if err != nil || len(answer.Hits) != 1 || answer.Hits[0].Tool.Name != "echo" || answer.Hits[0].ServerName != "echo" || answer.Model == "" {
		t.Errorf("answer %+v, %v", answer, err)
	}
	for pointer, trial := range map[string]admin.Trial{"/query": {Query: " "}, "/topK": {Query: "x", TopK: 51}, "/minSimilarity": {Query: "x", MinSimilarity: 2}} {
		_, err := b.TrySearch(ctx, b.admin, trial)
		if e := core.Public(err); e == nil || len(e.Faults) != 1 || e.Faults[0].Pointer != pointer {
			t.Errorf("%+v: %+v, want a fault at %s", trial, e, pointer)
		}
	}

	if _, err := b.PutDomain(ctx, b.admin, core.Domain{ID: "texts", Name: "Texts", Description: "All about texts"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.PutDomain(ctx, b.admin, core.Domain{ID: "Not a slug"}); !errors.Is(err, core.InvalidParams) {
		t.Errorf("%v, want invalid_params", err)
	}
	want := []core.Domain{{ID: "texts", Name: "Texts", Description: "All about texts", ToolCount: 1}}
	domains, err := b.Domains(ctx, b.admin)
	if diff := cmp.Diff(want, domains); err != nil || diff != "" {
		t.Errorf("domains %v (-want +got):\n%s", err, diff)
	}
	if _, err := b.UpdateServer(ctx, b.admin, s.ID, admin.ServerPatch{Status: new(core.Inactive)}, 0); err != nil {
		t.Fatal(err)
	}
	if answer, err := b.TrySearch(ctx, b.admin, admin.Trial{Query: "give me the text back"}); err != nil || len(answer.Hits) != 0 {
		t.Errorf("an inactive server is found: %+v, %v", answer, err)
	}
}

func TestAuditIsRead(t *testing.T) {
	t.Parallel()
	b := newBundle(t, admin.Policy{})
	ctx := t.Context()
	if _, err := b.CreateUser(ctx, b.admin, core.User{Name: "ada"}); err != nil {
		t.Fatal(err)
	}
	list, err := b.Audit(ctx, b.admin, postgres.AuditFilter{Action: "user.create", TenantID: "another"}, core.Page{})
	if err != nil || len(list.Items) != 1 || list.Items[0].DurationMs <= 0 {
		t.Errorf("audit %+v, %v", list, err)
	}
	if list, err := b.Usage(ctx, b.admin, postgres.AuditFilter{}, core.Page{}); err != nil || len(list.Items) != 0 {
		t.Errorf("usage %+v, %v", list, err)
	}
}

func TestFailuresAreRecordedWhenTheCallerHasGone(t *testing.T) {
	t.Parallel()
	b := newBundle(t, admin.Policy{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.CreateUser(ctx, b.admin, core.User{Name: "ada"}); err == nil {
		t.Fatal("no error")
	}
	if row := b.row(t, "user.create"); row.Outcome == core.OutcomeOK {
		t.Errorf("row %+v", row)
	}
}
