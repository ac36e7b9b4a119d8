package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/toolscout/toolscout/cmd/toolscout/config"
)

func (p *program) serve() *cobra.Command {
	var logFile string
	var banner bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Start the server",
		Long: "Start the server: MCP at /mcp, REST at /v1, the API described at /docs.\n\n" +
			"Without a database URL it runs a Postgres of its own in the data folder. The log is\n" +
			"JSON on standard error. SIGHUP reads the configuration file again, SIGTERM ends\n" +
			"the server after the calls under way.",
		Example: "  toolscout serve\n  toolscout serve --config toolscout.toml --addr 127.0.0.1:9000",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := config.Load(p.source, p.flags)
			if err != nil {
				return err
			}
			logs, done, err := p.logTo(logFile)
			if err != nil {
				return err
			}
			defer done()
			p.people = io.Discard
			if banner {
				p.people = p.stdout
			}
			return p.runServer(c.Context(), cfg, newLogger(logs, cfg.LogLevel), func(ctx context.Context, s started) {
				switch {
				case banner:
					welcome(ctx, p.people, s)
				case s.token.fresh:
					fmt.Fprintf(p.stdout, "the first admin's token, shown this once and kept in %s:\n%s\n", s.token.file, s.token.value)
				}
			})
		},
	}
	p.serverVariables(c)
	c.Flags().StringVar(&logFile, "log-file", "", "append the log to this file instead of standard error")
	c.Flags().BoolVar(&banner, "banner", false, "show progress on standard output and, when ready, what to try next")
	return c
}

// say tells people what takes time, where somebody looks.
func (p *program) say(line string) {
	if p.people != nil {
		fmt.Fprintln(p.people, line)
	}
}

func (p *program) logTo(name string) (io.Writer, func(), error) {
	if name == "" {
		return p.stderr, func() {}, nil
	}
	f, err := os.OpenFile(filepath.Clean(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("log file: %w", err)
	}
	return f, func() { f.Close() }, nil
}

func newLogger(w io.Writer, level string) *slog.Logger {
	var l slog.Level
	_ = l.UnmarshalText([]byte(level)) // the configuration has been checked
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l}))
}

// started is a server that listens.
type started struct {
	server *server
	config config.Config
	// url is how this machine reaches it.
	url   string
	token adminToken
	began time.Time
}

// runServer starts everything, serves until ctx ends, and takes it down again in
// the order that loses nothing: doors, calls, sessions, audit, database. It
// calls then, in a goroutine, once it listens.
func (p *program) runServer(ctx context.Context, cfg config.Config, log *slog.Logger, then func(context.Context, started)) error {
	for _, name := range config.Unknown(p.source) {
		log.Warn("unknown environment variable", "name", name)
	}
	if err := checkFile(cfg, p.source); err != nil {
		return err // before a database is started for it
	}
	began := time.Now()
	listener, err := listen(ctx, cfg.Addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	db, err := openDatabase(ctx, cfg, log, p.say)
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := newServer(ctx, cfg, p.source, db, listener.Addr().String(), log)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.applyFile(ctx, cfg); err != nil {
		return err
	}
	token, err := s.firstToken(ctx, cfg)
	if err != nil {
		return err
	}
	s.sayStrangers(ctx)
	local := localURL(listener.Addr().String())
	unannounce, err := announce(cfg.DataDir, local)
	if err != nil {
		return err
	}
	defer unannounce()
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)

	httpServer := s.httpServer(log)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := httpServer.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error { return s.run(ctx) })
	g.Go(func() error { return s.reloads(ctx, hup, p.source, p.flags) })
	g.Go(func() error { then(ctx, started{s, cfg, local, token, began}); return nil })
	g.Go(func() error {
		<-ctx.Done()
		return s.shutdown(httpServer)
	})
	log.Info("listening", "addr", listener.Addr().String(), "url", s.publicURL, "version", versionString(),
		"ready_after_ms", time.Since(began).Milliseconds())
	err = g.Wait()
	log.Info("stopped")
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use: stop what listens there, or choose another with --addr or TOOLSCOUT_ADDR", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l, nil
}

// localURL is how this machine reaches a listener.
func localURL(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "http://" + addr
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
