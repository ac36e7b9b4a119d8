package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/toolscout/toolscout/cmd/toolscout/config"
	"github.com/toolscout/toolscout/mcpserver"
)

func (p *program) stdio() *cobra.Command {
	c := &cobra.Command{
		Use:   "stdio",
		Short: "Speak MCP on standard input and output, for a desktop client",
		Long: "Speak MCP on standard input and output. Attaches to the running server as whoever\n" +
			"TOOLSCOUT_TOKEN stands for; where none runs, runs one for as long as it lives.\n" +
			"The log goes to standard error.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := config.LoadClient(p.source, p.flags)
			if err != nil {
				return err
			}
			if running(c.Context(), client.URL) {
				a, err := p.api()
				if err != nil {
					return err
				}
				return mcpserver.Attach(c.Context(), p.stdin, p.stdout, a.base+"/mcp", a.token, http.DefaultClient)
			}
			if client.Chosen {
				return fmt.Errorf("no server at %s: start one, or unset TOOLSCOUT_URL to have this command run one", client.URL)
			}
			return p.ownServer(c.Context(), client.Token)
		},
	}
	p.serverVariables(c)
	p.variable(c.Flags(), "url", "TOOLSCOUT_URL")
	return c
}

// ownServer runs a server on a free port of this machine, and attaches to it
// until the client leaves.
func (p *program) ownServer(ctx context.Context, token string) error {
	flags := map[string]string{"TOOLSCOUT_ADDR": "127.0.0.1:0"}
	maps.Copy(flags, p.flags)
	cfg, err := config.Load(p.source, flags)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan started, 1)
	g := errgroup.Group{}
	g.Go(func() error {
		defer close(ready)
		defer cancel() // a server that ends takes the conversation along
		return p.runServer(ctx, cfg, newLogger(p.stderr, cfg.LogLevel), func(_ context.Context, s started) { ready <- s })
	})
	s, ok := <-ready
	if !ok {
		return g.Wait()
	}
	if token == "" {
		token = s.token.value
	}
	err = mcpserver.Attach(ctx, p.stdin, p.stdout, s.url+"/mcp", token, http.DefaultClient)
	cancel()
	if werr := g.Wait(); werr != nil {
		return werr // why the conversation ended
	}
	return err
}

// running reports whether a server answers at base.
func running(ctx context.Context, base string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/healthz", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 16)) // what cannot be read is not "ok"
	return res.StatusCode == http.StatusOK && strings.TrimSpace(string(body)) == "ok"
}

// announce writes where the server listens into the data folder, so that the
// commands of the same user find it on any port; it returns how to take it back.
func announce(dataDir, url string) (func(), error) {
	file := filepath.Join(dataDir, config.URLFile)
	if err := os.WriteFile(file, []byte(url+"\n"), 0o644); err != nil {
		return nil, fmt.Errorf("say where the server listens: %w", err)
	}
	return func() { os.Remove(file) }, nil
}
