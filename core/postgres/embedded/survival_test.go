package embedded_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/toolscout/toolscout/core/postgres/embedded"
)

// ownerFor, set to a data folder, makes the test binary a program that owns a server until it is killed.
const ownerFor = "TOOLSCOUT_TEST_OWNER_FOR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerFor); dir != "" {
		if err := own(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func own(dir string) error {
	s, err := embedded.Start(context.Background(), embedded.Config{DataDir: dir, NoSync: true})
	if err != nil {
		return err
	}
	fmt.Println(s.URL())
	<-s.Exited()
	return nil
}

func TestKilledOwner(t *testing.T) {
	t.Parallel()

	t.Run("takes postgres with it", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		owner := startOwner(t, dir)
		server := postmaster(t, dir)
		killOwner(t, owner)
		await(t, "postgres to end", func() bool { return !alive(server) })
		start(t, dir)
	})

	t.Run("next start does not wait", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		first := start(t, dir)
		remember(t, first, "kept")
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		killOwner(t, startOwner(t, dir))
		if got := recall(t, start(t, dir)); got != "kept" {
			t.Errorf("the table holds %q; want %q", got, "kept")
		}
	})

	t.Run("together with postgres", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		owner := startOwner(t, dir)
		server := postmaster(t, dir)
		if err := owner.Process.Signal(syscall.SIGSTOP); err != nil { // lest it starts another
			t.Fatal(err)
		}
		kill(t, server)
		killOwner(t, owner)
		connect(t, start(t, dir))
	})
}

func TestStart_ends_an_orphan(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := start(t, dir)
	remember(t, s, "kept")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	orphan := startPostgres(t, s.Install(), dir)
	again := start(t, dir)
	if err := <-orphan; err != nil {
		t.Errorf("the orphan was not shut down cleanly: %v", err)
	}
	if got := recall(t, again); got != "kept" {
		t.Errorf("the table holds %q; want %q", got, "kept")
	}
}

func TestStart_with_stale_files(t *testing.T) {
	t.Parallel()
	for name, makeStale := range map[string]func(*testing.T) int{
		"foreign process": startSleeper,
		"zombie":          startZombie,
		"no process":      func(*testing.T) int { return 1 << 22 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			s := start(t, dir)
			remember(t, s, "kept")
			files := map[string]string{
				filepath.Join(dir, "pg", "postmaster.pid"):         "",
				filepath.Join(dir, "socket", ".s.PGSQL.5432.lock"): "",
			}
			for path := range files {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				files[path] = string(text)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			pid := makeStale(t)
			restore(t, dir, files, pid)
			if got := recall(t, start(t, dir)); got != "kept" {
				t.Errorf("the table holds %q; want %q", got, "kept")
			}
			if name == "foreign process" && !alive(pid) {
				t.Errorf("process %d was not ours to end", pid)
			}
		})
	}
}

func TestStart_with_a_garbled_pid_file(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	if err := start(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pg", "postmaster.pid"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	connect(t, start(t, dir))
}

// restore puts files of a server that ran into place again, as if a process with this id had left them.
func restore(t *testing.T, dir string, files map[string]string, pid int) {
	t.Helper()
	owner := stat(t, filepath.Join(dir, "pg")).Sys().(*syscall.Stat_t)
	if err := os.MkdirAll(filepath.Join(dir, "socket"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range files {
		_, rest, _ := strings.Cut(text, "\n")
		if err := os.WriteFile(path, []byte(strconv.Itoa(pid)+"\n"+rest), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{path, filepath.Dir(path)} {
			if err := os.Chown(name, int(owner.Uid), int(owner.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func startOwner(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerFor+"="+dir)
	owner.Stderr = os.Stderr
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { owner.Process.Kill() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the owner said %q: %v", line, err)
	}
	return owner
}

func killOwner(t *testing.T, owner *exec.Cmd) {
	t.Helper()
	kill(t, owner.Process.Pid)
	owner.Wait() // its error is the signal
}

// startPostgres runs a server on the data folder that nobody looks after, and gives word of its end.
func startPostgres(t *testing.T, install embedded.Install, dir string) <-chan error {
	t.Helper()
	data := filepath.Join(dir, "pg")
	server := exec.Command(filepath.Join(install.Bin, "postgres"), "-D", data,
		"-c", "listen_addresses=", "-c", "unix_socket_directories="+data, "-c", "timezone=GMT", "-c", "log_timezone=GMT")
	server.Dir = "/"
	server.Stderr = os.Stderr
	server.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	if owner := stat(t, data).Sys().(*syscall.Stat_t); os.Geteuid() == 0 {
		server.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill() })
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	await(t, "the orphan to be ready", func() bool {
		if len(ended) > 0 {
			t.Fatal("the orphan ended before it was ready")
		}
		text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
		return err == nil && strings.Contains(string(text), "ready") && postmaster(t, dir) == server.Process.Pid
	})
	return ended
}

func startSleeper(t *testing.T) int {
	t.Helper()
	sleeper := exec.Command("sleep", "3600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		sleeper.Process.Kill()
		sleeper.Wait()
	})
	return sleeper.Process.Pid
}

// startZombie starts a process that has ended and that nobody has waited for.
func startZombie(t *testing.T) int {
	t.Helper()
	zombie := exec.Command("true")
	out, err := zombie.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { zombie.Wait() })
	if _, err := out.Read(make([]byte, 1)); err == nil { // the end of its output is the end of it
		t.Fatal("true said something")
	}
	return zombie.Process.Pid
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
}

// alive tells whether there is such a process, a zombie included.
func alive(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }
