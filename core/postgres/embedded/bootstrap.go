package embedded

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

const bootstrapMajor = 17

//go:embed bootstrap.sh
var bootstrapScript string

// bootstrap fetches a private PostgreSQL into prefix with Debian's tools. progress hears the script's own lines.
func bootstrap(ctx context.Context, prefix string, progress func(string)) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return errors.New("there is no apt-get")
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", bootstrapScript, "pg-bootstrap", prefix)
	cmd.SysProcAttr = dieWithOwner(syscall.SIGTERM)
	cmd.SysProcAttr.Setpgid = true
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) } // the shell alone would wait for its command
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	cmd.Stderr = write
	last := make(chan string)
	go func() { last <- relay(read, progress) }()
	err = errors.Join(onOneThread(cmd.Run), write.Close())
	reason := <-last
	if err != nil && reason != "" {
		return errors.New(reason)
	}
	return err
}

// relay passes the script's own lines on and returns the last of them.
func relay(from io.Reader, progress func(string)) (last string) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		if line, ok := strings.CutPrefix(lines.Text(), "pg-bootstrap: "); ok {
			progress(line)
			last = line
		}
	}
	return last
}

// advice is the script's own text on how else to get a database.
func advice() string {
	_, text, _ := strings.Cut(bootstrapScript, "<<'ADVICE'\n")
	text, _, _ = strings.Cut(text, "\nADVICE\n")
	return strings.TrimSpace(text)
}
