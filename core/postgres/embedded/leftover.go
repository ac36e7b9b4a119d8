package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// patience is how long a server may take to end at each signal: cleanly, at once, and by force.
var patience = []struct {
	signal syscall.Signal
	wait   time.Duration
}{{syscall.SIGINT, time.Minute}, {syscall.SIGQUIT, 10 * time.Second}, {syscall.SIGKILL, 10 * time.Second}}

// clearAway ends what an owner that was killed may have left running on the data folder, and makes its pid file harmless. The caller
// holds the folder's lock, so nothing that still runs there belongs to anybody.
func clearAway(ctx context.Context, data string) error {
	file := filepath.Join(data, "postmaster.pid")
	pid, err := readPid(file)
	if err != nil {
		return err
	}
	if err := endAll(ctx, data, pid); err != nil {
		return err
	}
	return disarm(file)
}

func endAll(ctx context.Context, data string, server int) error {
	for _, step := range patience {
		running := processesIn(data, server)
		if len(running) == 0 {
			return nil
		}
		if step.signal == syscall.SIGINT {
			if !slices.Contains(running, server) {
				continue // the server is dead already, and its children are deaf to a polite word
			}
			running = []int{server}
		}
		for _, pid := range running {
			syscall.Kill(pid, step.signal) // it may have gone meanwhile
		}
		gone := func() bool { return len(processesIn(data, server)) == 0 }
		if err := poll(ctx, step.wait, gone); err != nil {
			return err
		}
	}
	if left := processesIn(data, server); len(left) > 0 {
		return fmt.Errorf("an earlier PostgreSQL on %s can't be ended: process %d", data, left[0])
	}
	return nil
}

// poll waits until done says so, or for as long as it is given.
func poll(ctx context.Context, limit time.Duration, done func() bool) error {
	deadline := time.After(limit)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return nil
		case <-tick.C:
		}
	}
	return nil
}

// readPid reads the process id in a pid file, 0 when there is none.
func readPid(file string) (int, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the pid file: %w", err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		return 0, nil
	}
	return pid, nil
}

// disarm makes a pid file harmless whose process is a zombie or somebody else's: PostgreSQL would take it for a rival. Removing the
// file would also remove the mark of the shared memory by which it notices children of a killed server that still write; instead our own
// id is put in, which it does not mind because we are its parent. A file without an id is no use to anybody.
func disarm(file string) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("clear the pid file of an earlier server away: %w", err)
	}
	_, rest, whole := strings.Cut(string(text), "\n")
	if !whole {
		err = os.Remove(file)
	} else {
		err = os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())+"\n"+rest), 0o600)
	}
	if err != nil {
		return fmt.Errorf("clear the pid file of an earlier server away: %w", err)
	}
	return nil
}
