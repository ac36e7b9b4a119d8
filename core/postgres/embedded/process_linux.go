package embedded

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// dieWithOwner has the kernel send a signal to the child when the thread that started it ends: see onOneThread.
func dieWithOwner(signal syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: signal}
}

// watch has nothing to do here: dieWithOwner is enough.
func watch(*process) error { return nil }

// processesIn lists the PostgreSQL processes that run in a data folder, its server and its server's children: all of them, and nothing
// else of that name, have it as their working directory. pid, the server's as far as is known, is of no use here.
func processesIn(data string, _ int) []int {
	folder, err := os.Stat(data)
	if err != nil {
		return nil
	}
	entries, _ := filepath.Glob("/proc/[0-9]*") // the only error is a bad pattern
	var pids []int
	for _, entry := range entries {
		cwd, err := os.Stat(filepath.Join(entry, "cwd")) // fails for zombies, and for what is not ours to see
		if err != nil || !os.SameFile(cwd, folder) || !isPostgres(entry) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(entry)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isPostgres tells it from a shell in the same folder. A child of the server calls itself "postgres: role", and a server with a loader
// of its own is an argument of that.
func isPostgres(entry string) bool {
	cmdline, err := os.ReadFile(filepath.Join(entry, "cmdline"))
	if err != nil {
		return false
	}
	if bytes.HasPrefix(cmdline, []byte("postgres: ")) {
		return true
	}
	return slices.ContainsFunc(bytes.Split(cmdline, []byte{0}), func(arg []byte) bool {
		return filepath.Base(string(arg)) == "postgres"
	})
}
