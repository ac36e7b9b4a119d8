// Pgrun runs a command with a throw-away PostgreSQL beside it, whose address the command finds in TOOLSCOUT_TEST_DATABASE_URL:
//
//	go run ./core/postgres/embedded/cmd/pgrun -nosync -- go test ./...
//
// The cluster lives in memory where it can and is gone when the command ends. Where the variable is set already, that database is used.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/toolscout/toolscout/core/postgres/embedded"
)

const variable = "TOOLSCOUT_TEST_DATABASE_URL"

func main() {
	status, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pgrun:", err)
	}
	os.Exit(status)
}

func run() (status int, err error) {
	flags := flag.NewFlagSet("pgrun", flag.ContinueOnError)
	dir := flags.String("dir", "", "where the cluster lives; it is kept (default: a new folder in memory, removed at the end)")
	noSync := flags.Bool("nosync", false, "trade the safety of the data for speed")
	flags.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: pgrun [-nosync] [-dir folder] -- command arguments…")
		flags.PrintDefaults()
	}
	if err := flags.Parse(os.Args[1:]); err != nil {
		return 2, nil
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return 2, nil
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	if os.Getenv(variable) != "" {
		return child(flags.Args(), signals)
	}
	if *dir == "" {
		sweep(home())
		if *dir, err = os.MkdirTemp(home(), "toolscout-pgrun-"); err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(*dir)) }()
	}
	server, err := start(*dir, *noSync, signals)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if err := os.Setenv(variable, server.URL()); err != nil {
		return 1, err
	}
	return child(flags.Args(), signals)
}

// start brings the cluster up, unless a signal comes first.
func start(dir string, noSync bool, signals <-chan os.Signal) (*embedded.Server, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() {
		select {
		case s := <-signals:
			cancel(fmt.Errorf("stopped by signal: %v", s))
		case <-ctx.Done():
		}
	}()
	return embedded.Start(ctx, embedded.Config{
		DataDir: dir, NoSync: noSync,
		Progress: func(line string) { fmt.Fprintln(os.Stderr, "pgrun:", line) },
	})
}

// child runs the command, passes signals on to it, and returns its status; 128 and the signal's number if one ended it.
func child(command []string, signals <-chan os.Signal) (int, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return 127, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			cmd.Process.Signal(s) // it may just have ended
		case err := <-done:
			return statusOf(err)
		}
	}
}

func statusOf(err error) (int, error) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0, err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return exit.ExitCode(), nil
}

// home is a file system in memory where there is one.
func home() string {
	const memory = "/dev/shm"
	if probe, err := os.MkdirTemp(memory, "toolscout-probe-"); err == nil {
		os.Remove(probe)
		return memory
	}
	return os.TempDir()
}

// sweep removes what runs that were killed left behind: folders whose lock nobody holds. One made in the last minute may be about to
// be locked.
func sweep(home string) {
	folders, _ := filepath.Glob(filepath.Join(home, "toolscout-pgrun-*")) // the only error is a bad pattern
	for _, folder := range folders {
		info, err := os.Stat(folder)
		if err != nil || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		if free(filepath.Join(folder, "lock")) {
			os.RemoveAll(folder) // another user's stay
		}
	}
}

func free(path string) bool {
	lock, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer lock.Close()
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
