package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"math"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/access"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/search"
	"github.com/toolscout/toolscout/hooks/audit"
)

func (g *Gateway) discover(ctx context.Context, t task) (json.RawMessage, error) {
	args, err := read[struct {
		Query         string  `json:"query"`
		Domain        string  `json:"domain"`
		TopK          integer `json:"top_k"`
		MinSimilarity float64 `json:"min_similarity"`
		Detail        string  `json:"detail"`
	}](t.outer.Args)
	if err != nil {
		return nil, err
	}
	found, err := g.search(ctx, t, search.Query{Text: args.Query, Domain: args.Domain, Servers: t.view.On(),
		TopK: cmp.Or(int(args.TopK), 10), MinSimilarity: args.MinSimilarity}, args.Detail)
	if err != nil {
		return nil, err
	}
	return core.EncodeJSON(Discovery{Tools: found.Items, Servers: serversOf(t.view, found.Items),
		Suggestion: found.Suggestion, Degraded: found.Degraded})
}

// search finds tools and describes them.
func (g *Gateway) search(ctx context.Context, t task, q search.Query, detail string) (ToolList, error) {
	q.AtLeast = t.view.Catalog()
	answer, err := g.config.Search.Search(ctx, q)
	if err != nil {
		return ToolList{}, err
	}
	ids := make([]string, len(answer.Hits))
	for i, h := range answer.Hits {
		ids[i] = h.ToolID
	}
	tools, err := g.tools.byID(ctx, ids, t.view.Catalog())
	if err != nil {
		return ToolList{}, err
	}
	list := ToolList{Items: []Tool{}, Suggestion: answer.Suggestion, Degraded: answer.Degraded}
	for _, h := range answer.Hits {
		// One may have been removed since the search looked.
		tool := tools[h.ToolID]
		if tool == nil || t.view.Access(tool.ServerID) != core.On {
			continue
		}
		item := shapeTool(tool, detail)
		score := math.Round(h.Score*1000) / 1000 // more digits would only cost tokens
		item.Score = &score
		list.Items = append(list.Items, item)
	}
	return list, nil
}

// serversOf describes the servers of tools.
func serversOf(v *access.View, tools []Tool) map[string]ToolServer {
	servers := map[string]ToolServer{}
	for _, t := range tools {
		if s, ok := v.Server(t.ServerID); ok {
			servers[s.ID] = shapeToolServer(s)
		}
	}
	return servers
}

func (g *Gateway) toolSchema(ctx context.Context, t task) (json.RawMessage, error) {
	args, err := read[struct {
		ToolID string `json:"tool_id"`
	}](t.outer.Args)
	if err != nil {
		return nil, err
	}
	r, err := g.resolve(ctx, t, args.ToolID)
	if err != nil {
		return nil, err
	}
	audit.Note(t.outer, r.tool, r.server)
	if refusal := r.refuse(args.ToolID); refusal != nil {
		return nil, refusal
	}
	r.name(t.outer)
	return core.EncodeJSON(ToolSchema{ID: r.tool.ID, Name: r.tool.Name, Title: r.tool.Title, Description: r.tool.Description,
		Domain: r.tool.Domain, ServerID: r.server.ID, ServerName: r.server.Name, InputSchema: objectOr(r.tool.InputSchema),
		OutputSchema: objectOrNil(r.tool.OutputSchema), Annotations: objectOrNil(r.tool.Annotations), SchemaHash: r.tool.SchemaHash})
}

func (g *Gateway) listDomains(ctx context.Context, t task) (json.RawMessage, error) {
	counts, err := g.config.Store.DomainCounts(ctx, t.view.On())
	if err != nil {
		return nil, err
	}
	described, err := g.config.Store.Domains(ctx, t.request.Principal.TenantID)
	if err != nil {
		return nil, err
	}
	byID := map[string]core.Domain{}
	for _, d := range described {
		byID[d.ID] = d
	}
	out := Domains{Domains: []core.Domain{}}
	for _, id := range bySize(counts) {
		d := byID[id]
		d.ID, d.Name, d.ToolCount = id, cmp.Or(d.Name, id), counts[id]
		out.Domains = append(out.Domains, d)
	}
	return core.EncodeJSON(out)
}

func (g *Gateway) browse(ctx context.Context, t task) (json.RawMessage, error) {
	args, err := read[struct {
		DomainID string `json:"domain_id"`
		paging
	}](t.outer.Args)
	if err != nil {
		return nil, err
	}
	page, err := g.page(ctx, t.view.On(), args.DomainID, args.page())
	if err != nil {
		return nil, err
	}
	if len(page.Items) == 0 && args.Cursor == "" {
		return nil, core.Errorf(core.NotFound, "there is no domain %q", clip(args.DomainID, 200)).
			WithHint("list_tool_domains names them all")
	}
	return core.EncodeJSON(Browsing{Tools: page.Items, Servers: serversOf(t.view, page.Items), NextCursor: page.NextCursor})
}

// page lists tools of these servers, "" standing for every domain.
func (g *Gateway) page(ctx context.Context, servers []string, domain string, p core.Page) (ToolList, error) {
	list, err := g.config.Store.ToolPage(ctx, postgres.ToolFilter{Servers: servers, Domain: domain}, p)
	if err != nil {
		return ToolList{}, err
	}
	out := ToolList{Items: []Tool{}, NextCursor: list.NextCursor}
	for i := range list.Items {
		out.Items = append(out.Items, shapeTool(&list.Items[i], detailSignature))
	}
	return out, nil
}
