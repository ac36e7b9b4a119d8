package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
)

const (
	tailBytes = 4 << 10 // kept of what a child prints on stderr
	tailLines = 5       // shown of it
)

// tail keeps the end of what a child had to say, for the message that tells why it
// failed. It is bounded however much the child prints.
type tail struct {
	mu     sync.Mutex
	text   []byte
	ended  string // how the process ended
	reason string // what we did to it
}

// readFrom keeps the end of r until r ends.
func (t *tail) readFrom(r io.ReadCloser) {
	defer r.Close()
	buf := make([]byte, 4<<10)
	for {
		n, err := r.Read(buf)
		t.add(buf[:n])
		if err != nil {
			return
		}
	}
}

func (t *tail) add(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
}

// note keeps what we did to the process, or saw of it.
func (t *tail) note(reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reason = reason
}

func (t *tail) exit(err error) {
	var exit *exec.ExitError
	state := "exited"
	switch {
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		state = fmt.Sprintf("exited with status %d", exit.ExitCode())
	case err != nil:
		state = "ended: " + err.Error()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = state
}

// String says all that is known, in one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var parts []string
	for _, s := range []string{t.reason, t.ended} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	lines := bytes.Split(bytes.TrimSpace(t.text), []byte("\n"))
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	if last := strings.TrimSpace(string(bytes.Join(lines, []byte(" | ")))); last != "" {
		parts = append(parts, "stderr: "+last)
	}
	return strings.Join(parts, "; ")
}
