package hookbook_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookbook"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/hooks"
)

// TestCreateFillsInDefaults: what is stored says what will happen.
func TestCreateFillsInDefaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.create(t, nil, `{"name":"a","type":"sender","config":{"url":"https://a.example"}}`)
	got, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"id":%q,"name":"a","type":"sender","scope":"global","owned":false,"level":"tool","events":["tool:after"],"pattern":"*",`+
		`"servers":[],"agents":[],"mode":"enforce","onError":"ignore","priority":300,"timeout":"5s","enabled":true,"config":{"url":"https://a.example"},`+
		`"origin":{"kind":"database"},"version":1,"state":{"state":"active"},"createdAt":%q,"updatedAt":%q}`,
		h.ID, h.CreatedAt.Format("2006-01-02T15:04:05.999999Z07:00"), h.UpdatedAt.Format("2006-01-02T15:04:05.999999Z07:00"))
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	all := w.create(t, nil, `{"name":"b","type":"sender","level":"both","events":[],"priority":0,"enabled":false,"timeout":"90s","config":{"url":"${A}/b"}}`)
	if all.Level != hooks.Both || len(all.Events) != 0 || all.Priority != 0 || all.Enabled || all.Timeout != "1m30s" {
		t.Errorf("got %+v", all)
	}
}

// TestUpdate: what is given is set, null is the type's default, the rest stays, and
// lists are replaced.
func TestUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	user, server := w.user(t, "bob"), w.server(t, "github")
	h := w.create(t, nil, `{"name":"a","type":"sender","userId":"`+user.Principal.UserID+`","serverId":"`+server+`","level":"both",
		"events":[],"pattern":"x","servers":["s"],"agents":["g"],"mode":"observe","onError":"fail","priority":1,"timeout":"1s","enabled":false,
		"config":{"url":"https://a.example","tries":2}}`)
	same := w.update(t, nil, h.ID, `{"name":"b","servers":["t","u"]}`)
	want := h
	want.Name, want.Servers, want.Version, want.UpdatedAt = "b", []string{"t", "u"}, 2, same.UpdatedAt
	if diff := cmp.Diff(same, want); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
	plain := w.update(t, nil, h.ID, `{"userId":null,"serverId":null,"level":null,"events":null,"pattern":null,"servers":null,"agents":null,"mode":null,
		"onError":null,"priority":null,"timeout":null,"enabled":null,"config":{"url":"https://b.example"}}`)
	fresh := w.create(t, nil, `{"name":"c","type":"sender","config":{"url":"https://b.example"}}`)
	fresh.ID, fresh.Name, fresh.Version, fresh.CreatedAt, fresh.UpdatedAt = plain.ID, plain.Name, 3, plain.CreatedAt, plain.UpdatedAt
	if diff := cmp.Diff(plain, fresh); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
}

// TestEveryFaultAtOnce, by pointers into what was sent.
func TestEveryFaultAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.user(t, "bob")
	for name, c := range map[string]struct {
		own   *hookbook.Own
		patch string
		want  []string
	}{
		"nothing":       {nil, `{}`, []string{"/type"}},
		"unknown type":  {nil, `{"name":"a","type":"nothing"}`, []string{"/type"}},
		"unknown field": {nil, `{"name":"a","type":"guard","nmae":1}`, []string{"/nmae"}},
		"wrong types":   {nil, `{"name":1,"type":"guard","events":"x","priority":1.5,"timeout":5}`, []string{"/events", "/name", "/priority", "/timeout"}},
		"values": {nil, `{"name":"","type":"sender","level":"x","mode":"x","onError":"x","timeout":"1us","events":["What!"],"config":{"url":"ftp://x","tries":10,"more":1}}`,
			[]string{"/config/more", "/config/tries", "/config/url", "/events/0", "/level", "/mode", "/name", "/onError", "/timeout"}},
		"scope of the type": {nil, `{"name":"a","type":"guard","userId":"` + own.Principal.UserID + `"}`, []string{"/userId"}},
		"nobody, nowhere": {nil, `{"name":"a","type":"sender","userId":"bob","serverId":"018f0000-0000-7000-8000-000000000000","config":{"url":"https://x"}}`,
			[]string{"/serverId", "/userId"}},
		"what the type says":    {nil, `{"name":"a","type":"sender","config":{"url":"https://nowhere"}}`, []string{"/config/url"}},
		"not set":               {nil, `{"name":"a","type":"sender","config":{"url":"${UNSET}"}}`, []string{"/config/url"}},
		"mask of nothing":       {nil, `{"name":"a","type":"sender","config":{"url":"https://x","headers":{"a/b":"***"}}}`, []string{"/config/headers/a~1b"}},
		"for somebody else":     {own, `{"name":"a","type":"sender","userId":"018f0000-0000-7000-8000-000000000000","config":{"url":"https://x"}}`, []string{"/userId"}},
		"for everybody":         {own, `{"name":"a","type":"sender","config":{"url":"https://x"},"userId":""}`, []string{"/userId"}},
		"server unseen":         {own, `{"name":"a","type":"sender","serverId":"` + w.server(t, "hidden") + `","config":{"url":"https://x"}}`, []string{"/serverId"}},
		"user's reference":      {own, `{"name":"a","type":"sender","config":{"url":"https://${HOST}","key":"${KEY_OF_IT}"}}`, []string{"/config/key", "/config/url"}},
		"secret of wrong shape": {nil, `{"name":"a","type":"sender","config":{"url":"https://x","key":"short"}}`, []string{"/config/key"}},
	} {
		_, err := w.Create(t.Context(), admin(), c.own, patch(t, c.patch))
		wantKind(t, err, core.InvalidParams)
		got := slices.Sorted(slices.Values(pointers(err)))
		for _, p := range c.want {
			if !slices.Contains(got, p) {
				t.Errorf("%s: got %v, want %v (%v)", name, got, c.want, err)
			}
		}
		if strings.Contains(fmt.Sprint(err), "short") {
			t.Errorf("%s: the error shows a secret: %v", name, err)
		}
	}
}

// TestSecrets are sealed in the database, masked in answers, kept where a mask is
// sent back, and open to the hook.
func TestSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const masked = `{"headers":{"A":"***","B":"${B}","C":""},"key":"***","tries":3,"url":"https://a.example"}`
	by := admin()
	h, err := w.Create(t.Context(), by, nil, patch(t, `{"name":"a","type":"sender","config":{"url":"https://a.example","key":"top-secret","headers":{"A":"also-secret","B":"${B}","C":""},"tries":3}}`))
	if err != nil {
		t.Fatal(err)
	}
	first := w.stored(t, h.ID)
	if string(h.Config) != masked || strings.Contains(first, "secret") || !strings.Contains(first, "enc:v1:") || !strings.Contains(first, "${B}") {
		t.Errorf("shown %s, stored %s", h.Config, first)
	}
	h = w.update(t, nil, h.ID, `{"config":`+string(h.Config)+`}`)
	if second := w.stored(t, h.ID); second != first || string(h.Config) != masked {
		t.Errorf("got %s, want %s", second, first)
	}
	h = w.update(t, nil, h.ID, `{"priority":7}`)
	if third := w.stored(t, h.ID); third != first || h.Priority != 7 {
		t.Errorf("got %s, want %s", third, first)
	}
	h = w.update(t, nil, h.ID, `{"config":{"url":"https://a.example","key":"***","headers":{"A":"new-secret"}}}`)
	all := w.all()
	last := all[len(all)-1]
	if string(last.Config) != `{"headers":{"A":"new-secret"},"key":"top-secret","url":"https://a.example"}` {
		t.Errorf("the hook was tried with %s", last.Config)
	}
	if strings.Contains(w.stored(t, h.ID), "new-secret") {
		t.Errorf("stored %s", w.stored(t, h.ID))
	}
	if rows := w.audit(t); strings.Contains(rows, "secret") || strings.Count(rows, h.ID) != 4 {
		t.Errorf("the audit has %s", rows)
	}
	_, err = w.Update(t.Context(), admin(), nil, h.ID, patch(t, `{"type":"guard","config":{"key":"***"}}`))
	wantKind(t, err, core.InvalidParams)
}

func (w *world) audit(t *testing.T) string {
	t.Helper()
	list, err := w.store.Audit(t.Context(), postgres.AuditFilter{}, core.Page{})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range list.Items {
		fmt.Fprintf(&all, "%s %s\n", e.Action, e.Details)
	}
	return all.String()
}

// TestReservedReferences: an admin of the API may use the environment, but not send
// off what belongs to the gateway itself.
func TestReservedReferences(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const hook = `{"name":"a","type":"sender","config":{"url":"https://${DATABASE_URL}"}}`
	_, err := w.Create(t.Context(), admin(), nil, patch(t, hook))
	wantKind(t, err, core.Denied)
	_, err = w.Try(t.Context(), core.DefaultTenant, hookset.Trial{Type: "sender", Config: json.RawMessage(`{"url":"https://${TOOLSCOUT_ADMIN_TOKEN}"}`)})
	wantKind(t, err, core.Denied)
}

// TestDeclaredHooksCannotBeEdited, and the refusal says where they can.
func TestDeclaredHooksCannotBeEdited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h, err := w.Hook(t.Context(), w.seen(t, core.Principal{}), nil, "file:declared")
	if err != nil || string(h.Config) != `{"key":"***","url":"${URL}"}` || h.Origin.Kind != hooks.FromFile {
		t.Fatalf("got %+v, %v", h, err)
	}
	_, err = w.Update(t.Context(), admin(), nil, h.ID, patch(t, `{"enabled":false}`))
	wantKind(t, err, core.Conflict)
	if err == nil || !strings.Contains(err.Error(), "toolscout.toml:7") {
		t.Errorf("got %v", err)
	}
	wantKind(t, w.Delete(t.Context(), admin(), nil, h.ID), core.Conflict)
}

// TestSwitchOffWhatIsBroken: whatever is wrong with a hook, it can be switched off
// and deleted.
func TestSwitchOffWhatIsBroken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, d := range []hooks.Definition{
		{Name: "a", Type: "from_the_future", Enabled: true, Config: json.RawMessage(`{"key":"who knows"}`)},
		{Name: "b", Type: "sender", Enabled: true, Config: json.RawMessage(`["nonsense"]`)},
	} {
		stored, err := w.store.CreateHook(t.Context(), *admin(), d)
		if err != nil {
			t.Fatal(err)
		}
		h, err := w.Hook(t.Context(), w.seen(t, core.Principal{}), nil, stored.ID)
		if err != nil || h.State.State != hookset.Broken || h.State.Reason == "" || strings.Contains(string(h.Config), "who knows") {
			t.Errorf("%s: got %+v, %v", d.Name, h, err)
		}
		_, err = w.Update(t.Context(), admin(), nil, stored.ID, patch(t, `{"priority":1}`))
		wantKind(t, err, core.InvalidParams)
		if off := w.update(t, nil, stored.ID, `{"enabled": false}`); off.Enabled || w.stored(t, stored.ID) != string(d.Config) {
			t.Errorf("got %+v", off)
		}
		if err := w.Delete(t.Context(), admin(), nil, stored.ID); err != nil {
			t.Error(err)
		}
	}
}

// TestDisabledHookGetsAnotherChance with the next edit.
func TestDisabledHookGetsAnotherChance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.create(t, nil, `{"name":"a","type":"sender","config":{"url":"https://x"}}`)
	if _, err := w.store.DisableHook(t.Context(), h.ID, h.Version, "it panicked"); err != nil {
		t.Fatal(err)
	}
	got, err := w.Hook(t.Context(), w.seen(t, core.Principal{}), nil, h.ID)
	if err != nil || got.State.State != hookset.Disabled || got.State.Reason != "it panicked" || got.State.Since == nil {
		t.Errorf("got %+v, %v", got, err)
	}
	if got = w.update(t, nil, h.ID, `{"enabled":true}`); got.State.State != hookset.Active || got.Version != 2 {
		t.Errorf("got %+v", got)
	}
}

// TestRefusedEditsStaySmall in the audit, whatever was sent.
func TestRefusedEditsStaySmall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := strings.Repeat("x", 1<<20)
	by := admin()
	_, err := w.Create(t.Context(), by, nil, patch(t, `{"name":"`+long+`","type":"`+long+`","userId":"`+long+`","serverId":"`+long+`"}`))
	wantKind(t, err, core.InvalidParams)
	if size := len(by.Details) + len(by.ServerID); size > 2000 || len(err.Error()) > 2000 {
		t.Errorf("the row has %d bytes, the error %d", size, len(err.Error()))
	}
}
