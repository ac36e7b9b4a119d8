package gateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"sort"
	"strings"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/search"
	hookaccess "github.com/toolscout/toolscout/hooks/access"
	"github.com/toolscout/toolscout/hooks/audit"
)

// paging is how callers ask for a part of a list.
type paging struct {
	Cursor string  `json:"cursor"`
	Limit  integer `json:"limit"`
}

func (p paging) page() core.Page { return core.Page{Limit: int(p.Limit), Cursor: p.Cursor} }

// listServers lists the servers that are on or off for the caller, by name, with
// their health as of now.
func (g *Gateway) listServers(ctx context.Context, t task) (json.RawMessage, error) {
	args, err := read[struct {
		Query string `json:"query"`
		paging
	}](t.outer.Args)
	if err != nil {
		return nil, err
	}
	health, err := g.health(ctx)
	if err != nil {
		return nil, err
	}
	var list []*core.Server
	for _, s := range t.view.Servers() {
		if strings.Contains(strings.ToLower(s.Name+" "+s.Description), strings.ToLower(args.Query)) {
			list = append(list, s)
		}
	}
	list, next, err := pageOf(list, args.page())
	if err != nil {
		return nil, err
	}
	out := core.List[Server]{Items: []Server{}, NextCursor: next}
	for _, s := range list {
		item := shapeServer(s, t.view.Access(s.ID))
		if h, ok := health[s.ID]; ok {
			item.Health = h
		}
		out.Items = append(out.Items, item)
	}
	return core.EncodeJSON(out)
}

// health reads what was last observed of every server: the copy that access is
// decided on does not follow it.
func (g *Gateway) health(ctx context.Context) (map[string]core.Health, error) {
	servers, _, err := g.config.Store.AllServers(ctx)
	if err != nil {
		return nil, err
	}
	health := make(map[string]core.Health, len(servers))
	for _, s := range servers {
		health[s.ID] = s.Health
	}
	return health, nil
}

// pageOf cuts a page out of servers that are sorted by name and id. The cursor is
// both of the last one.
func pageOf(list []*core.Server, p core.Page) ([]*core.Server, string, error) {
	if p.Limit <= 0 {
		p.Limit = core.DefaultLimit
	}
	if p.Cursor != "" {
		raw, err := base64.RawURLEncoding.DecodeString(p.Cursor)
		id, name, ok := strings.Cut(string(raw), " ")
		if err != nil || !ok {
			return nil, "", core.Errorf(core.InvalidParams, "the cursor is not one that this list gave out").
				WithHint("start again without a cursor")
		}
		list = list[sort.Search(len(list), func(i int) bool {
			return list[i].Name > name || list[i].Name == name && list[i].ID > id
		}):]
	}
	if len(list) <= p.Limit {
		return list, "", nil
	}
	last := list[p.Limit-1]
	return list[:p.Limit], base64.RawURLEncoding.EncodeToString([]byte(last.ID + " " + last.Name)), nil
}

func (g *Gateway) serverTools(ctx context.Context, t task) (json.RawMessage, error) {
	args, err := read[struct {
		ServerID string `json:"server_id"`
		paging
	}](t.outer.Args)
	if err != nil {
		return nil, err
	}
	if err := t.useServer(args.ServerID); err != nil {
		return nil, err
	}
	page, err := g.page(ctx, []string{args.ServerID}, "", args.page())
	if err != nil {
		return nil, err
	}
	page.Servers = serversOf(t.view, page.Items)
	return core.EncodeJSON(page)
}

// listTools lists the caller's tools, or searches them when there is a query.
func (g *Gateway) listTools(ctx context.Context, t task) (json.RawMessage, error) {
	args, err := read[struct {
		Query  string `json:"query"`
		Domain string `json:"domain"`
		Server string `json:"server"`
		paging
	}](t.outer.Args)
	if err != nil {
		return nil, err
	}
	servers := t.view.On()
	if args.Server != "" {
		if err := t.useServer(args.Server); err != nil {
			return nil, err
		}
		servers = []string{args.Server}
	}
	var list ToolList
	if args.Query == "" {
		list, err = g.page(ctx, servers, args.Domain, args.page())
	} else {
		list, err = g.search(ctx, t, search.Query{Text: args.Query, Domain: args.Domain, Servers: servers, TopK: int(args.Limit)}, detailSignature)
	}
	if err != nil {
		return nil, err
	}
	list.Servers = serversOf(t.view, list.Items)
	return core.EncodeJSON(list)
}

// useServer is the access rule for a server that a caller names.
func (t task) useServer(id string) error {
	s, err := t.server(id)
	if err != nil {
		return err
	}
	if t.view.Access(id) == core.Off {
		return hookaccess.ServerOff(s)
	}
	return nil
}

// server is a server that the caller can see.
func (t task) server(id string) (*core.Server, error) {
	s, ok := t.view.Server(id)
	if !ok {
		return nil, core.Errorf(core.NotFound, "there is no server %q", clip(id, 200))
	}
	audit.Note(t.outer, nil, s)
	t.outer.Server = s
	return s, nil
}

// setPreference switches a server on or off for the caller. The change and its
// audit row are one transaction.
func (g *Gateway) setPreference(ctx context.Context, t task) (json.RawMessage, error) {
	args, err := read[struct {
		ServerID string `json:"server_id"`
		Enabled  bool   `json:"enabled"`
	}](t.outer.Args)
	if err != nil {
		return nil, err
	}
	s, err := t.server(args.ServerID)
	if err != nil {
		return nil, err
	}
	// Read first: what fails after the change would call it failed.
	health, err := g.health(ctx)
	if err != nil {
		return nil, err
	}
	by := t.request.Entry(core.LevelConfig, SetPreference)
	if by.Details, err = core.EncodeJSON(map[string]bool{"enabled": args.Enabled}); err != nil {
		return nil, err
	}
	if err := g.config.Store.SetEnabled(ctx, by, t.request.Principal.UserID, s.ID, args.Enabled); err != nil {
		return nil, err
	}
	access := core.Off
	if args.Enabled {
		access = core.On
	}
	item := shapeServer(s, access)
	if h, ok := health[s.ID]; ok {
		item.Health = h
	}
	return core.EncodeJSON(item)
}
