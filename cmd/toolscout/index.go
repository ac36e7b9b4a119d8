package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolscout/toolscout/core"
)

const indexPath = "/v1/admin/embeddings/index"

func (p *program) index() *cobra.Command {
	c := &cobra.Command{Use: "index", Short: "The index of tools: how far it is, and building it anew"}
	c.AddCommand(p.indexStatus(), p.indexRun(), p.indexModels())
	return c
}

func (p *program) indexStatus() *cobra.Command {
	return &cobra.Command{Use: "status", Short: "Say how far indexing has come", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		a, err := p.api()
		if err != nil {
			return err
		}
		var s core.IndexStatus
		if err := a.do(c.Context(), http.MethodGet, indexPath, nil, &s); err != nil {
			return err
		}
		return p.print(s, func() { fmt.Fprintln(p.stdout, indexLine(s)) })
	}}
}

func indexLine(s core.IndexStatus) string {
	line := fmt.Sprintf("%s: %s, %d of %d tools", dash(s.Model), s.State, s.Indexed, s.Total)
	if s.Failed > 0 {
		line += fmt.Sprintf(", %d failed", s.Failed)
	}
	if s.Error != "" {
		line += ": " + short(s.Error, 200)
	}
	return line
}

func (p *program) indexRun() *cobra.Command {
	var full, wait bool
	c := &cobra.Command{Use: "run", Short: "Index what is new; with --full everything again", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		a, err := p.api()
		if err != nil {
			return err
		}
		var s core.IndexStatus
		if err := a.do(c.Context(), http.MethodPost, indexPath, map[string]bool{"full": full}, &s); err != nil {
			return err
		}
		if wait {
			if s, err = p.watchIndex(c.Context(), a); err != nil {
				return err
			}
		}
		return p.print(s, func() { fmt.Fprintln(p.stdout, indexLine(s)) })
	}}
	c.Flags().BoolVar(&full, "full", false, "make every vector anew")
	c.Flags().BoolVar(&wait, "wait", true, "show progress until it is done")
	return c
}

// watchIndex shows progress until nothing is left to do.
func (p *program) watchIndex(ctx context.Context, a *api) (core.IndexStatus, error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	last := ""
	for {
		var s core.IndexStatus
		if err := a.do(ctx, http.MethodGet, indexPath, nil, &s); err != nil {
			return s, err
		}
		if line := indexLine(s); line != last && !p.json {
			fmt.Fprintln(p.stderr, line)
			last = line
		}
		if s.State != "running" {
			return s, nil
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-tick.C:
		}
	}
}

func (p *program) indexModels() *cobra.Command {
	return &cobra.Command{Use: "models", Short: "List the embedding models on record", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		a, err := p.api()
		if err != nil {
			return err
		}
		models, err := all[core.Model](c.Context(), a, "/v1/admin/embeddings/models", nil, 0)
		if err != nil {
			return err
		}
		return p.print(models, func() {
			var rows [][]string
			for _, m := range models {
				rows = append(rows, []string{fmt.Sprint(m.ID), m.Name, m.Provider, fmt.Sprint(m.Dimensions), weight(m), yes(m.Active), day(&m.CreatedAt)})
			}
			p.table("no models yet", []string{"ID", "MODEL", "PROVIDER", "DIMENSIONS", "WEIGHT", "ACTIVE", "SINCE"}, rows)
		})
	}}
}

// weight is what a model counts against words, where one was found for it.
func weight(m core.Model) string {
	if m.Weight == 0 {
		return "usual"
	}
	return fmt.Sprintf("%.2f", m.Weight)
}
