package hookbook_test

import (
	"slices"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/hookbook"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/hooks"
)

// TestOwnHooks: users see and edit their own, see what an admin made for them, and
// nothing of anybody else's.
func TestOwnHooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.server(t, "github")
	ada, bob := w.user(t, "ada", server), w.user(t, "bob")
	const body = `{"name":"mine","type":"sender","config":{"url":"https://x","key":"top-secret"}}`
	adas, bobs := w.create(t, ada, body), w.create(t, bob, body)
	onServer := w.create(t, ada, `{"name":"mine","type":"sender","serverId":"`+server+`","config":{"url":"https://x"}}`)
	given := w.create(t, nil, `{"name":"given","type":"sender","userId":"`+ada.Principal.UserID+`","config":{"url":"https://x"}}`)
	global := w.create(t, nil, body)
	if !adas.Owned || adas.Scope != "user" || adas.UserID != ada.Principal.UserID || onServer.Scope != "user+server" || given.Owned {
		t.Errorf("got %+v, %+v, %+v", adas, onServer, given)
	}
	if !slices.ContainsFunc(w.all(), func(in hooks.Instance) bool { return in.UserID == ada.Principal.UserID && !in.Trusted }) {
		t.Errorf("made of %+v", w.all())
	}
	mine, err := w.Mine(t.Context(), w.seen(t, ada.Principal), core.Page{})
	if got := ids(mine.Items); err != nil || !slices.Equal(got, []string{"file:for-ada", given.ID, adas.ID, onServer.ID}) {
		t.Errorf("ada has %v, %v", got, err)
	}
	mine, err = w.Mine(t.Context(), w.seen(t, bob.Principal), core.Page{})
	if got := ids(mine.Items); err != nil || !slices.Equal(got, []string{bobs.ID}) {
		t.Errorf("bob has %v, %v", got, err)
	}
	for name, id := range map[string]string{"another's": adas.ID, "for another": given.ID, "everybody's": global.ID, "of the file": "file:declared",
		"for another, of the file": "file:for-ada", "nobody's": "018f0000-0000-7000-8000-000000000000", "no id": "x"} {
		_, err := w.Hook(t.Context(), w.seen(t, bob.Principal), bob, id)
		wantKind(t, err, core.NotFound)
		_, err = w.Update(t.Context(), admin(), bob, id, patch(t, `{"enabled":false}`))
		wantKind(t, err, core.NotFound)
		if err := w.Delete(t.Context(), admin(), bob, id); err == nil {
			t.Errorf("%s: deleted", name)
		}
	}
	for _, id := range []string{given.ID, "file:for-ada"} {
		if _, err := w.Hook(t.Context(), w.seen(t, ada.Principal), ada, id); err != nil {
			t.Error(err)
		}
		_, err = w.Update(t.Context(), admin(), ada, id, patch(t, `{"enabled":false}`))
		wantKind(t, err, core.Denied)
		wantKind(t, w.Delete(t.Context(), admin(), ada, id), core.Denied)
	}
	if got := w.update(t, bob, bobs.ID, `{"pattern":"x*"}`); got.Pattern != "x*" || !got.Owned {
		t.Errorf("got %+v", got)
	}
	if err := w.Delete(t.Context(), admin(), bob, bobs.ID); err != nil {
		t.Error(err)
	}
}

func ids(list []hookbook.Hook) []string {
	var all []string
	for _, h := range list {
		all = append(all, h.ID)
	}
	return all
}

// TestTypesThatAreClosed: what no admin opened is not the users' to have; what was
// closed again can still be switched off and deleted.
func TestTypesThatAreClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada := w.user(t, "ada")
	_, err := w.Create(t.Context(), admin(), ada, patch(t, `{"name":"a","type":"guard"}`))
	wantKind(t, err, core.Denied)
	h := w.create(t, ada, `{"name":"a","type":"sender","config":{"url":"https://x"}}`)
	_, err = w.Update(t.Context(), admin(), ada, h.ID, patch(t, `{"type":"guard","config":{}}`))
	wantKind(t, err, core.Denied)
	types := w.Types()
	if len(types) != 2 || !types[0].OpenToMe || types[1].OpenToMe || !slices.Equal(types[1].Scopes, []string{"global", "server"}) {
		t.Errorf("got %+v", types)
	}
	if err := w.set.SetFile(hookset.File{}); err != nil {
		t.Fatal(err)
	}
	_, err = w.Update(t.Context(), admin(), ada, h.ID, patch(t, `{"enabled":true}`))
	wantKind(t, err, core.Denied)
	if off := w.update(t, ada, h.ID, `{"enabled":false}`); off.Enabled {
		t.Errorf("got %+v", off)
	}
	if err := w.Delete(t.Context(), admin(), ada, h.ID); err != nil {
		t.Error(err)
	}
}

// TestOwnHookStaysItsUsers: an admin may edit it, but neither move it nor give it
// what its user cannot have.
func TestOwnHookStaysItsUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada, bob := w.user(t, "ada"), w.user(t, "bob")
	h := w.create(t, ada, `{"name":"a","type":"sender","config":{"url":"https://x"}}`)
	if got := w.update(t, nil, h.ID, `{"mode":"observe"}`); !got.Owned || got.Mode != "observe" {
		t.Errorf("got %+v", got)
	}
	for text, at := range map[string]string{`{"userId":"` + bob.Principal.UserID + `"}`: "/userId", `{"userId":null}`: "/userId",
		`{"config":{"url":"${URL}"}}`: "/config/url"} {
		_, err := w.Update(t.Context(), admin(), nil, h.ID, patch(t, text))
		if got := pointers(err); !slices.Contains(got, at) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// TestList: filters, and pages that begin with what is declared.
func TestList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.server(t, "github")
	ada := w.user(t, "ada", server)
	w.create(t, nil, `{"name":"1","type":"guard"}`)
	w.create(t, nil, `{"name":"2","type":"sender","serverId":"`+server+`","config":{"url":"https://x"}}`)
	w.create(t, ada, `{"name":"3","type":"sender","config":{"url":"https://x"}}`)
	w.create(t, ada, `{"name":"4","type":"sender","serverId":"`+server+`","config":{"url":"https://x"}}`)
	none, name, github, nobody := "", "ada", "github", "nobody"
	for what, c := range map[string]struct {
		filter hookbook.Filter
		want   []string
	}{
		"all":            {hookbook.Filter{}, []string{"declared", "for-ada", "1", "2", "3", "4"}},
		"type":           {hookbook.Filter{Type: "guard"}, []string{"1"}},
		"user by id":     {hookbook.Filter{User: &ada.Principal.UserID}, []string{"for-ada", "3", "4"}},
		"user by name":   {hookbook.Filter{User: &name}, []string{"for-ada", "3", "4"}},
		"server by name": {hookbook.Filter{Server: &github}, []string{"2", "4"}},
		"global":         {hookbook.Filter{User: &none, Server: &none}, []string{"declared", "1"}},
		"user alone":     {hookbook.Filter{User: &name, Server: &none}, []string{"for-ada", "3"}},
		"nobody":         {hookbook.Filter{User: &nobody}, nil},
	} {
		for limit := range 8 {
			var got []string
			page := core.Page{Limit: limit}
			for {
				list, err := w.List(t.Context(), w.seen(t, core.Principal{}), c.filter, page)
				if err != nil {
					t.Fatal(err)
				}
				for _, h := range list.Items {
					got = append(got, h.Name)
				}
				if list.NextCursor == "" {
					break
				}
				if len(list.Items) != limit {
					t.Errorf("%s: a part of %d, want %d", what, len(list.Items), limit)
				}
				page.Cursor = list.NextCursor
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s in parts of %d: got %v, want %v", what, limit, got, c.want)
			}
		}
	}
	for _, cursor := range []string{"x", "declared.!", "declared"} {
		_, err := w.List(t.Context(), w.seen(t, core.Principal{}), hookbook.Filter{}, core.Page{Cursor: cursor})
		wantKind(t, err, core.InvalidParams)
	}
}
