package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolscout/toolscout/cmd/toolscout/config"
	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/admin"
	"github.com/toolscout/toolscout/core/egress"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/core/postgres/embedded"
	"github.com/toolscout/toolscout/core/upstream"
	"github.com/toolscout/toolscout/mcpserver/rest"
)

// finding is what one check found.
type finding struct {
	Check   string `json:"check"`
	OK      bool   `json:"ok"`
	Message string `json:"message"`
}

// checkup collects findings.
type checkup struct {
	findings []finding
	failed   bool
}

func (c *checkup) add(check string, err error, fine string) {
	f := finding{Check: check, OK: err == nil, Message: fine}
	if err != nil {
		f.Message = explain(err)
		c.failed = true
	}
	c.findings = append(c.findings, f)
}

// explain gives an error with its hint and cause: whoever runs doctor may know.
func explain(err error) string {
	var e *core.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	text := e.Message
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	if cause := e.Unwrap(); cause != nil {
		text += " (" + cause.Error() + ")"
	}
	return text
}

func (p *program) doctor() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check configuration, database, embedding model and each server, and say what to do",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var d checkup
			cfg, err := config.Load(p.source, p.flags)
			d.add("configuration", err, cmpFile(cfg))
			if err == nil {
				p.examine(c.Context(), &d, cfg)
			}
			if err := p.print(d.findings, func() { p.report(d) }); err != nil || !d.failed {
				return err
			}
			return errReported
		},
	}
	p.serverVariables(c)
	p.variable(c.Flags(), "url", "TOOLSCOUT_URL")
	return c
}

func (p *program) report(d checkup) {
	for _, f := range d.findings {
		mark := "ok  "
		if !f.OK {
			mark = "FAIL"
		}
		fmt.Fprintf(p.stdout, "%s  %s: %s\n", mark, f.Check, f.Message)
	}
}

func cmpFile(c config.Config) string {
	if c.File == "" {
		return "valid; no file, the environment alone (if the server has a file, name it with --config)"
	}
	return fmt.Sprintf("valid; %s with %d servers", c.File, len(c.Gateway.Servers))
}

func (p *program) examine(ctx context.Context, d *checkup, cfg config.Config) {
	for _, name := range config.Unknown(p.source) {
		d.add("environment", fmt.Errorf("%s is not a setting: see docs/configuration.md", name), "")
	}
	d.add("data folder", writable(cfg.DataDir), cfg.DataDir)
	client, err := config.LoadClient(p.source, p.flags)
	alive := err == nil && running(ctx, client.URL)
	message := "none runs at " + client.URL + "; start it with toolscout serve"
	if alive {
		message = "answers at " + client.URL
	}
	d.add("server", err, message)
	p.checkDatabase(ctx, d, cfg, alive)
	d.add("embedding model", checkEmbedder(ctx, cfg), strings.Join(strings.Fields(cfg.Embeddings.Provider+" "+cfg.Embeddings.Model+" answers"), " "))
	if alive && p.registered(ctx, d) {
		return
	}
	p.declared(ctx, d, cfg)
}

func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".doctor")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// checkDatabase looks at the database that is configured, or at whether one
// could be started.
func (p *program) checkDatabase(ctx context.Context, d *checkup, cfg config.Config, alive bool) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	if cfg.DatabaseURL == "" {
		if alive {
			d.add("database", nil, "run by the server, in "+filepath.Join(cfg.DataDir, "postgres"))
			return
		}
		install, err := embedded.Find(ctx, "")
		d.add("database", err, fmt.Sprintf("PostgreSQL %s with pgvector %s in %s", install.Version, install.Vector, install.Bin))
		return
	}
	store, err := postgres.Open(ctx, cfg.DatabaseURL, postgres.Options{})
	if err != nil {
		d.add("database", err, "")
		return
	}
	defer store.Close()
	d.add("database", store.Ready(ctx), "reachable, migrated, pgvector 0.8 or newer")
}

func checkEmbedder(ctx context.Context, cfg config.Config) error {
	e, err := newEmbedder(cfg.Embeddings, egress.New(egress.Config{AllowPrivate: true}))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, err = e.Embed(ctx, []string{"read a file"})
	return err
}

// registered tells how the running server's servers do; false when it may not ask.
func (p *program) registered(ctx context.Context, d *checkup) bool {
	a, err := p.api()
	if err != nil {
		return false
	}
	servers, err := all[rest.Server](ctx, a, serversPath, nil, 0)
	if err != nil {
		d.add("servers", err, "")
		return false
	}
	for _, s := range servers {
		if s.Status != core.Active {
			continue
		}
		switch s.Health.State {
		case core.Down, core.Misconfigured:
			d.add("server "+s.Name, fmt.Errorf("%s at stage %s: %s", s.Health.State, dash(s.Health.Stage), short(s.Health.Message, 400)), "")
		default:
			d.add("server "+s.Name, nil, fmt.Sprintf("%s, %d tools", dash(string(s.Health.State)), s.ToolCount))
		}
	}
	p.configured(ctx, a, d)
	return true
}

// configured tells which hooks of the running server are not used as they are
// configured.
func (p *program) configured(ctx context.Context, a *api, d *checkup) {
	list, err := all[hook](ctx, a, adminHooksPath, nil, 0)
	if err != nil {
		d.add("hooks", err, "")
		return
	}
	used := 0
	for _, h := range list {
		switch {
		case h.State.Reason != "":
			d.add("hook "+h.Name, fmt.Errorf("%s; toolscout hooks show %s tells more", h.how(), h.ID), "")
		case h.Enabled == nil || *h.Enabled:
			used++
		}
	}
	d.add("hooks", nil, fmt.Sprintf("%d are used", used))
}

// declared tries each server of the file in a session of its own.
func (p *program) declared(ctx context.Context, d *checkup, cfg config.Config) {
	open := egress.New(egress.Config{AllowPrivate: true})
	pool := upstream.New(upstream.Config{Version: versionString(), Getenv: cfg.Lookup(p.source), Trusted: open, Guarded: open})
	defer pool.Close()
	for _, s := range cfg.Gateway.Servers {
		s = admin.Defaults(s)
		if faults := admin.ValidateServer(s); len(faults) > 0 {
			d.add("server "+s.Name, fmt.Errorf("%s: %s", faults[0].Pointer, faults[0].Message), "")
			continue
		}
		if err := missingCommand(s); err != nil {
			d.add("server "+s.Name, err, "")
			continue
		}
		r := pool.Test(ctx, &s)
		if !r.OK {
			d.add("server "+s.Name, fmt.Errorf("failed to %s: %s", dash(r.Stage), short(r.Message, 400)), "")
			continue
		}
		d.add("server "+s.Name, nil, fmt.Sprintf("%s %s, %d tools", short(r.Name, 100), short(r.Version, 100), r.ToolCount))
	}
}

func missingCommand(s core.Server) error {
	if s.Transport != core.Stdio {
		return nil
	}
	if _, err := exec.LookPath(s.Command); err != nil {
		advice := "install it, or correct the command"
		if s.Command == "npx" || s.Command == "node" {
			advice = "install Node 20 or newer (on Debian and Ubuntu: apt install nodejs npm)"
		}
		return fmt.Errorf("%s is not to be found: %s", s.Command, advice)
	}
	return nil
}
