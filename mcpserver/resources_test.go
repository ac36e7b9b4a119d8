package mcpserver_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
)

// kept puts a result into the store as if ann's call had left it there: a text, and
// an image.
func (s *stand) kept(text string, image []byte) (uri string) {
	s.t.Helper()
	servers, _, err := s.store.AllServers(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	block, err := json.Marshal(text)
	if err != nil {
		s.t.Fatal(err)
	}
	r := postgres.Result{ID: postgres.NewResultID(), TenantID: core.DefaultTenant, UserID: s.user.ID, ServerID: servers[0].ID, PageBytes: 1000,
		Body: fmt.Appendf(nil, `{"content":[{"type":"text","text":%s},{"type":"image","mimeType":"image/png","data":%q}]}`,
			block, base64.StdEncoding.EncodeToString(image))}
	if err := s.store.SaveResult(s.t.Context(), r, time.Hour); err != nil {
		s.t.Fatal(err)
	}
	return "toolscout://results/" + r.ID
}

// readOn reads a result from a URI to its end.
func readOn(t *testing.T, c *mcp.ClientSession, uri string) (text string, blob []byte) {
	t.Helper()
	for uri != "" {
		read, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			t.Fatal(err)
		}
		got := read.Contents[0]
		if len(read.Contents) != 1 || got.URI != uri || len(got.Text) > 1000 || len(got.Blob) > 1000 || got.Meta["toolscout/expiresAt"] == nil {
			t.Fatalf("got %+v", got)
		}
		if wantType := map[bool]string{false: "text/plain", true: "image/png"}[got.Blob != nil]; got.MIMEType != wantType {
			t.Errorf("MIME type %q, want %q", got.MIMEType, wantType)
		}
		text += got.Text
		blob = append(blob, got.Blob...)
		uri, _ = got.Meta["toolscout/nextUri"].(string)
	}
	return text, blob
}

func TestResources(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	long, image := strings.Repeat("some words, ä\n", 300), []byte(strings.Repeat("\x00\xff", 900))
	uri := s.kept(long, image)
	sse, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.SSEClientTransport{Endpoint: s.url + "/sse", HTTPClient: as("ann")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sse.Close() }()
	for name, c := range map[string]*mcp.ClientSession{legacy: s.connect("ann", legacy, nil), modern: s.connect("ann", modern, nil), "sse": sse} {
		if text, blob := readOn(t, c, uri); text != long || string(blob) != string(image) {
			t.Errorf("%s: read %d bytes of text and %d of the image", name, len(text), len(blob))
		}
		list, err := c.ListResources(t.Context(), nil)
		if err != nil || len(list.Resources) != 0 {
			t.Errorf("%s: list %+v, %v", name, list, err)
		}
		templates, err := c.ListResourceTemplates(t.Context(), nil)
		if err != nil || len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "toolscout://results/{id}{?cursor}" {
			t.Errorf("%s: templates %+v, %v", name, templates, err)
		}
	}
}

func TestResources_refused(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	uri := s.kept("a", nil)
	id := strings.TrimPrefix(uri, "toolscout://results/")
	for version, missing := range map[string]int64{legacy: -32002, modern: -32602} {
		ann, ben := s.connect("ann", version, nil), s.connect("ben", version, nil)
		for _, tc := range []struct {
			name, uri string
			as        *mcp.ClientSession
			code      int64
		}{
			{"somebody_else's", uri, ben, missing},
			{"unknown", "toolscout://results/" + postgres.NewResultID(), ann, missing},
			{"no_id", "toolscout://results/", ann, missing},
			{"other_host", "toolscout://tools/" + id, ann, missing},
			{"other_scheme", "file:///etc/passwd", ann, missing},
			{"other_parameter", uri + "?page=2", ann, missing},
			{"path_below", uri + "/..", ann, missing},
			{"no_uri", "%", ann, missing},
			{"bad_cursor", uri + "?cursor=x", ann, -32602},
		} {
			_, err := tc.as.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: tc.uri})
			var rpc *jsonrpc.Error
			if !errors.As(err, &rpc) || rpc.Code != tc.code {
				t.Errorf("%s, %s: got %v, want code %d", version, tc.name, err, tc.code)
			}
		}
	}
}

func TestResources_over_stdio(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	uri := s.kept("hello", nil)
	a := attach(t, s.url+"/mcp", "ann", nil)
	a.say(t, hello)
	if m := a.hear(t); m["result"].(map[string]any)["capabilities"].(map[string]any)["resources"] == nil {
		t.Errorf("resources are not declared: %v", m)
	}
	a.say(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"`+uri+`"}}`)
	m := a.hear(t)
	if got := mustJSON(m["result"]); !strings.Contains(got, `"text":"hello"`) {
		t.Errorf("got %v", m)
	}
}
