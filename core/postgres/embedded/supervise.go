package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	firstDelay = 50 * time.Millisecond // between the death of a server and the next start
	lastDelay  = 5 * time.Second
	steady     = 10 * time.Second // a server that lived this long has its delay forgotten
)

// onOneThread runs f on a thread that lives as long as f does. The kernel's word to a child that its owner has died goes by the thread
// that started it, and an ordinary goroutine's thread may end at any time.
func onOneThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}

// process is one run of the server.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed once the process has been waited for
}

// supervise runs the server until life ends, starting it again whenever it dies. Only the first start can fail for good.
func (s *Server) supervise(ctx, life context.Context, started chan<- error) {
	runtime.LockOSThread() // see onOneThread; the thread ends with this goroutine, when no child is left
	defer close(s.exited)
	p, err := s.launch(ctx)
	started <- err
	if err != nil {
		return
	}
	delay := firstDelay
	for {
		since := time.Now()
		if !s.attend(life, p) {
			return
		}
		s.logger.Warn("postgres ended and is started again", "state", p.cmd.ProcessState.String())
		if time.Since(since) > steady {
			delay = firstDelay
		}
		for p = nil; p == nil; delay = min(2*delay, lastDelay) {
			select {
			case <-life.Done():
				return
			case <-time.After(delay):
			}
			if p, err = s.launch(life); err != nil && life.Err() == nil {
				s.logger.Warn("postgres does not start", "error", err, "retry_in", delay)
			}
		}
	}
}

// attend waits for the end of a run and reports whether it came by itself. Meanwhile it keeps the log small.
func (s *Server) attend(life context.Context, p *process) bool {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-life.Done():
			p.end()
			return false
		case <-p.ended:
			return life.Err() == nil
		case <-tick.C:
			s.trimLog()
		}
	}
}

// launch starts the server and waits until it takes connections.
func (s *Server) launch(ctx context.Context) (*process, error) {
	if err := clearAway(ctx, s.folder.data); err != nil {
		return nil, err
	}
	if err := s.endpoint.clear(); err != nil {
		return nil, err
	}
	s.trimLog()
	log, err := os.OpenFile(s.logPath(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of postgres: %w", err)
	}
	defer log.Close()
	before, err := log.Stat()
	if err != nil {
		return nil, fmt.Errorf("open the log of postgres: %w", err)
	}
	cmd := s.who.command(context.Background(), syscall.SIGINT, s.install.program("postgres"), s.arguments()...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	go func() {
		cmd.Wait() // its state says how it ended
		close(p.ended)
	}()
	if err := errors.Join(watch(p), s.await(ctx, p)); err != nil {
		p.end()
		return nil, fmt.Errorf("start postgres: %w%s", err, s.lastWords(before.Size()))
	}
	return p, nil
}

// await returns once the server says in its pid file that it is ready.
func (s *Server) await(ctx context.Context, p *process) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		if s.ready(p.cmd.Process.Pid) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.ended:
			return fmt.Errorf("it ended: %v", p.cmd.ProcessState)
		case <-tick.C:
		}
	}
}

// ready reads the pid file, which has the process id in its first line and the state in its eighth (PostgreSQL's miscadmin.h).
func (s *Server) ready(pid int) bool {
	text, err := os.ReadFile(filepath.Join(s.folder.data, "postmaster.pid"))
	if err != nil {
		return false
	}
	lines := strings.Split(string(text), "\n")
	return len(lines) > 7 && lines[0] == strconv.Itoa(pid) && strings.TrimSpace(lines[7]) == "ready"
}

// end shuts the server down, gently first.
func (p *process) end() {
	for _, step := range patience {
		p.cmd.Process.Signal(step.signal) // it may have ended by itself
		select {
		case <-p.ended:
			return
		case <-time.After(step.wait):
		}
	}
	<-p.ended
}

// arguments are the server's. Settings stand here and not in its configuration file, so that an update of ours reaches existing data.
func (s *Server) arguments() []string {
	settings := []string{
		"cluster_name=toolscout",
		"timezone=GMT", "log_timezone=GMT", // known to PostgreSQL without a time zone database
		"jit=off",
		"logging_collector=off", "log_destination=stderr", "log_checkpoints=off",
		"log_min_messages=log", "log_min_error_statement=panic", // clients log their own errors, and their values are nobody's business
		"unix_socket_permissions=0700",
	}
	if s.noSync {
		settings = append(settings, "fsync=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0",
			"max_connections=200", "shared_buffers=128MB",
			"dynamic_shared_memory_type=mmap") // in the data folder, so that throwing that away leaves nothing
	} else {
		settings = append(settings, "max_connections=100", "shared_buffers=256MB")
	}
	args := []string{"-D", s.folder.data}
	for _, setting := range slices.Concat(settings, s.endpoint.settings()) {
		args = append(args, "-c", setting)
	}
	return args
}
