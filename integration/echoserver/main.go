// Command echoserver is an MCP server with a tool that says back what it is told,
// over Streamable HTTP with sessions: what the benchmarks call directly and
// through the gateway. It can offer many made-up tools beside it.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolscout/toolscout/core/search/evaluate"
)

func main() {
	addr := flag.String("http", "127.0.0.1:0", "where to listen")
	tools := flag.Int("tools", 0, "how many made-up tools to offer beside echo")
	seed := flag.Uint64("seed", 1, "what the made-up tools depend on")
	flag.Parse()
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	type input struct {
		Text string `json:"text" jsonschema:"what to say back"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Says back what it is told"},
		func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
		})
	for _, t := range evaluate.Generate(*tools, *seed).Tools {
		server.AddTool(&mcp.Tool{Name: t.ID, Description: t.Description, InputSchema: t.InputSchema},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
	}
	get := func(*http.Request) *mcp.Server { return server }
	log.Fatal(http.ListenAndServe(*addr, mcp.NewStreamableHTTPHandler(get, nil)))
}
