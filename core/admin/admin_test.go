package admin_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/admin"
	"github.com/toolscout/toolscout/core/catalog"
	"github.com/toolscout/toolscout/core/egress"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/pgtest"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/core/secret"
	"github.com/toolscout/toolscout/core/upstream"
	"github.com/toolscout/toolscout/embeddings/builtin"
	"github.com/toolscout/toolscout/hooks/audit"
)

func TestNobodyButAnAdmin(t *testing.T) {
	t.Parallel()
	b := newBundle(t, admin.Policy{LoopbackOnly: true})
	id := "0d4cb5a4-4b0b-4a33-a2fb-6a6a3e0ba6b4"
	req := core.Request{ID: "r", Principal: core.Principal{TenantID: core.DefaultTenant, UserName: "eve", Roles: []string{"dev"}}}
	ctx := t.Context()
	attempts := map[string]func() error{
		"server.list":    func() error { _, err := b.Servers(ctx, req, admin.ServerFilter{}, core.Page{}); return err },
		"server.get":     func() error { _, err := b.Server(ctx, req, id); return err },
		"server.create":  func() error { _, err := b.CreateServer(ctx, req, stdio(nil), 0); return err },
		"server.update":  func() error { _, err := b.UpdateServer(ctx, req, id, admin.ServerPatch{}, 0); return err },
		"server.delete":  func() error { return b.DeleteServer(ctx, req, id) },
		"server.refresh": func() error { _, err := b.RefreshServer(ctx, req, id, 0); return err },
		"server.test":    func() error { _, err := b.TestServer(ctx, req, stdio(nil)); return err },
		"user.list":      func() error { _, err := b.Users(ctx, req, core.Page{}); return err },
		"user.get":       func() error { _, err := b.User(ctx, req, id); return err },
		"user.create":    func() error { _, err := b.CreateUser(ctx, req, core.User{Name: "x"}); return err },
		"user.update":    func() error { _, err := b.UpdateUser(ctx, req, id, admin.UserPatch{}); return err },
		"user.delete":    func() error { return b.DeleteUser(ctx, req, id) },
		"token.list":     func() error { _, err := b.Tokens(ctx, req, id, core.Page{}); return err },
		"token.create":   func() error { _, _, err := b.CreateToken(ctx, req, id, admin.NewToken{Name: "x"}); return err },
		"token.revoke":   func() error { return b.RevokeToken(ctx, req, id, id) },
		"preference.set": func() error { return b.SetPreference(ctx, req, id, id, true) },
		"domain.list":    func() error { _, err := b.Domains(ctx, req); return err },
		"domain.put":     func() error { _, err := b.PutDomain(ctx, req, core.Domain{ID: "x"}); return err },
		"index.models":   func() error { _, err := b.Models(ctx, req); return err },
		"index.model":    func() error { _, err := b.UpdateModel(ctx, req, 1, admin.ModelPatch{}); return err },
		"index.start":    func() error { _, err := b.StartIndex(ctx, req, false); return err },
		"index.status":   func() error { _, err := b.IndexStatus(ctx, req); return err },
		"index.tools":    func() error { _, err := b.CatalogTools(ctx, req, core.Page{}); return err },
		"index.table":    func() error { _, err := b.Table(ctx, req); return err },
		"index.adapt":    func() error { _, err := b.Adapt(ctx, req, admin.AdaptedTable{}); return err },
		"index.revert":   func() error { _, err := b.Revert(ctx, req); return err },
		"index.search":   func() error { _, err := b.TrySearch(ctx, req, admin.Trial{Query: "x"}); return err },
		"audit.list":     func() error { _, err := b.Audit(ctx, req, postgres.AuditFilter{}, core.Page{}); return err },
		"usage.list":     func() error { _, err := b.Usage(ctx, req, postgres.AuditFilter{}, core.Page{}); return err },
	}
	for action, attempt := range attempts {
		if err := attempt(); !errors.Is(err, core.Denied) {
			t.Errorf("%s: %v, want denied", action, err)
		}
		if row := b.row(t, action); row.Outcome != core.OutcomeDenied || row.ErrorKind != core.Denied || row.Actor != "eve" || row.RequestID != "r" {
			t.Errorf("%s left the row %+v", action, row)
		}
	}
}

func TestServerFromRegistrationToDeletion(t *testing.T) {
	t.Parallel()
	b := newBundle(t, admin.Policy{LoopbackOnly: true})
	s, err := b.CreateServer(t.Context(), b.admin, core.Server{Name: "echo", Transport: core.HTTP, URL: newUpstream(t),
		Headers: map[string]string{"X-Key": "hunter2", "Authorization": "Bearer ${TOKEN}"}}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if s.ToolCount != 1 || s.Health.State != core.Healthy || s.Domain != "general" || s.Status != core.Active || s.Origin != core.FromAPI {
		t.Errorf("registered %+v", s)
	}
	if diff := cmp.Diff(map[string]string{"X-Key": "***", "Authorization": "Bearer ${TOKEN}"}, s.Headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if row := b.row(t, "server.create"); row.Outcome != core.OutcomeOK || row.ServerID != s.ID || row.ServerName != "echo" || row.ActorID != b.admin.Principal.UserID {
		t.Errorf("row %+v", row)
	}
	if _, err := b.CreateServer(t.Context(), b.admin, core.Server{Name: "echo", Transport: core.HTTP, URL: s.URL}, 0); !errors.Is(err, core.Conflict) {
		t.Errorf("the same name again: %v, want conflict", err)
	}

	s, err = b.UpdateServer(t.Context(), b.admin, s.ID, admin.ServerPatch{Prefix: new("e_"), Headers: new(s.Headers)}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := b.store.ServerTools(t.Context(), s.ID)
	if err != nil || len(tools) != 1 || tools[0].Name != "e_echo" {
		t.Errorf("after the edit %+v, %v", tools, err)
	}
	b.stored(t, s.ID, map[string]string{"X-Key": "hunter2", "Authorization": "Bearer ${TOKEN}"})
	if row := b.row(t, "server.update"); row.Outcome != core.OutcomeOK || string(row.Details) != `{"fields":["prefix"]}` {
		t.Errorf("row %+v with %s", row, row.Details)
	}

	if s, err = b.RefreshServer(t.Context(), b.admin, s.ID, time.Minute); err != nil || s.ToolCount != 1 {
		t.Errorf("refreshed %+v, %v", s, err)
	}
	off, err := b.UpdateServer(t.Context(), b.admin, s.ID, admin.ServerPatch{Status: new(core.Inactive)}, time.Minute)
	if err != nil || off.Health.State != core.Stopped {
		t.Errorf("inactive %+v, %v", off, err)
	}
	if _, err := b.RefreshServer(t.Context(), b.admin, s.ID, 0); !errors.Is(err, core.Conflict) {
		t.Errorf("refresh of an inactive server: %v, want conflict", err)
	}
	if err := b.DeleteServer(t.Context(), b.admin, s.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteServer(t.Context(), b.admin, s.ID); !errors.Is(err, core.NotFound) {
		t.Errorf("deleted again: %v, want not_found", err)
	}
	if row := b.row(t, "server.delete"); row.Outcome != core.OutcomeDenied || row.ErrorKind != core.NotFound {
		t.Errorf("row %+v", row)
	}
}

func TestBlockedToolIsGoneAtOnce(t *testing.T) {
	t.Parallel()
	b := newBundle(t, admin.Policy{LoopbackOnly: true})
	s, err := b.CreateServer(t.Context(), b.admin, core.Server{Name: "echo", Transport: core.HTTP, URL: newUpstream(t)}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	blocked := []string{"echo"}
	if _, err := b.UpdateServer(t.Context(), b.admin, s.ID, admin.ServerPatch{BlockedTools: &blocked}, 0); err != nil {
		t.Fatal(err)
	}
	if tools, err := b.store.ServerTools(t.Context(), s.ID); err != nil || len(tools) > 0 {
		t.Errorf("tools %v, error %v", tools, err)
	}
}

func TestRegistrationSaysWhatFailed(t *testing.T) {
	t.Parallel()
	b := newBundle(t, admin.Policy{LoopbackOnly: true})
	s, err := b.CreateServer(t.Context(), b.admin, core.Server{Name: "away", Transport: core.HTTP, URL: "http://127.0.0.1:1/mcp"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if s.Health.State != core.Down || s.Health.Message == "" {
		t.Errorf("health %+v", s.Health)
	}
	s, err = b.CreateServer(t.Context(), b.admin, stdio(func(s *core.Server) { s.Env = map[string]string{"A": "${NOT_SET}"} }), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if s.Health.State != core.Misconfigured || !strings.Contains(s.Health.Message, "NOT_SET") {
		t.Errorf("health %+v", s.Health)
	}
}

func TestServerOfTheFileIsNotEdited(t *testing.T) {
	t.Parallel()
	b := newBundle(t, admin.Policy{LoopbackOnly: true})
	declared := admin.Defaults(remote(nil))
	if _, err := b.store.ReconcileServers(t.Context(), core.AuditEntry{Action: postgres.ActionReconcile}, []core.Server{declared}); err != nil {
		t.Fatal(err)
	}
	list, err := b.Servers(t.Context(), b.admin, admin.ServerFilter{Query: "db"}, core.Page{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("list %+v, %v", list, err)
	}
	id := list.Items[0].ID
	_, err = b.UpdateServer(t.Context(), b.admin, id, admin.ServerPatch{Prefix: new("x_")}, 0)
	for what, err := range map[string]error{"edit": err, "delete": b.DeleteServer(t.Context(), b.admin, id)} {
		if !errors.Is(err, core.Conflict) || !strings.Contains(err.Error(), "configuration file") {
			t.Errorf("%s: %v, want conflict", what, err)
		}
	}
}

func TestServerIsValidated(t *testing.T) {
	t.Parallel()
	b := newBundle(t, admin.Policy{LoopbackOnly: true})
	for name, tc := range map[string]struct {
		server  core.Server
		pointer string
	}{
		"no command":     {stdio(func(s *core.Server) { s.Command = "" }), "/command"},
		"nobody's":       {remote(func(s *core.Server) { s.Visibility, s.OwnerID = core.Owned, "nobody" }), "/ownerId"},
		"somebody gone":  {remote(func(s *core.Server) { s.Visibility, s.OwnerID = core.Owned, "0d4cb5a4-4b0b-4a33-a2fb-6a6a3e0ba6b4" }), "/ownerId"},
		"nothing masked": {remote(func(s *core.Server) { s.Headers = map[string]string{"A": "***"} }), "/headers/A"},
	} {
		_, err := b.CreateServer(t.Context(), b.admin, tc.server, 0)
		if e := core.Public(err); e == nil || e.Kind != core.InvalidParams || len(e.Faults) != 1 || e.Faults[0].Pointer != tc.pointer {
			t.Errorf("%s: %+v, want a fault at %s", name, e, tc.pointer)
		}
		if row := b.row(t, "server.create"); row.Outcome != core.OutcomeInvalid || row.ServerName != tc.server.Name {
			t.Errorf("%s left the row %+v", name, row)
		}
	}
}

func TestPolicyBoundsWhatTheAPIRegisters(t *testing.T) {
	t.Parallel()
	open := admin.Policy{LoopbackOnly: true}
	networks := admin.Policy{Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}}
	at := func(url string) core.Server { return remote(func(s *core.Server) { s.URL = url }) }
	for _, tc := range []struct {
		name   string
		policy admin.Policy
		server core.Server
		hint   string // "" when allowed
	}{
		{"a command, on loopback", open, stdio(nil), ""},
		{"a command", admin.Policy{}, stdio(nil), "allow_stdio_from_api"},
		{"a command, allowed", admin.Policy{AllowStdio: true}, stdio(nil), ""},
		{"private, on loopback", open, at("http://10.1.2.3/mcp"), ""},
		{"private", admin.Policy{}, at("http://10.1.2.3/mcp"), `allow_networks = ["10.1.2.3/32"]`},
		{"loopback by name", admin.Policy{}, at("http://localhost:9/mcp"), "allow_networks"},
		{"metadata service", admin.Policy{}, at("http://169.254.169.254/latest"), "allow_networks"},
		{"mapped", admin.Policy{}, at("http://[::ffff:127.0.0.1]/mcp"), "allow_networks"},
		{"an allowed network", networks, at("http://10.1.2.3/mcp"), ""},
		{"another network", networks, at("http://192.168.1.1/mcp"), "allow_networks"},
		{"an allowed address", networks, at("http://[::1]:9/mcp"), ""},
		{"public", admin.Policy{}, at("https://1.1.1.1/mcp"), ""},
		{"our own secret", open, remote(func(s *core.Server) { s.Headers = map[string]string{"X": "a${TOOLSCOUT_ADMIN_TOKEN}"} }), "another name"},
		{"our own secret in braces", open, stdio(func(s *core.Server) { s.Args = []string{"${${TOOLSCOUT_ADMIN_TOKEN}}"} }), "another name"},
		{"our own database", open, stdio(func(s *core.Server) { s.Args = []string{"${DATABASE_URL}"} }), "another name"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, tc.policy)
			tc.server.Status = core.Inactive
			_, err := b.CreateServer(t.Context(), b.admin, tc.server, 0)
			if tc.hint == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if e := core.Public(err); e == nil || e.Kind != core.Denied || !strings.Contains(e.Hint, tc.hint) {
				t.Errorf("error %+v, want denied with a hint at %s", e, tc.hint)
			}
		})
	}
}

func TestServerOutsideThePolicyCanBeSetInactive(t *testing.T) {
	t.Parallel()
	b := newBundle(t, admin.Policy{})
	s, err := b.store.CreateServer(t.Context(), core.AuditEntry{Action: "server.create"}, stdio(nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.UpdateServer(t.Context(), b.admin, s.ID, admin.ServerPatch{Status: new(core.Inactive)}, 0); err != nil {
		t.Error(err)
	}
	if _, err := b.UpdateServer(t.Context(), b.admin, s.ID, admin.ServerPatch{Command: new("sh")}, 0); !errors.Is(err, core.Denied) {
		t.Errorf("another command: %v, want denied", err)
	}
}

func TestSecretsAreSealed(t *testing.T) {
	t.Parallel()
	b := newBundle(t, admin.Policy{LoopbackOnly: true})
	s, err := b.CreateServer(t.Context(), b.admin, stdio(func(s *core.Server) {
		s.Status = core.Inactive
		s.Env = map[string]string{"KEY": "hunter2", "REF": "${REF}", "EMPTY": ""}
	}), 0)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := b.store.Server(t.Context(), core.DefaultTenant, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(raw.Env["KEY"], "enc:v1:") || strings.Contains(fmt.Sprint(raw), "hunter2") || raw.Env["REF"] != "${REF}" {
		t.Errorf("stored %q", raw.Env)
	}
	// What was shown is edited and sent back: one value stays, one changes, one goes.
	s.Env["REF"] = "swordfish"
	delete(s.Env, "EMPTY")
	if s, err = b.UpdateServer(t.Context(), b.admin, s.ID, admin.ServerPatch{Env: &s.Env}, 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"KEY": "***", "REF": "***"}, s.Env); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	b.stored(t, s.ID, map[string]string{"KEY": "hunter2", "REF": "swordfish"})
	again, err := b.store.Server(t.Context(), core.DefaultTenant, s.ID)
	if err != nil || again.Env["KEY"] != raw.Env["KEY"] {
		t.Errorf("an untouched value was sealed anew: %v", err)
	}
	for _, shown := range []func() (core.Server, error){
		func() (core.Server, error) { return b.Server(t.Context(), b.admin, s.ID) },
		func() (core.Server, error) {
			l, err := b.Servers(t.Context(), b.admin, admin.ServerFilter{}, core.Page{})
			return l.Items[0], err
		},
	} {
		if got, err := shown(); err != nil || got.Env["KEY"] != "***" {
			t.Errorf("shown %q, %v", got.Env, err)
		}
	}
	if _, err := b.UpdateServer(t.Context(), b.admin, s.ID, admin.ServerPatch{Env: &map[string]string{"NEW": "***"}}, 0); !errors.Is(err, core.InvalidParams) {
		t.Errorf("a mask for nothing: %v, want invalid_params", err)
	}
	rows := fmt.Sprint(b.rows(t, ""))
	if strings.Contains(rows, "hunter2") || strings.Contains(rows, "swordfish") || strings.Contains(rows, "enc:v1") {
		t.Errorf("the audit holds a secret: %s", rows)
	}
}

func TestPatchSwitchesTransport(t *testing.T) {
	t.Parallel()
	b := newBundle(t, admin.Policy{LoopbackOnly: true})
	s, err := b.CreateServer(t.Context(), b.admin, stdio(func(s *core.Server) { s.Status = core.Inactive }), 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err = b.UpdateServer(t.Context(), b.admin, s.ID, admin.ServerPatch{Transport: new(core.HTTP), URL: new("http://127.0.0.1:1/")}, 0)
	if err != nil || s.Command != "" || len(s.Args)+len(s.Env) != 0 {
		t.Errorf("now %+v, %v", s, err)
	}
}

func TestTestServer(t *testing.T) {
	t.Parallel()
	b := newBundle(t, admin.Policy{LoopbackOnly: true})
	good, err := b.TestServer(t.Context(), b.admin, core.Server{Transport: core.HTTP, URL: newUpstream(t), Headers: map[string]string{"X": "y"}})
	if err != nil || !good.OK || good.ToolCount != 1 || good.Name != "echo" {
		t.Errorf("result %+v, %v", good, err)
	}
	bad, err := b.TestServer(t.Context(), b.admin, core.Server{Transport: core.HTTP, URL: "http://127.0.0.1:1/"})
	if err != nil || bad.OK || bad.Stage == "" || bad.Message == "" {
		t.Errorf("result %+v, %v", bad, err)
	}
	if row := b.row(t, "server.test"); row.Outcome != core.OutcomeFailed {
		t.Errorf("row %+v", row)
	}
	if _, err := b.TestServer(t.Context(), b.admin, core.Server{Transport: core.HTTP}); !errors.Is(err, core.InvalidParams) {
		t.Errorf("no url: %v, want invalid_params", err)
	}
	if list, err := b.Servers(t.Context(), b.admin, admin.ServerFilter{}, core.Page{}); err != nil || len(list.Items) != 0 {
		t.Errorf("a test was saved: %+v, %v", list.Items, err)
	}
}

// bundle is an Admin with everything real behind it.
type bundle struct {
	*admin.Admin
	store *postgres.Store
	audit *audit.Writer
	box   *secret.Box
	index *catalog.Indexer
	admin core.Request
}

func newBundle(t *testing.T, policy admin.Policy) *bundle {
	t.Helper()
	b := &bundle{store: pgtest.New(t), box: secret.New([32]byte{7})}
	model, err := builtin.New()
	if err != nil {
		t.Fatal(err)
	}
	open := egress.New(egress.Config{AllowPrivate: true})
	env := func(name string) (string, bool) { return "token", name == "TOKEN" || name == "REF" }
	pool := upstream.New(upstream.Config{Version: "test", Trusted: open, Guarded: open, Getenv: env, Open: b.box.Open})
	indexer := catalog.NewIndexer(catalog.IndexConfig{Store: b.store, Embedder: model})
	b.index = indexer
	syncer := catalog.NewSyncer(catalog.SyncConfig{Store: b.store, Pool: pool, Poke: indexer.Poke})
	b.audit = audit.NewWriter(audit.Config{Append: b.store.AppendAudit})
	b.Admin = admin.New(admin.Config{Store: b.store, Pool: pool, Syncer: syncer, Indexer: indexer, Audit: b.audit,
		Search: search.New(search.Config{Store: b.store, Embedder: indexer.Active}), Secrets: b.box, Policy: policy})

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- indexer.Run(ctx) }()
	go func() { done <- syncer.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(pool.Close(), b.audit.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})

	hash := sha256.Sum256([]byte("the first token"))
	if err := b.store.EnsureAdmin(t.Context(), "root", hash); err != nil {
		t.Fatal(err)
	}
	b.admin.ID = "request-1"
	if b.admin.Principal, err = b.store.Authenticate(t.Context(), hash); err != nil {
		t.Fatal(err)
	}
	return b
}

// rows gives the audit of an action, the latest first.
func (b *bundle) rows(t *testing.T, action string) []core.AuditEntry {
	t.Helper()
	if err := b.audit.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := b.store.Audit(t.Context(), postgres.AuditFilter{Action: action, Level: core.LevelConfig}, core.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func (b *bundle) row(t *testing.T, action string) core.AuditEntry {
	t.Helper()
	rows := b.rows(t, action)
	if len(rows) == 0 {
		t.Fatalf("%s left no row", action)
	}
	return rows[0]
}

// stored holds what the credentials of a server are when they are used.
func (b *bundle) stored(t *testing.T, id string, want map[string]string) {
	t.Helper()
	s, err := b.store.Server(t.Context(), core.DefaultTenant, id)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, values := range []map[string]string{s.Env, s.Headers} {
		for k, v := range values {
			if got[k], err = b.box.Open(v); err != nil {
				t.Error(err)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

// newUpstream is a real MCP server with one tool, echo.
func newUpstream(t *testing.T) string {
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Gives a text back."},
		func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
	hs := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(func() {
		hs.CloseClientConnections()
		hs.Close()
	})
	return hs.URL
}
