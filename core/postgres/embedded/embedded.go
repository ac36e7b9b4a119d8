// Package embedded runs a PostgreSQL with pgvector as a child process, so that a database needs neither setting up nor thinking about.
//
// It finds an installed PostgreSQL or fetches a private copy, keeps the data in a folder of the caller's, starts the server again when
// it dies, and takes it down when the owner ends, however that happens. Nothing is shared with a PostgreSQL that the machine runs for
// others.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
)

// Config says where a cluster lives and how it runs.
type Config struct {
	// DataDir holds the cluster (pg/), its lock, its password and its log. It is made if missing. Required.
	DataDir string
	// Prefix is where a private PostgreSQL is, or is put when none is installed; empty means DefaultPrefix.
	Prefix string
	// NoSync trades the safety of the data for speed: for throw-away clusters in tests.
	NoSync bool
	// Logger hears of what someone may have to act on; nil discards it.
	Logger *slog.Logger
	// Progress is told in one line, fit for people, what takes time; nil for silence.
	Progress func(string)
}

// Server is a running PostgreSQL of our own.
type Server struct {
	url      string
	folder   *folder
	endpoint endpoint
	who      account
	install  Install
	noSync   bool
	logger   *slog.Logger
	stop     context.CancelFunc
	exited   chan struct{}
	close    func() error
}

// Start makes the cluster in cfg.DataDir if there is none, starts it, and returns once it takes connections. ctx bounds the start
// alone; the server runs until Close, and goes down with this process even if that is killed. The error is core.Conflict when another
// process has the folder, core.Unavailable with advice when there is no PostgreSQL to run, and otherwise carries PostgreSQL's last words.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.DataDir == "" {
		return nil, errors.New("embedded postgres: no data folder given")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	path, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return nil, fmt.Errorf("embedded postgres: %w", err)
	}
	folder, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	s, err := start(ctx, cfg, folder)
	if err != nil {
		return nil, errors.Join(err, folder.release())
	}
	return s, nil
}

// start does the work of Start in a folder that is locked.
func start(ctx context.Context, cfg Config, folder *folder) (*Server, error) {
	who, err := accountFor(folder.data)
	if err != nil {
		return nil, err
	}
	if err := who.canEnter(folder.path); err != nil {
		return nil, err
	}
	major, err := folder.major()
	if err != nil {
		return nil, err
	}
	install, err := finder{who: who, installed: installedBins(), prefix: cfg.Prefix, major: major, progress: cfg.Progress}.find(ctx)
	if err != nil {
		return nil, err
	}
	c := cluster{folder: folder, who: who, install: install, noSync: cfg.NoSync}
	password, err := c.prepare(ctx, cfg.Progress)
	if err != nil {
		return nil, err
	}
	endpoint, err := chooseEndpoint(folder.path, who)
	if err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.Background())
	s := &Server{
		url: endpoint.url(password), folder: folder, endpoint: endpoint, who: who, install: install, noSync: cfg.NoSync,
		logger: cfg.Logger, stop: stop, exited: make(chan struct{}),
	}
	s.close = sync.OnceValue(s.shutDown)
	started := make(chan error, 1)
	go s.supervise(ctx, life, started)
	if err := <-started; err != nil {
		stop()
		return nil, errors.Join(err, endpoint.remove())
	}
	return s, nil
}

// URL is a connection URL for the database "toolscout", as superuser. It stays the same when PostgreSQL is started again.
func (s *Server) URL() string { return s.url }

// Install is the PostgreSQL that runs.
func (s *Server) Install() Install { return s.install }

// Exited is closed once PostgreSQL is down for good, which is after Close: one that dies is started again.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// Close ends all connections, shuts PostgreSQL down cleanly, waits for it, and gives the data folder free.
func (s *Server) Close() error { return s.close() }

func (s *Server) shutDown() error {
	s.stop()
	<-s.exited
	return errors.Join(s.endpoint.remove(), s.folder.release())
}

// DefaultPrefix is the place of the private PostgreSQL: below the user's cache folder, for root below /var/cache, because root's home is
// closed to the user whom PostgreSQL runs as.
func DefaultPrefix() (string, error) {
	if os.Geteuid() == 0 {
		return sharedPrefix, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	return filepath.Join(cache, "toolscout", "pg17"), nil
}

const sharedPrefix = "/var/cache/toolscout/pg17"
