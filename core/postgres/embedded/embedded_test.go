package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres/embedded"
)

func TestStart_makes_a_database_with_vectors(t *testing.T) {
	t.Parallel()
	s := start(t, dataDir(t))
	db := connect(t, s)

	var name, superuser, upper string
	err := db.QueryRow(t.Context(), "select current_database(), current_setting('is_superuser'), upper('žluťoučký')").Scan(&name, &superuser, &upper)
	if err != nil {
		t.Fatal(err)
	}
	if name != "toolscout" || superuser != "on" {
		t.Errorf("database %q, superuser %q; want toolscout, on", name, superuser)
	}
	if s.Install().Major() >= 17 && upper != "ŽLUŤOUČKÝ" {
		t.Errorf("upper gives %q: the locale does not know Unicode", upper)
	}
	if _, err := db.Exec(t.Context(), "create extension vector"); err != nil {
		t.Fatal(err)
	}
	var version string
	var distance float64
	err = db.QueryRow(t.Context(), "select extversion, '[1,2]'::halfvec <#> '[3,4]'::halfvec from pg_extension where extname = 'vector'").Scan(&version, &distance)
	if err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil || (major == 0 && minor < 8) {
		t.Errorf("pgvector %s; want 0.8 or later (%v)", version, err)
	}
	if distance != -11 {
		t.Errorf("negative inner product %v; want -11", distance)
	}
}

func TestStart_makes_missing_folders(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(dataDir(t), "lib", "toolscout", "postgres")
	connect(t, start(t, dir))
	for _, made := range []string{dir, filepath.Dir(dir)} {
		if mode := stat(t, made).Mode().Perm(); mode&0o066 != 0 {
			t.Errorf("%s has mode %04o; want it closed to reading by others", made, mode)
		}
	}
}

func TestStart_keeps_secrets_from_others(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	start(t, dir)
	for _, name := range []string{"password", "postgres.log", "lock"} {
		if mode := stat(t, filepath.Join(dir, name)).Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %04o; want 0600", name, mode)
		}
	}
	for _, name := range []string{"pg", "socket"} {
		if mode := stat(t, filepath.Join(dir, name)).Mode().Perm(); mode != 0o700 {
			t.Errorf("%s has mode %04o; want 0700", name, mode)
		}
	}
}

func TestStart_refuses_a_wrong_password(t *testing.T) {
	t.Parallel()
	s := start(t, dataDir(t))
	config, err := pgx.ParseConfig(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	config.Password = "guess"
	if conn, err := pgx.ConnectConfig(t.Context(), config); err == nil {
		conn.Close(t.Context())
		t.Error("a wrong password was accepted")
	}
}

func TestClose_then_start_keeps_data(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	first := start(t, dir)
	remember(t, first, "first")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-first.Exited():
	default:
		t.Error("Exited is not closed after Close")
	}
	if running := postmaster(t, dir); running != 0 {
		t.Errorf("process %d is in the pid file after Close; want none", running)
	}
	second := start(t, dir)
	if got := recall(t, second); got != "first" {
		t.Errorf("after a restart the table holds %q; want %q", got, "first")
	}
	if first.URL() != second.URL() {
		t.Errorf("the address changed from %s to %s", first.URL(), second.URL())
	}
}

func TestStart_refuses_a_folder_in_use(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	remember(t, start(t, dir), "kept")
	_, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir, NoSync: true})
	if !errors.Is(err, core.Conflict) {
		t.Fatalf("second start: %v; want a conflict", err)
	}
	if want := "process " + strconv.Itoa(os.Getpid()); !strings.Contains(err.Error(), want) {
		t.Errorf("error %q does not name %q", err, want)
	}
}

func TestServer_comes_back_when_postgres_is_killed(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := start(t, dir)
	remember(t, s, "kept")
	pool, err := pgxpool.New(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for range 2 { // the second time, what the first restart left is in the way too
		if err := pool.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := postmaster(t, dir)
		kill(t, before)
		await(t, "the pool to reach the database again", func() bool {
			return postmaster(t, dir) != before && pool.Ping(t.Context()) == nil
		})
	}
	if got := recall(t, s); got != "kept" {
		t.Errorf("after a crash the table holds %q; want %q", got, "kept")
	}
}

func TestStart_sets_a_new_password_when_it_is_lost(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := start(t, dir)
	remember(t, s, "kept")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "password")); err != nil {
		t.Fatal(err)
	}
	if got := recall(t, start(t, dir)); got != "kept" {
		t.Errorf("the table holds %q; want %q", got, "kept")
	}
}

func TestStart_in_a_folder_with_a_long_name(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(dataDir(t), strings.Repeat("long", 40))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, dir)
	connect(t, s)
	if strings.Contains(s.URL(), "127.0.0.1") {
		t.Errorf("address %s; want a socket elsewhere", s.URL())
	}
}

func TestStart_without_sockets_listens_on_loopback(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	var s *embedded.Server
	for { // a file in each place that is tried
		s = start(t, dir)
		config, err := pgx.ParseConfig(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		if config.Host == "127.0.0.1" {
			break
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(config.Host, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(config.Host)
	}
	remember(t, s, "kept")
	before := postmaster(t, dir)
	kill(t, before)
	await(t, "the same port to answer again", func() bool {
		conn, err := pgx.Connect(t.Context(), s.URL())
		return err == nil && conn.Close(t.Context()) == nil && postmaster(t, dir) != before
	})
}

func TestStart_tells_why_postgres_does_not_start(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	if err := start(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	config, err := os.OpenFile(filepath.Join(dir, "pg", "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(config, "no_such_setting = 1")
	if err := config.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = embedded.Start(t.Context(), embedded.Config{DataDir: dir, NoSync: true})
	if err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("error %v; want PostgreSQL's own words about no_such_setting", err)
	}
}

func TestStart_needs_the_version_that_made_the_data(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	if err := start(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pg", "PG_VERSION"), []byte("12\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir, NoSync: true})
	if !errors.Is(err, core.Unavailable) || !strings.Contains(err.Error(), "PostgreSQL 12") {
		t.Errorf("error %v; want unavailable, naming PostgreSQL 12", err)
	}
}

func TestStart_below_a_closed_folder(t *testing.T) {
	t.Parallel()
	closed := dataDir(t)
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := embedded.Start(t.Context(), embedded.Config{DataDir: filepath.Join(closed, "data"), NoSync: true})
	if os.Geteuid() != 0 { // it is our own, and stays so
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), closed+" has mode 0700") {
		t.Errorf("error %v; want one that names %s", err, closed)
	}
}

func TestStart_ends_with_its_context(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := embedded.Start(ctx, embedded.Config{DataDir: dir, NoSync: true}); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v; want that of the context", err)
	}
	start(t, dir) // nothing is in the way of another try
}

// dataDir is an empty folder, in memory where possible. t.TempDir would be closed to the user whom root's PostgreSQL runs as.
func dataDir(t *testing.T) string {
	t.Helper()
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return folderIn(t, "/dev/shm")
	}
	return folderIn(t, os.TempDir())
}

// folderIn is a new folder open to everybody.
func folderIn(t *testing.T, home string) string {
	t.Helper()
	dir, err := os.MkdirTemp(home, "toolscout-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// start runs a server until the test ends.
func start(t *testing.T, dir string) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func connect(t *testing.T, s *embedded.Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func remember(t *testing.T, s *embedded.Server, word string) {
	t.Helper()
	if _, err := connect(t, s).Exec(t.Context(), "create table memory as select $1::text as word", word); err != nil {
		t.Fatal(err)
	}
}

func recall(t *testing.T, s *embedded.Server) (word string) {
	t.Helper()
	if err := connect(t, s).QueryRow(t.Context(), "select word from memory").Scan(&word); err != nil {
		t.Fatal(err)
	}
	return word
}

// postmaster reads the server's process id, 0 when there is none.
func postmaster(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "pg", "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return pid
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// await polls for something that other processes bring about; only the test's own end bounds it.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-t.Context().Done():
			t.Fatalf("waiting for %s: %v", what, t.Context().Err())
		case <-tick.C:
		}
	}
}
