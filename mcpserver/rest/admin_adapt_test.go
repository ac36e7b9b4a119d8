package rest_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"testing"

	"github.com/toolscout/toolscout/embeddings/builtin"
	"github.com/toolscout/toolscout/mcpserver/rest"
)

// TestAdaptedTable: a table is larger than any other body, and takes the way through
// the door.
func TestAdaptedTable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "echoes", upstreamServer(t), `,"description":"Says it again"`)
	const table = "/v1/admin/embeddings/table"
	var tools, more rest.List[rest.CatalogTool]
	r.want(t, 200, &tools, r.admin, "GET", "/v1/admin/embeddings/tools?limit=1", "")
	r.want(t, 200, &more, r.admin, "GET", "/v1/admin/embeddings/tools?limit=1&cursor="+tools.NextCursor, "")
	all := slices.Concat(tools.Items, more.Items)
	if len(all) != 2 || all[0].ID == all[1].ID || all[0].ServerName != "echoes" || all[0].ServerDescription != "Says it again" || len(all[0].InputSchema) == 0 || more.NextCursor != "" {
		t.Errorf("got %+v", all)
	}
	r.want(t, 404, nil, r.admin, "GET", table, "")
	r.want(t, 404, nil, r.admin, "DELETE", table, "")
	r.want(t, 422, nil, r.admin, "POST", table, `{"base":"builtin/words-256-v2","table":"eA=="}`)
	r.want(t, 409, nil, r.admin, "POST", table, `{"base":"builtin/none","table":"eA=="}`)
	r.want(t, 422, nil, r.admin, "POST", table, `{"base":"builtin/none","table":"?"}`)
	body := fmt.Sprintf(`{"base":%q,"table":%q,"questions":40,"gain":0.1,"p":0.01}`, builtin.Name, base64.StdEncoding.EncodeToString(builtin.Table()))
	var chosen, left rest.Model
	r.want(t, 202, &chosen, r.admin, "POST", table, body)
	r.want(t, 413, nil, r.admin, "POST", "/v1/admin/embeddings/search", body)
	r.want(t, 202, &left, r.admin, "DELETE", table, "")
	if chosen.ID == 0 || left.ID != chosen.ID || chosen.Active {
		t.Errorf("chose %+v and turned away from %+v", chosen, left)
	}
}
