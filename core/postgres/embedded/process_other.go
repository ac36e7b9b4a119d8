//go:build !linux

package embedded

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// dieWithOwner has no way to do so here: see watch.
func dieWithOwner(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// watch starts a shell that ends the server when we are gone: the pipe that it reads from closes then, however we end.
func watch(server *process) error {
	script := "cat >/dev/null; kill -INT " + strconv.Itoa(server.cmd.Process.Pid)
	watcher := exec.Command("/bin/sh", "-c", script)
	watcher.SysProcAttr = server.cmd.SysProcAttr
	if _, err := watcher.StdinPipe(); err != nil {
		return fmt.Errorf("watch over postgres: %w", err)
	}
	if err := watcher.Start(); err != nil {
		return fmt.Errorf("watch over postgres: %w", err)
	}
	go func() {
		<-server.ended
		watcher.Process.Kill()
		watcher.Wait()
	}()
	return nil
}

// processesIn returns the server of a data folder, if the process that its pid file names is really that.
func processesIn(data string, pid int) []int {
	if pid <= 0 {
		return nil
	}
	out, err := exec.Command("ps", "-p", strconv.Itoa(pid), "-o", "stat=,command=").Output()
	if err != nil {
		return nil
	}
	state, command, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if strings.HasPrefix(state, "Z") || !strings.Contains(command, "postgres") || !strings.Contains(command, data) {
		return nil
	}
	return []int{pid}
}
