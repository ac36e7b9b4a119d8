package embedded

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// The superuser and the database that we make.
const (
	roleName     = "toolscout"
	databaseName = "toolscout"
)

// cluster is what a data folder holds, and who works on it with which programs.
type cluster struct {
	folder  *folder
	who     account
	install Install
	noSync  bool
}

// prepare makes the cluster if there is none, and returns the superuser's password.
func (c cluster) prepare(ctx context.Context, progress func(string)) (string, error) {
	password, err := c.folder.password()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(c.folder.data); err != nil {
		progress("creating the database in " + c.folder.path)
		return c.create(ctx)
	}
	if password != "" {
		return password, nil
	}
	// The file was lost or removed. The data is ours, so a new password can be set without the old one.
	if err := clearAway(ctx, c.folder.data); err != nil {
		return "", err
	}
	password = newPassword()
	if err := c.single(ctx, c.folder.data, setPassword(password)); err != nil {
		return "", err
	}
	return password, c.folder.keepPassword(password)
}

// create makes a cluster under a temporary name, so that what stands under the real one is always whole.
func (c cluster) create(ctx context.Context) (string, error) {
	leftovers, _ := filepath.Glob(c.folder.data + ".new-*") // the only error is a bad pattern
	for _, dir := range leftovers {
		if err := os.RemoveAll(dir); err != nil {
			return "", fmt.Errorf("remove an unfinished database: %w", err)
		}
	}
	dir, err := os.MkdirTemp(c.folder.path, "pg.new-*")
	if err != nil {
		return "", fmt.Errorf("create the database: %w", err)
	}
	defer os.RemoveAll(dir) // gone by then, if all went well
	if err := c.who.own(dir); err != nil {
		return "", fmt.Errorf("create the database: %w", err)
	}
	if _, err := owned(c.who.command(ctx, syscall.SIGKILL, c.install.program("initdb"), c.initArgs(dir)...)); err != nil {
		return "", fmt.Errorf("create the database: %w", err)
	}
	hba := "local all all scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256\n"
	if err := os.WriteFile(filepath.Join(dir, "pg_hba.conf"), []byte(hba), 0o600); err != nil {
		return "", fmt.Errorf("create the database: %w", err)
	}
	password := newPassword()
	if err := c.single(ctx, dir, setPassword(password), "create database "+databaseName); err != nil {
		return "", err
	}
	if err := c.folder.keepPassword(password); err != nil {
		return "", err
	}
	if err := os.Rename(dir, c.folder.data); err != nil {
		return "", fmt.Errorf("create the database: %w", err)
	}
	return password, nil
}

// initArgs asks for UTF-8 with the rules of Unicode where PostgreSQL has them built in, and for byte order before: no locale of the
// machine is used, so that an update of it can't silently reorder our indexes. Authentication is set up by create.
func (c cluster) initArgs(dir string) []string {
	args := []string{"--pgdata=" + dir, "--username=" + roleName, "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-instructions"}
	if c.install.Major() >= 17 {
		args = append(args, "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
	}
	if c.noSync {
		args = append(args, "--no-sync")
	}
	return args
}

func setPassword(password string) string {
	return fmt.Sprintf("alter role %s password '%s'", roleName, password)
}

// single runs statements in PostgreSQL's single-user mode, which needs neither a server nor a password.
func (c cluster) single(ctx context.Context, dir string, statements ...string) error {
	args := []string{"--single", "-D", dir, "-c", "exit_on_error=on", "-c", "timezone=GMT", "-c", "log_timezone=GMT", "-c", "log_min_error_statement=panic"}
	if c.noSync {
		args = append(args, "-c", "fsync=off")
	}
	cmd := c.who.command(ctx, syscall.SIGKILL, c.install.program("postgres"), append(args, "template1")...)
	cmd.Stdin = strings.NewReader(strings.Join(statements, "\n") + "\n")
	if _, err := owned(cmd); err != nil {
		return fmt.Errorf("set the database up: %w", err)
	}
	return nil
}
