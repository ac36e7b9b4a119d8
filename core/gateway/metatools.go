package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/core"
)

// MetaTool is one of the five tools that a client sees.
type MetaTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"` // execute_tool has none
	Annotations  json.RawMessage `json:"annotations,omitempty"`
}

const (
	readOnly = `{"readOnlyHint":true,"openWorldHint":false}`
	anyTool  = `{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}`
	// A description names this many domains, in at most so many bytes.
	namedDomains     = 12
	namedDomainBytes = 500
)

// MetaTools gives the five tools as a principal sees them: the descriptions name
// the largest domains, so that a model knows what lies behind them. The same for
// everyone who sees the same, and from call to call. At most 6 KB in all.
func (g *Gateway) MetaTools(ctx context.Context, p core.Principal) ([]MetaTool, error) {
	view, err := g.config.Access.View(ctx, p)
	if err != nil {
		return nil, err
	}
	counts, err := g.config.Store.DomainCounts(ctx, view.On())
	if err != nil {
		return nil, err
	}
	return metaTools(sentenceOf(bySize(counts))), nil
}

func metaTools(domains string) []MetaTool {
	return []MetaTool{
		{Name: DiscoverTools, Title: "Find tools", InputSchema: discoverInput, OutputSchema: discoverOutput,
			Annotations: json.RawMessage(readOnly),
			Description: "Find tools by what you want to do. Start here: behind this gateway are many tools of many servers that are not " +
				"listed, only found. Each comes with an id, a one-line signature and a score; run it with " + ExecuteTool + "." + domains},
		{Name: GetToolSchema, Title: "Describe a tool", InputSchema: toolIDInput, OutputSchema: schemaOutput,
			Annotations: json.RawMessage(readOnly),
			Description: "Read a tool's whole description and its input and output schema, when the signature is not enough to call it."},
		{Name: ExecuteTool, Title: "Run a tool", InputSchema: executeInput, Annotations: json.RawMessage(anyTool),
			Description: "Run a tool that was found, and get its own result. Invalid arguments are refused with every fault and the schema: mend them and try again."},
		{Name: ListToolDomains, Title: "List domains", InputSchema: nothingInput, OutputSchema: domainsOutput,
			Annotations: json.RawMessage(readOnly),
			Description: "List the domains, the categories of tools, with what they are about and how many tools each has."},
		{Name: BrowseToolDomain, Title: "Browse a domain", InputSchema: browseInput, OutputSchema: browseOutput,
			Annotations: json.RawMessage(readOnly),
			Description: "List the tools of one domain page by page, to look around without a query." + domains},
	}
}

// bySize orders domains by their number of tools, then by id.
func bySize(counts map[string]int) []string {
	ids := make([]string, 0, len(counts))
	for id, n := range counts {
		if n > 0 {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return ids
}

// sentenceOf names the first domains.
func sentenceOf(ids []string) string {
	if len(ids) == 0 {
		return " At the moment no tool is open to you."
	}
	var names []string
	size := 0
	for _, id := range ids {
		if size += len(id) + 2; len(names) == namedDomains || size > namedDomainBytes {
			names = append(names, "and more")
			break
		}
		names = append(names, id)
	}
	return " Largest domains: " + strings.Join(names, ", ") + "."
}

// IsMetaTool reports whether a name is that of one of the five: the actions beside
// them are not for MCP.
func IsMetaTool(name string) bool {
	switch name {
	case DiscoverTools, GetToolSchema, ExecuteTool, ListToolDomains, BrowseToolDomain:
		return true
	}
	return false
}
