package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/cmd/toolscout/config"
	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/egress"
	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/hooks"
)

// declareHooks makes the hooks that the file declares act, all of them or none.
func declareHooks(set *hookset.Set, cfg config.Config) (hookset.File, error) {
	file, err := declaredHooks(set, cfg)
	if err != nil {
		return file, err
	}
	return file, inLines(cfg, set.SetFile(file))
}

// declaredHooks is what the file says of hooks, with the defaults of their types.
func declaredHooks(set *hookset.Set, cfg config.Config) (hookset.File, error) {
	file := hookset.File{DiscoveryPaths: cfg.Hooks.DiscoveryPaths, OpenToUsers: cfg.Hooks.OpenToUsers}
	var wrong []error
	for i, typ := range file.OpenToUsers {
		if _, known := set.Type(typ); !known {
			wrong = append(wrong, fmt.Errorf("%s: there is no type %q; there are %s", cfg.At(fmt.Sprintf("hooks.open_to_users[%d]", i)), typ, typeNames(set)))
		}
	}
	for _, h := range cfg.Hooks.Declared {
		d, err := declaredHook(set, cfg, h)
		wrong = append(wrong, err)
		file.Hooks = append(file.Hooks, d)
	}
	return file, errors.Join(wrong...)
}

func declaredHook(set *hookset.Set, cfg config.Config, h config.Hook) (hooks.Definition, error) {
	key, typ := "hooks."+h.Name, h.Name
	if h.Settings.Type != nil {
		typ = *h.Settings.Type
	}
	t, known := set.Type(typ)
	if !known && h.Settings.Type != nil {
		return hooks.Definition{}, fmt.Errorf("%s: there is no type %q; there are %s", cfg.At(key+".type"), typ, typeNames(set))
	}
	if !known {
		return hooks.Definition{}, fmt.Errorf("%s: there is no type %q; say with type = … which it is: %s", cfg.At(key), typ, typeNames(set))
	}
	d := t.Definition()
	d.TenantID, d.Name, d.Config = core.DefaultTenant, h.Name, h.Config
	d.Origin = hooks.Origin{Kind: hooks.FromFile, Where: cfg.Place(key)}
	if err := h.Settings.Apply(&d); err != nil {
		return d, fmt.Errorf("%s: %w", cfg.At(key+".timeout"), err)
	}
	return d, nil
}

func typeNames(set *hookset.Set) string {
	var names []string
	for _, t := range set.Types() {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// inLines says of each fault on which line of the file it is. Those of scripts have
// theirs in their message.
func inLines(cfg config.Config, err error) error {
	if err == nil {
		return nil
	}
	errs := []error{err}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		errs = joined.Unwrap()
	}
	var out []error
	for _, err := range errs {
		var invalid *hookset.InvalidError
		if !errors.As(err, &invalid) {
			out = append(out, fmt.Errorf("%s: %w", cfg.At("hooks.discovery_paths"), err))
			continue
		}
		if invalid.Origin.Kind != hooks.FromFile {
			out = append(out, err)
			continue
		}
		for _, f := range invalid.Faults {
			out = append(out, fmt.Errorf("%s: %s", cfg.At("hooks."+invalid.Hook+hookKey(f.Pointer)), f.Message))
		}
	}
	return errors.Join(out...)
}

// hookKey is a JSON pointer into a hook as the file writes it: /onError is
// .on_error, and /config/limits/0 is .limits[0].
func hookKey(pointer string) string {
	if rest, ok := strings.CutPrefix(pointer, "/config"); ok {
		return pointedKey(rest)
	}
	return strings.TrimSuffix(fileKey(pointer), "_id")
}

// checkHooks judges the file's hooks before anything is started for them.
func checkHooks(cfg config.Config, src config.Source) error {
	set, err := hookset.New(hookset.Config{Lookup: cfg.Lookup(src), Types: hookTypes(hookParts{
		guarded: egress.New(egress.Config{}), trusted: egress.New(egress.Config{})})})
	if err != nil {
		return err
	}
	_, err = declareHooks(set, cfg)
	return errors.Join(err, set.Close(context.Background()))
}

// sayStrangers says in the log of which servers and users the file's hooks are that
// are not there. They may come yet; until then such a hook does nothing, and a name
// that is written wrong looks just the same.
func (s *server) sayStrangers(ctx context.Context) {
	servers, _, err := s.db.AllServers(ctx)
	if err != nil {
		s.log.Warn("servers of hooks not looked up", "error", err)
		return
	}
	known := map[string]bool{"": true}
	for _, sv := range servers {
		known[sv.ID], known[sv.Name] = true, true
	}
	for _, d := range s.file.Hooks {
		for _, name := range append([]string{d.ServerID}, d.Servers...) {
			if !known[name] {
				s.log.Warn("a hook is for a server that is not there", "hook", d.Name, "where", d.Origin.Where, "server", name)
			}
		}
		if d.UserID == "" {
			continue
		}
		if _, err := s.db.FindUser(ctx, d.TenantID, d.UserID); errors.Is(err, core.NotFound) {
			s.log.Warn("a hook is for a user who is not there", "hook", d.Name, "where", d.Origin.Where, "user", d.UserID)
		} else if err != nil {
			s.log.Warn("users of hooks not looked up", "error", err)
			return
		}
	}
}
