package upstream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// terminateAfter is how long a child may take to end after its input was
	// closed, and again after SIGTERM. Some official servers ignore the former.
	terminateAfter = time.Second
	// stuckAfter is how long a child may leave a message half read after the
	// message's caller has gone.
	stuckAfter = 2 * time.Second
)

// errNotSent is in the errors of a send of which the server has seen nothing.
var errNotSent = errors.New("not sent")

// process is a child in a process group of its own. The group is killed as soon as
// the child has ended, however it ended, so that nothing it started outlives it.
type process struct {
	cmd           *exec.Cmd
	stdin, stdout *os.File
	notes         *tail
	turn          chan struct{} // held by whoever writes to stdin
	exited        chan struct{} // the child is reaped and its group gone
	stopping      sync.Once
	tasks         tasks
}

// startProcess starts a target's command.
func startProcess(t *target) (*process, error) {
	cmd := exec.Command(t.command, t.args...)
	cmd.Env = append(inherited(os.Environ()), t.env...)
	cmd.SysProcAttr = dieWithUs()
	cmd.SysProcAttr.Setpgid = true
	p := &process{cmd: cmd, notes: &tail{}, turn: make(chan struct{}, 1), exited: make(chan struct{})}
	// Pipes of our own: those of exec.Cmd are closed by Wait, which would lose
	// what the child wrote just before its end.
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	pipe := func() (r, w *os.File, err error) {
		r, w, err = os.Pipe()
		if err == nil {
			theirs = append(theirs, r, w)
		}
		return r, w, err
	}
	inR, inW, err1 := pipe()
	outR, outW, err2 := pipe()
	errR, errW, err3 := pipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, faultf(stageStart, "no pipe for the child").because(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	p.stdin, p.stdout = inW, outR
	heard, started := make(chan struct{}), make(chan error)
	p.tasks.start(func() {
		// The kernel takes the thread that started the child for its parent (see
		// dieWithUs), so this one lasts as long as the child.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.reap(errR, heard)
		}
	})
	if err := <-started; err != nil {
		return nil, startFault(t, err)
	}
	theirs = []*os.File{inR, outW, errW}
	p.tasks.start(func() {
		defer close(heard)
		p.notes.readFrom(errR)
	})
	return p, nil
}

func startFault(t *target, err error) *fault {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return faultf(stageStart, "the command %q was not found: is it installed, and on PATH?", t.command).because(err)
	}
	if errors.Is(err, fs.ErrPermission) {
		return faultf(stageStart, "the command %q may not be executed", t.command).because(err)
	}
	return faultf(stageStart, "the command %q cannot be started", t.command).because(err)
}

// reap waits for the child, then ends what is left of its group. What they wrote
// can still be read for a moment; heard is closed when stderr was.
func (p *process) reap(stderr *os.File, heard <-chan struct{}) {
	err := p.cmd.Wait()
	p.signal(syscall.SIGKILL)
	p.notes.exit(err)
	soon := time.Now().Add(terminateAfter)
	p.stdout.SetReadDeadline(soon) // in case somebody left the group and holds the pipe
	stderr.SetReadDeadline(soon)
	p.stdin.Close()
	<-heard
	close(p.exited)
}

// signal sends to the whole group; that it may be gone is no matter.
func (p *process) signal(sig syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, sig) }

// stop ends the child: gently, then firmly. It returns when the group is gone.
func (p *process) stop() {
	p.stopping.Do(func() {
		p.stdin.Close()
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			select {
			case <-p.exited:
			case <-time.After(terminateAfter):
				p.signal(sig)
			}
		}
	})
	<-p.exited
	p.tasks.wait()
}

// write sends a whole message to the child. A child that does not read blocks
// writers only as long as they want; one that leaves a message half read is killed.
func (p *process) write(ctx context.Context, data []byte, sent *atomic.Bool) error {
	select {
	case p.turn <- struct{}{}:
	case <-p.exited:
		return fmt.Errorf("%w: the process has ended", errNotSent)
	case <-ctx.Done():
		return ctx.Err()
	}
	if ctx.Err() != nil {
		<-p.turn
		return ctx.Err()
	}
	sent.Store(true)
	n, err := p.writeUntil(ctx, data)
	switch {
	case err == nil:
		<-p.turn
		return nil
	case n == 0:
		<-p.turn
		sent.Store(false)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errors.Join(errNotSent, err)
	case ctx.Err() == nil:
		<-p.turn
		return err
	}
	p.finish(data[n:])
	return ctx.Err()
}

// writeUntil writes until ctx ends and says how much the child has taken.
func (p *process) writeUntil(ctx context.Context, data []byte) (int, error) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		p.stdin.SetWriteDeadline(time.Unix(1, 0))
	})
	n, err := p.stdin.Write(data)
	if !stop() {
		<-done
		p.stdin.SetWriteDeadline(time.Time{})
	}
	return n, err
}

// finish writes the rest of a message that was cut short, since the next message
// could not be told from it otherwise. It gives the turn back.
func (p *process) finish(rest []byte) {
	started := p.tasks.start(func() {
		defer func() { <-p.turn }()
		p.stdin.SetWriteDeadline(time.Now().Add(stuckAfter))
		if _, err := p.stdin.Write(rest); err != nil {
			p.notes.note("it stopped reading its input and was killed")
			p.signal(syscall.SIGKILL)
			return
		}
		p.stdin.SetWriteDeadline(time.Time{})
	})
	if !started {
		<-p.turn
	}
}

// kept names what a child may see of our environment; the rest may hold secrets.
var kept = map[string]bool{"PATH": true, "HOME": true, "USER": true, "LOGNAME": true, "SHELL": true,
	"TERM": true, "LANG": true, "TMPDIR": true, "TZ": true}

// inherited picks the variables of environ that are passed on to children.
func inherited(environ []string) []string {
	out := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if kept[name] || strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_") {
			out[name] = name + "=" + value
		}
	}
	return slices.Sorted(maps.Values(out))
}
