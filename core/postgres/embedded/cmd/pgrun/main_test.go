package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// asProgram makes the test binary run as pgrun itself.
const asProgram = "TOOLSCOUT_TEST_AS_PGRUN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestRun_gives_the_command_a_database(t *testing.T) {
	t.Parallel()
	cmd := pgrun(t, "sh", "-c", "echo $"+variable+"; cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), strings.TrimSpace(address))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "create extension vector"); err != nil {
		t.Error(err)
	}
	var data string
	if err := conn.QueryRow(t.Context(), "select current_setting('data_directory')").Scan(&data); err != nil {
		t.Error(err)
	}
	conn.Close(t.Context())
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(data)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder %s is still there: %v", filepath.Dir(data), err)
	}
}

func TestRun_keeps_a_given_database(t *testing.T) {
	t.Parallel()
	cmd := pgrun(t, "sh", "-c", "printf %s $"+variable)
	cmd.Env = append(cmd.Env, variable+"=postgres://elsewhere")
	out, err := cmd.Output()
	if err != nil || string(out) != "postgres://elsewhere" {
		t.Errorf("the command saw %q, %v; want what was set", out, err)
	}
}

func TestRun_ends_with_the_status_of_the_command(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command []string
		want    int
	}{
		"success":         {[]string{"true"}, 0},
		"failure":         {[]string{"sh", "-c", "exit 7"}, 7},
		"ended by signal": {[]string{"sh", "-c", "kill -TERM $$"}, 128 + 15},
		"no such command": {[]string{"/nonexistent/command"}, 127},
		"no command":      {nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := pgrun(t, test.command...)
			cmd.Env = append(cmd.Env, variable+"=postgres://elsewhere")
			cmd.Run() // its error is the status
			if got := cmd.ProcessState.ExitCode(); got != test.want {
				t.Errorf("status %d; want %d", got, test.want)
			}
		})
	}
}

func TestRun_passes_signals_on(t *testing.T) {
	t.Parallel()
	cmd := pgrun(t, "sh", "-c", "trap 'exit 5' TERM; echo ready; while :; do sleep 0.02; done")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // its error is the status
	if got := cmd.ProcessState.ExitCode(); got != 5 {
		t.Errorf("status %d; want the command's own, 5", got)
	}
}

// pgrun prepares a run of the program.
func pgrun(t *testing.T, command ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"--"}, command...)...)
	cmd.Stderr = t.Output()
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, variable+"=") {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	cmd.Env = append(cmd.Env, asProgram+"=1")
	return cmd
}
