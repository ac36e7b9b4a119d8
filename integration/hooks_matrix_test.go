package integration_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core/postgres/pgtest"
)

// deskSecret signs what a webhook posts.
const deskSecret = "a-secret-of-the-receiver-0123456789"

// builtIn is every type of hook there is.
var builtIn = []string{"audit", "access_control", "rate_limit", "param_sanitizer", "response_truncation", "toon_transform", "test_filter",
	"llm_enrich", "event_emit", "webhook", "script"}

// probe is one kind of call that a hook can be around.
type probe string

const (
	inner probe = "tool"           // level tool
	outer probe = "execute_tool"   // level meta, around the same call
	finds probe = "discover_tools" // level meta, around a search
)

// sight is what a call showed: to its caller, and to those beside.
type sight struct {
	outcome
	events, posted, asked int
}

// trialled is a type of hook with a configuration whose effect shows.
type trialled struct {
	typ string
	// config for each kind of call; nil where the type has nothing to do.
	config func(m *matrix, p probe) map[string]any
	// args of the tool say.
	args map[string]any
	// first is how many calls of each user on each server come before the effect.
	first int
	// acted reports the effect: got beside what is seen without the hook.
	acted func(m *matrix, p probe, got, plain sight) bool
}

// rejected says that a call was refused in these words.
func rejected(kind, message string) func(*matrix, probe, sight, sight) bool {
	return func(_ *matrix, _ probe, got, _ sight) bool {
		return got.Kind == kind && strings.Contains(got.Message, message)
	}
}

// always is a configuration for every kind of call, realOnly one for calls of tools.
func always(config map[string]any) func(*matrix, probe) map[string]any {
	return func(*matrix, probe) map[string]any { return config }
}

func realOnly(config map[string]any) func(*matrix, probe) map[string]any {
	return func(_ *matrix, p probe) map[string]any {
		if p == finds {
			return nil
		}
		return config
	}
}

// trials is one row for each type.
func trials(t *testing.T) []trialled {
	t.Helper()
	output, err := os.ReadFile("../hooks/testfilter/testdata/go-fail.txt")
	if err != nil {
		t.Fatal(err)
	}
	return []trialled{
		{typ: "audit", config: realOnly(map[string]any{"values": true}), args: says("kept"), acted: (*matrix).kept},
		{typ: "access_control", config: always(map[string]any{"deny": []string{"*"}, "message": "not today"}), acted: rejected("denied", "not today")},
		{typ: "rate_limit", config: always(map[string]any{"by": []string{"user", "server"}, "rate": 1, "per": "24h"}), first: 1, acted: rejected("rate_limited", "")},
		{typ: "param_sanitizer", config: (*matrix).sanitize, acted: (*matrix).sanitized},
		{typ: "response_truncation", config: realOnly(map[string]any{"max_bytes": 1024, "store": false}), args: says(strings.Repeat("many words ", 500)),
			acted: func(_ *matrix, _ probe, got, plain sight) bool {
				return got.Text != plain.Text && len(got.Raw) < 2000 && strings.HasPrefix(got.Text, "many words many words")
			}},
		{typ: "toon_transform", config: realOnly(map[string]any{}), args: says(issues()),
			acted: func(_ *matrix, _ probe, got, _ sight) bool {
				return strings.HasPrefix(got.Text, "[28]{number,title,state,author,comments,labels,updated}:")
			}},
		{typ: "test_filter", config: realOnly(map[string]any{}), args: says(string(output)),
			acted: func(_ *matrix, _ probe, got, plain sight) bool {
				return len(got.Text) < len(plain.Text) && strings.Contains(got.Text, "FAIL") && strings.Contains(got.Text, "left out")
			}},
		{typ: "llm_enrich", config: (*matrix).enrich, args: says("error: the disk is full"), acted: func(_ *matrix, _ probe, got, plain sight) bool {
			return got.asked == 1 && got.Text == plain.Text && strings.Contains(got.bare(t), "delete something") && strings.Contains(string(got.Raw), `"toolscout/addedBy"`)
		}},
		{typ: "event_emit", config: always(map[string]any{"channel": "matrix:called", "wait": true}), acted: func(m *matrix, p probe, got, plain sight) bool {
			return got.events == 1 && got.bare(t) == plain.bare(t)
		}},
		{typ: "webhook", config: (*matrix).post, acted: func(m *matrix, p probe, got, plain sight) bool {
			// A hook whose before has refused still gets its after.
			return got.posted == 2 && rejected("hook_rejected", "the receiver says no")(m, p, got, plain) && m.signed()
		}},
		{typ: "script", config: always(map[string]any{"source": "def after_call(ctx, result):\n    reject(\"seen by \" + ctx.level)\n"}),
			acted: func(m *matrix, p probe, got, plain sight) bool {
				return rejected("hook_rejected", "seen by "+p.level())(m, p, got, plain)
			}},
	}
}

func (p probe) level() string {
	if p == inner {
		return "tool"
	}
	return "meta"
}

// matrix is two users and two servers, and all the ways in.
type matrix struct {
	t          *testing.T
	s          *instance
	db         *pgx.Conn
	model, box *desk
	users      []matrixUser
	servers    []registered
	plain      map[string]sight // by row, way and call
}

type matrixUser struct {
	id, token string
	ways      map[string]way
}

// here is a scope: a user and a server, -1 for any.
type here struct {
	name         string
	user, server int
	// own: the user makes the hook.
	own bool
}

var scopes = []here{
	{"global", -1, -1, false}, {"server", -1, 0, false}, {"user", 0, -1, false}, {"user+server", 0, 0, false},
	{"own user", 0, -1, true}, {"own user+server", 0, 0, true},
}

// covers reports whether a call is in scope. A search is on no server.
func (h here) covers(p probe, user, server int) bool {
	return (h.user < 0 || h.user == user) && (h.server < 0 || p != finds && h.server == server)
}

// TestHooksMatrix has every type of hook act in both chains and in every scope, made
// by an admin or by the user, over MCP and REST. It shows for the calls in scope and
// for nobody else's.
func TestHooksMatrix(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	for _, row := range trials(t) {
		for _, p := range []probe{inner, outer, finds} {
			config := row.config(m, p)
			if config == nil {
				continue
			}
			t.Run(row.typ+" "+string(p), func(t *testing.T) {
				m.t, m.s.t = t, t
				for _, scope := range scopes {
					m.check(row, p, scope, config)
				}
			})
			m.t, m.s.t = t, t
		}
	}
}

func newMatrix(t *testing.T) *matrix {
	t.Helper()
	quoted, err := json.Marshal(builtIn)
	if err != nil {
		t.Fatal(err)
	}
	database := pgtest.URL(t)
	m := &matrix{t: t, s: start(t, options{database: database, config: toml("hooks", "open_to_users = "+string(quoted))}), db: connect(t, database),
		model: newDesk(t, chatter("delete something")), plain: map[string]sight{}}
	m.box = newDesk(t, func([]byte) any { return map[string]any{"action": "reject", "message": "the receiver says no"} })
	for _, name := range []string{"left", "right"} {
		m.servers = append(m.servers, m.s.register(testserver(t, name, "-tools", "echo,say")))
	}
	for _, name := range []string{"ann", "bob"} {
		id, token := m.s.user(name)
		who := caller{token: token}
		m.users = append(m.users, matrixUser{id, token, map[string]way{"mcp 2026-07-28": viaMCP(join(t, m.s, who, "")), "mcp " + legacy: viaMCP(join(t, m.s, who, legacy)), "rest": m.s.viaREST(who)}})
	}
	return m
}

// check makes a hook in a scope, makes every call, and takes the hook away.
func (m *matrix) check(row trialled, p probe, at here, config map[string]any) {
	m.t.Helper()
	for user := range m.users {
		for server := range m.servers {
			for name := range m.users[user].ways {
				m.without(row, p, name, user, server)
			}
		}
	}
	remove := m.add(row, p, at, config)
	defer remove()
	for user := range m.users {
		for server := range m.servers {
			for range row.first {
				m.call(row, p, "rest", user, server)
			}
			for name := range m.users[user].ways {
				m.judge(row, p, at, name, user, server)
			}
		}
	}
}

// judge makes one call and holds it against what the scope says.
func (m *matrix) judge(row trialled, p probe, at here, name string, user, server int) {
	m.t.Helper()
	want, plain := at.covers(p, user, server), m.without(row, p, name, user, server)
	got := m.call(row, p, name, user, server)
	acted := row.acted(m, p, got, plain)
	who := fmt.Sprintf("scope %s: the call of user %d on server %d by %s", at.name, user, server, name)
	switch {
	case want && !acted:
		m.t.Errorf("%s: no effect, but %v and %d events, %d posted, %d asked", who, got.outcome, got.events, got.posted, got.asked)
	case !want && (acted || got.bare(m.t) != plain.bare(m.t) || got.events+got.posted+got.asked > 0):
		m.t.Errorf("%s: shows an effect that is not for it: %v and %d events, %d posted, %d asked", who, got.outcome, got.events, got.posted, got.asked)
	}
}

// without is what a call shows when there are no hooks.
func (m *matrix) without(row trialled, p probe, name string, user, server int) sight {
	m.t.Helper()
	key := fmt.Sprint(row.typ, p, name, user, server)
	if known, ok := m.plain[key]; ok {
		return known
	}
	got := m.call(row, p, name, user, server)
	if got.Kind != "" {
		m.t.Fatalf("without hooks: %v", got.outcome)
	}
	m.plain[key] = got
	return got
}

// call makes one call and looks at what came of it everywhere.
func (m *matrix) call(row trialled, p probe, name string, user, server int) sight {
	m.t.Helper()
	w := m.users[user].ways[name]
	count := func() (events, posted, asked int) {
		return query[int](m.t, m.db, "select count(*) from toolscout.events where type = 'matrix:called'"), m.box.count(), m.model.count()
	}
	e, b, a := count()
	var got sight
	switch prefix := m.servers[server].Name + "_"; {
	case p == finds:
		got.outcome = w.try(m.t, "discover_tools", map[string]any{"query": "answers with what it was given", "top_k": 3})
	case row.args != nil:
		got.outcome = w.run(m.t, prefix+"say", row.args)
	default:
		got.outcome = w.run(m.t, prefix+"echo", map[string]any{"n": 1})
	}
	got.events, got.posted, got.asked = count()
	got.events, got.posted, got.asked = got.events-e, got.posted-b, got.asked-a
	return got
}

// add makes the hook and returns what takes it away again.
func (m *matrix) add(row trialled, p probe, at here, config map[string]any) (remove func()) {
	m.t.Helper()
	fields := map[string]any{"name": "trial", "type": row.typ, "level": p.level(), "config": config}
	if at.server >= 0 {
		fields["serverId"] = m.servers[at.server].ID
	}
	path, token := "/v1/admin/hooks", adminToken
	if at.own {
		path, token = "/v1/hooks", m.users[at.user].token
	} else if at.user >= 0 {
		fields["userId"] = m.users[at.user].id
	}
	var made configuredHook
	m.s.must("POST", path, token, fields, &made)
	if scope := strings.TrimPrefix(at.name, "own "); made.Scope != scope || made.State.State != "active" {
		m.t.Errorf("scope %s: made %+v", at.name, made)
	}
	return func() { m.s.must("DELETE", path+"/"+made.ID, token, nil, nil) }
}

func (m *matrix) enrich(p probe) map[string]any {
	return realOnly(map[string]any{"base_url": m.model.URL + "/v1", "model": "m", "triggers": []string{"(?i)error"}})(m, p)
}

func (m *matrix) post(p probe) map[string]any {
	return map[string]any{"url": m.box.URL, "secret": deskSecret}
}

func (m *matrix) sanitize(p probe) map[string]any {
	switch p {
	case inner:
		return map[string]any{"rules": []any{map[string]any{"do": "set", "pointer": "/marked", "value": true}}}
	case outer:
		return map[string]any{"rules": []any{map[string]any{"do": "set", "pointer": "/params/marked", "value": true}}}
	}
	return map[string]any{"rules": []any{map[string]any{"do": "deny", "pointer": "/query", "match": "given", "message": "that is not asked here"}}}
}

func (m *matrix) sanitized(p probe, got, plain sight) bool {
	if p == finds {
		return rejected("invalid_params", "that is not asked here")(m, p, got, plain)
	}
	args := decodeTB[map[string]any](m.t, got.Body) // the Go client sorts their names
	return len(args) == 2 && args["marked"] == true && string(plain.Body) == `{"n":1}`
}

// kept reports whether the row of a call holds its arguments as they are.
func (m *matrix) kept(p probe, got, plain sight) bool {
	m.t.Helper()
	if got.bare(m.t) != plain.bare(m.t) {
		m.t.Errorf("the audit changed an answer: %v", got.outcome)
	}
	meta, row := m.s.trail(m.t, got.outcome)
	if p == outer {
		row = meta
	}
	raw, err := json.Marshal(row["details"])
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.Contains(string(raw), `"kept"`)
}

// signed checks the signature of the newest message.
func (m *matrix) signed() bool {
	body, header := m.box.last()
	mac := hmac.New(sha256.New, []byte(deskSecret))
	fmt.Fprintf(mac, "%s.%s.%s", header.Get("Webhook-Id"), header.Get("Webhook-Timestamp"), body)
	return header.Get("Webhook-Signature") == "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
