package rest_test

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/mcpserver/rest"
)

// TestResult reads a result that was shortened, page by page.
func TestResult(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id, ada := r.user(t, "ada")
	_, ben := r.user(t, "ben")
	s := r.register(t, "echoes", upstreamServer(t), "")
	kept := postgres.Result{ID: postgres.NewResultID(), TenantID: core.DefaultTenant, UserID: id, ServerID: s.ID, PageBytes: 4,
		Body: []byte(`{"content":[{"type":"text","text":"héllo"},{"type":"image","mimeType":"image/png","data":"AAEC"}],"structuredContent":{"a":1.0}}`)}
	if err := r.store.SaveResult(t.Context(), kept, time.Hour); err != nil {
		t.Fatal(err)
	}
	text, blob := "", ""
	path := "/v1/results/" + kept.ID
	for cursor := ""; ; {
		var page rest.ResultPage
		r.want(t, 200, &page, ada, "GET", path+"?cursor="+cursor, "")
		text += page.Text
		blob += page.Blob
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if want := base64.StdEncoding.EncodeToString([]byte{0, 1, 2}); text != `héllo{"a":1.0}` || blob != want {
		t.Errorf("read %q and %q", text, blob)
	}
	r.want(t, 404, nil, ben, "GET", path, "")
	r.want(t, 404, nil, ada, "GET", "/v1/results/"+postgres.NewResultID(), "")
	r.want(t, 404, nil, ada, "GET", "/v1/results/x", "")
	r.want(t, 422, nil, ada, "GET", path+"?cursor=9-9", "")
	r.want(t, 200, nil, ada, "PUT", "/v1/servers/"+s.ID+"/preference", `{"enabled":false}`)
	r.want(t, 404, nil, ada, "GET", path, "")
}
