package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// account is who PostgreSQL runs as: this user, except that it refuses to run as root.
type account struct {
	uid, gid int
	name     string
	drop     bool // this process is root and has to become that user
}

// accountFor keeps to the owner of existing data; for new data, root becomes the user postgres, or nobody where that is missing.
func accountFor(data string) (account, error) {
	self := account{uid: os.Geteuid(), gid: os.Getegid(), name: "the current user"}
	info, err := os.Stat(data)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return account{}, fmt.Errorf("open the database: %w", err)
	}
	if err == nil {
		stat := info.Sys().(*syscall.Stat_t)
		owner := account{uid: int(stat.Uid), gid: int(stat.Gid), name: "user " + strconv.Itoa(int(stat.Uid))}
		if owner.uid == self.uid && self.uid != 0 {
			return self, nil
		}
		if self.uid != 0 {
			return account{}, fmt.Errorf("the database in %s belongs to %s: run as that user, or as root", data, owner.name)
		}
		if owner.uid != 0 {
			owner.drop = true
			return owner, nil
		}
	}
	if self.uid != 0 {
		return self, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			return dropTo(u)
		}
	}
	return account{}, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody to run it as")
}

func dropTo(u *user.User) (account, error) {
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return account{}, fmt.Errorf("look up user %s: %w", u.Username, err)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return account{}, fmt.Errorf("look up user %s: %w", u.Username, err)
	}
	return account{uid: uid, gid: gid, name: "user " + u.Username, drop: true}, nil
}

// own gives a file or folder to the account.
func (a account) own(path string) error {
	if !a.drop {
		return nil
	}
	return os.Chown(path, a.uid, a.gid)
}

// canEnter tells why the account, not being root, could not reach something in the folder.
func (a account) canEnter(folder string) error {
	if !a.drop {
		return nil
	}
	var above []string
	for dir := folder; ; dir = filepath.Dir(dir) {
		above = append(above, dir)
		if dir == filepath.Dir(dir) {
			break
		}
	}
	for _, dir := range slices.Backward(above) {
		info, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("reach %s: %w", folder, err)
		}
		stat, mode, need := info.Sys().(*syscall.Stat_t), info.Mode().Perm(), fs.FileMode(0o001)
		switch {
		case int(stat.Uid) == a.uid:
			need = 0o100
		case int(stat.Gid) == a.gid:
			need = 0o010
		}
		if mode&need == 0 {
			return fmt.Errorf("%s is out of reach for %s, as whom PostgreSQL has to run: %s has mode %04o; choose a place outside it", folder, a.name, dir, mode)
		}
	}
	return nil
}

// command prepares a program to run as the account, in a process group of its own, so that a Ctrl-C in the terminal reaches us alone,
// and with nothing of our environment: libpq's variables and the locale would change what it does. It gets the signal should we die.
func (a account) command(ctx context.Context, atDeath syscall.Signal, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = "/"
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=GMT"}
	cmd.SysProcAttr = dieWithOwner(atDeath)
	cmd.SysProcAttr.Setpgid = true
	if a.drop {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return cmd
}
