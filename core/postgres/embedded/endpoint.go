package embedded

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	socketPort = 5432
	// The address of a unix socket has room for 104 bytes on macOS and 108 on Linux, with a zero at the end.
	maxSocketPath = 103
)

// endpoint is where PostgreSQL listens: a socket in a folder that only its user and root can enter, else a port on 127.0.0.1.
type endpoint struct {
	dir  string
	port int
}

// chooseEndpoint prefers the data folder; where its path is too long or its file system has no sockets, a short one in a place for
// run-time files serves. Its name follows from the data folder, so that a later start finds what a killed one left there.
func chooseEndpoint(path string, who account) (endpoint, error) {
	name := fmt.Sprintf("toolscout-%x", sha256.Sum256([]byte(path)))[:26]
	candidates := []string{filepath.Join(path, "socket")}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" && !who.drop {
		candidates = append(candidates, filepath.Join(dir, name))
	}
	candidates = append(candidates, filepath.Join(os.TempDir(), name), filepath.Join("/tmp", name))
	for _, dir := range candidates {
		if usableForSocket(dir, who) {
			return endpoint{dir: dir, port: socketPort}, nil
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return endpoint{}, fmt.Errorf("find a place to listen: %w", err)
	}
	defer listener.Close()
	return endpoint{port: listener.Addr().(*net.TCPAddr).Port}, nil
}

// usableForSocket makes the folder and tries. One that is there already counts only if it is really the account's own: the folders
// for temporary files are open to everybody.
func usableForSocket(dir string, who account) bool {
	path := socketPath(dir)
	if len(path) > maxSocketPath || who.canEnter(filepath.Dir(dir)) != nil {
		return false
	}
	if err := os.Mkdir(dir, 0o700); err == nil {
		if err := who.own(dir); err != nil {
			return false
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return false
	}
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 || int(info.Sys().(*syscall.Stat_t).Uid) != who.uid {
		return false
	}
	probe := filepath.Join(dir, ".s.PGSQL.test")
	os.Remove(probe)
	listener, err := net.Listen("unix", probe)
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

func socketPath(dir string) string { return filepath.Join(dir, ".s.PGSQL."+strconv.Itoa(socketPort)) }

// settings are PostgreSQL's for this endpoint.
func (e endpoint) settings() []string {
	if e.dir == "" {
		return []string{"listen_addresses=127.0.0.1", "unix_socket_directories=", "port=" + strconv.Itoa(e.port)}
	}
	return []string{"listen_addresses=", "unix_socket_directories=" + e.dir, "port=" + strconv.Itoa(e.port)}
}

// url is the address for a client.
func (e endpoint) url(password string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(roleName, password), Path: "/" + databaseName}
	query := url.Values{"sslmode": {"disable"}}
	if e.dir == "" {
		u.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(e.port))
	} else {
		query.Set("host", e.dir)
		query.Set("port", strconv.Itoa(e.port))
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// clear removes the socket of a server that is gone, and with it the lock file that would stop a new one should its process id be in use.
func (e endpoint) clear() error {
	if e.dir == "" {
		return nil
	}
	for _, path := range []string{socketPath(e.dir), socketPath(e.dir) + ".lock"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("clear the socket of an earlier server away: %w", err)
		}
	}
	return nil
}

// remove takes the folder away when it is not needed any more.
func (e endpoint) remove() error {
	if e.dir == "" {
		return nil
	}
	return os.RemoveAll(e.dir)
}
