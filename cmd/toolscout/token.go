package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolscout/toolscout/cmd/toolscout/config"
)

// The names of what the data folder keeps beside the database.
const (
	adminTokenFile = "admin-token"
	secretKeyFile  = "secret-key"
)

// adminToken is the first admin's token, and whether it was made just now.
type adminToken struct {
	value string
	file  string // "" when it comes from the environment
	fresh bool
}

// firstToken takes the first admin's token from the configuration or the data
// folder, or makes one, and has the database know it.
func (s *server) firstToken(ctx context.Context, cfg config.Config) (adminToken, error) {
	t := adminToken{value: cfg.AdminToken}
	if t.value == "" {
		t.file = filepath.Join(cfg.DataDir, adminTokenFile)
		var err error
		t.value, t.fresh, err = keptSecret(t.file, func() string {
			b := make([]byte, 32)
			rand.Read(b)
			return "ts_" + base64.RawURLEncoding.EncodeToString(b)
		})
		if err != nil {
			return t, fmt.Errorf("first admin token: %w", err)
		}
	}
	return t, s.db.EnsureAdmin(ctx, "admin", sha256.Sum256([]byte(t.value)))
}

// secretKey is the key that seals credentials given to the API as they are.
func secretKey(dataDir string) (key [32]byte, err error) {
	text, _, err := keptSecret(filepath.Join(dataDir, secretKeyFile), func() string {
		b := make([]byte, 32)
		rand.Read(b)
		return base64.StdEncoding.EncodeToString(b)
	})
	if err != nil {
		return key, fmt.Errorf("key for secrets: %w", err)
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) != len(key) {
		return key, fmt.Errorf("%s does not hold a key: put the right one back; without it the credentials given to the API must be given again", filepath.Join(dataDir, secretKeyFile))
	}
	return [32]byte(raw), nil
}

// keptSecret reads a file that only its owner may read, or makes it. Two that
// make it at once agree on one.
func keptSecret(file string, generate func() string) (value string, fresh bool, err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", false, err
	}
	value = generate()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		raw, err := os.ReadFile(file)
		if err == nil && len(raw) == 0 {
			err = fmt.Errorf("%s is empty: remove it", file)
		}
		return strings.TrimSpace(string(raw)), false, err
	}
	if err != nil {
		return "", false, err
	}
	_, err = f.WriteString(value + "\n")
	return value, true, errors.Join(err, f.Close())
}
