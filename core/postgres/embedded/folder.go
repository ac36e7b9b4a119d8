package embedded

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/toolscout/toolscout/core"
)

// folder is the data folder, locked for this process.
type folder struct {
	path string // absolute
	data string // PostgreSQL's own folder within
	lock *os.File
}

// openFolder makes the folder if needed and takes its lock, which the kernel gives free however this process ends.
func openFolder(path string) (*folder, error) {
	if err := makeFolder(path); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	if err := letThrough(path); err != nil {
		return nil, fmt.Errorf("open the data folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	if err := hold(lock, path); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &folder{path: path, data: filepath.Join(path, "pg"), lock: lock}, nil
}

// makeFolder makes what is missing of a path, closed to others, but for root with a way through whatever its umask.
func makeFolder(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return letThrough(path)
}

// letThrough opens root's own folder for passing through, because PostgreSQL then runs as somebody else.
func letThrough(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 || info.Sys().(*syscall.Stat_t).Uid != 0 || info.Mode().Perm()&0o001 != 0 {
		return nil
	}
	return os.Chmod(path, info.Mode().Perm()|0o111)
}

// hold locks the file and leaves our process id in it, or tells whose is there.
func hold(lock *os.File, path string) error {
	err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		owner := "another process"
		if text, err := io.ReadAll(lock); err == nil && len(text) > 0 {
			owner = "process " + strings.TrimSpace(string(text))
		}
		return core.Errorf(core.Conflict, "the data folder %s is in use by %s", path, owner).
			WithHint("stop that process, or choose another data folder with TOOLSCOUT_DATA_DIR")
	}
	if err != nil {
		return fmt.Errorf("lock the data folder: %w", err)
	}
	if err := lock.Truncate(0); err != nil {
		return fmt.Errorf("lock the data folder: %w", err)
	}
	if _, err := fmt.Fprintln(lock, os.Getpid()); err != nil {
		return fmt.Errorf("lock the data folder: %w", err)
	}
	return nil
}

// release gives the lock up by name: a child that is being forked just now still has the file open for a moment.
func (f *folder) release() error {
	return errors.Join(syscall.Flock(int(f.lock.Fd()), syscall.LOCK_UN), f.lock.Close())
}

// major is the major version of PostgreSQL that made the data, 0 when there is none yet.
func (f *folder) major() (int, error) {
	text, err := os.ReadFile(filepath.Join(f.data, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the version of the data: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("read the version of the data: %w", err)
	}
	return major, nil
}

// password reads the superuser's password, "" when there is none.
func (f *folder) password() (string, error) {
	text, err := os.ReadFile(filepath.Join(f.path, "password"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the database password: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// newPassword makes one. It is letters and digits alone, fit for SQL and for URLs.
func newPassword() string { return rand.Text() + rand.Text() }

// keepPassword writes it for this user's eyes only, whole or not at all.
func (f *folder) keepPassword(password string) error {
	path := filepath.Join(f.path, "password")
	if err := os.WriteFile(path+".new", []byte(password+"\n"), 0o600); err != nil {
		return fmt.Errorf("keep the database password: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("keep the database password: %w", err)
	}
	return nil
}
