package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/toolscout/toolscout/cmd/toolscout/config"
	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/admin"
	"github.com/toolscout/toolscout/core/secret"
)

// applyFile makes the registry hold what the file declares: all of it, or
// nothing and an error. Without a file the registry stays as it is: who starts
// Toolscout from another folder has not taken anything out of a file.
func (s *server) applyFile(ctx context.Context, cfg config.Config) error {
	if cfg.File == "" {
		return nil
	}
	servers, err := s.declared(ctx, cfg)
	if err != nil {
		return err
	}
	before := s.file
	if s.file, err = declareHooks(s.hooks, cfg); err != nil {
		s.file = before
		return err
	}
	by := core.Request{ID: newRequestID(), Principal: core.Principal{TenantID: core.DefaultTenant, UserName: "configuration file"}}.Entry(core.LevelConfig, "reconcile")
	changed, err := s.db.ReconcileServers(ctx, by, servers)
	if err != nil {
		s.file = before
		return fmt.Errorf("apply %s: %w", cfg.File, errors.Join(err, s.hooks.SetFile(before)))
	}
	for _, id := range changed {
		s.pool.Drop(id)
		if err := s.syncer.Withdraw(ctx, id); err != nil { // the next look does it too
			s.log.Warn("blocked tools not withdrawn", "server_id", id, "error", err)
		}
		s.syncer.Enqueue(id)
	}
	return nil
}

// declared is the file's servers as the registry keeps them.
func (s *server) declared(ctx context.Context, cfg config.Config) ([]core.Server, error) {
	servers, err := checkDeclared(cfg)
	if err != nil {
		return nil, err
	}
	stored, _, err := s.db.AllServers(ctx)
	if err != nil {
		return nil, err
	}
	before := map[string]core.Server{}
	for _, old := range stored {
		before[old.Name] = old
	}
	for i, sv := range servers {
		old := before[sv.Name]
		servers[i].Env, servers[i].Headers = s.seal(sv.Env, old.Env), s.seal(sv.Headers, old.Headers)
	}
	return servers, nil
}

// checkFile judges what the file declares.
func checkFile(cfg config.Config, src config.Source) error {
	_, err := checkDeclared(cfg)
	return errors.Join(err, checkHooks(cfg, src))
}

// checkDeclared is the file's servers with their defaults, or what is wrong with
// the first that is not valid.
func checkDeclared(cfg config.Config) ([]core.Server, error) {
	var out []core.Server
	for i, sv := range cfg.Gateway.Servers {
		if !cfg.Gateway.Enabled {
			sv.Status = core.Inactive
		}
		sv = admin.Defaults(sv)
		if faults := admin.ValidateServer(sv); len(faults) > 0 {
			key := fmt.Sprintf("gateway.servers[%d]%s", i, fileKey(faults[0].Pointer))
			return nil, fmt.Errorf("%s (%s): %s", cfg.At(key), sv.Name, faults[0].Message)
		}
		out = append(out, sv)
	}
	return out, nil
}

// fileKey is a JSON pointer into a server or a hook as the file writes it:
// /requiredRoles/0 is .required_roles[0].
func fileKey(pointer string) string {
	var b strings.Builder
	for _, r := range pointedKey(pointer) {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// pointedKey is a JSON pointer as a key of the file: /rules/0/do is .rules[0].do.
func pointedKey(pointer string) string {
	var b strings.Builder
	for i, part := range strings.Split(pointer, "/") {
		switch _, err := strconv.ParseUint(part, 10, 32); {
		case i == 0: // before the first slash
		case err == nil:
			b.WriteString("[" + part + "]")
		default:
			b.WriteString("." + unescape.Replace(part))
		}
	}
	return b.String()
}

// seal encrypts the values that are no references. One that is stored already
// stays as it is, so that an unchanged server is seen to be unchanged.
func (s *server) seal(values, stored map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range values {
		out[k] = v
		if secret.IsReference(v) {
			continue
		}
		if plain, err := s.secrets.Open(stored[k]); err == nil && plain == v && stored[k] != v {
			out[k] = stored[k]
			continue
		}
		out[k] = s.secrets.Seal(v)
	}
	return out
}

// reloads applies the file again at each SIGHUP. One that cannot be applied
// leaves everything as it was.
func (s *server) reloads(ctx context.Context, hup <-chan os.Signal, src config.Source, flags map[string]string) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hup:
		}
		cfg, err := config.Load(src, flags)
		if err == nil {
			err = s.applyFile(ctx, cfg)
		}
		if err != nil {
			s.log.Error("reload failed, nothing has changed", "error", err)
			continue
		}
		s.sayStrangers(ctx)
		s.log.Info("reloaded", "file", cfg.File, "servers", len(cfg.Gateway.Servers), "hooks", len(cfg.Hooks.Declared))
	}
}
