package hookbook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/secret"
	"github.com/toolscout/toolscout/hooks"
)

// Create makes a hook: an admin's where own is nil, else the user's own. The audit
// row by is filled in with what it is about, and stored with it.
func (b *Book) Create(ctx context.Context, by *core.AuditEntry, own *Own, p Patch) (Hook, error) {
	base := b.defaults(own, p.kind(""))
	base.TenantID, base.Owned, base.Origin = by.TenantID, own != nil, hooks.Origin{Kind: hooks.FromDatabase}
	d, faults := b.edited(by, own, base, p)
	if err := b.open(own, d.Type); err != nil {
		return Hook{}, err
	}
	sealed, err := b.judge(ctx, own, d, secrets{}, faults)
	if err != nil {
		return Hook{}, err
	}
	created, err := b.store.CreateHook(ctx, timed(by), sealed)
	if err != nil {
		return Hook{}, err
	}
	return b.show(created), nil
}

// Update edits a hook, as Create makes one. It gives a hook that was disabled by
// its own failure another chance.
func (b *Book) Update(ctx context.Context, by *core.AuditEntry, own *Own, id string, p Patch) (Hook, error) {
	stored, err := b.editable(ctx, by.TenantID, own, id)
	if err != nil {
		return Hook{}, err
	}
	d, faults := b.edited(by, own, stored, p)
	if !p.switchesOff() {
		if err := b.open(own, d.Type); err != nil {
			return Hook{}, err
		}
		known := b.kept(stored)
		if d.Type != stored.Type {
			known = secrets{}
		}
		if _, given := p["config"]; !given {
			d.Config = b.opened(stored)
		}
		if stored.Owned && d.UserID != stored.UserID {
			faults = append(faults, core.Fault{Pointer: "/userId", Message: "is the user's own hook, and stays theirs"})
		}
		if d, err = b.judge(ctx, own, d, known, faults); err != nil {
			return Hook{}, err
		}
	}
	updated, err := b.store.UpdateHook(ctx, timed(by), d)
	if err != nil {
		return Hook{}, err
	}
	return b.show(updated), nil
}

// Delete removes a hook.
func (b *Book) Delete(ctx context.Context, by *core.AuditEntry, own *Own, id string) error {
	d, err := b.editable(ctx, by.TenantID, own, id)
	if err != nil {
		return err
	}
	describe(by, d, nil)
	return b.store.DeleteHook(ctx, timed(by), by.TenantID, id)
}

// defaults is a hook of a type about which nothing is said yet.
func (b *Book) defaults(own *Own, kind string) hooks.Definition {
	t, _ := b.set.Type(kind)
	d := t.Definition()
	d.Name, d.Type = "", kind
	if own != nil {
		d.UserID = own.Principal.UserID
	}
	return d
}

// edited lays a patch over a definition.
func (b *Book) edited(by *core.AuditEntry, own *Own, d hooks.Definition, p Patch) (hooks.Definition, []core.Fault) {
	d, faults := p.apply(d, b.defaults(own, p.kind(d.Type)))
	if d.Level == hooks.Both {
		d.Level = ""
	}
	describe(by, d, p.members())
	return d, faults
}

// describe says in an audit row what a change is about: names, never values.
func describe(by *core.AuditEntry, d hooks.Definition, fields []string) {
	const most = 200
	for _, text := range []*string{&d.Name, &d.Type, &d.UserID, &d.ServerID} {
		*text = (*text)[:min(len(*text), most)]
	}
	by.ServerID = d.ServerID
	by.Details, _ = core.EncodeJSON(struct { // texts alone
		HookID string   `json:"hookId,omitempty"`
		Hook   string   `json:"hook"`
		Type   string   `json:"type"`
		UserID string   `json:"userId,omitempty"`
		Fields []string `json:"fields,omitempty"`
	}{d.ID, d.Name, d.Type, d.UserID, fields})
}

// open refuses a user a type that no admin opened.
func (b *Book) open(own *Own, name string) error {
	t, known := b.set.Type(name)
	if own == nil || !known || b.set.Open(t.Name) {
		return nil
	}
	return core.Errorf(core.Denied, "hooks of the type %s are for admins", t.Name).
		WithHint("An admin can open it with open_to_users = [%q] under [hooks].", t.Name)
}

// judge gives a definition as it is to be stored: complete, and with its secrets
// sealed. known are the secrets that masks stand for. InvalidParams names every
// fault.
func (b *Book) judge(ctx context.Context, own *Own, d hooks.Definition, known secrets, faults []core.Fault) (hooks.Definition, error) {
	t, _ := b.set.Type(d.Type)
	var unmasked []core.Fault
	d.Config, unmasked = known.unmask(t, d.Config)
	scope, err := b.checkScope(ctx, own, d)
	if err != nil {
		return d, err
	}
	d, prepared := b.set.Prepare(d)
	references, err := checkReferences(d)
	if err != nil {
		return d, err
	}
	faults = slices.Concat(faults, scope, unmasked, references)
	for _, f := range prepared {
		if !slices.ContainsFunc(faults, func(known core.Fault) bool { return known.Pointer == f.Pointer }) {
			faults = append(faults, f)
		}
	}
	if err := invalid(faults); err != nil {
		return d, err
	}
	d.Config, err = b.sealed(t, d.Config, known)
	return d, err
}

// checkScope finds a user or a server that is none.
func (b *Book) checkScope(ctx context.Context, own *Own, d hooks.Definition) ([]core.Fault, error) {
	var faults []core.Fault
	if own != nil {
		if d.UserID != own.Principal.UserID {
			faults = append(faults, core.Fault{Pointer: "/userId", Message: "your hooks are your own: leave it out"})
		}
		if d.ServerID != "" && !own.Sees(d.ServerID) {
			faults = append(faults, core.Fault{Pointer: "/serverId", Message: "there is no such server"})
		}
		return faults, nil
	}
	for _, of := range []struct {
		what, id string
		look     func() error
	}{
		{"user", d.UserID, func() error { _, err := b.store.User(ctx, d.TenantID, d.UserID); return err }},
		{"server", d.ServerID, func() error { _, err := b.store.Server(ctx, d.TenantID, d.ServerID); return err }},
	} {
		if of.id == "" {
			continue
		}
		err := of.look()
		if isNotFound(err) {
			faults = append(faults, core.Fault{Pointer: "/" + of.what + "Id", Message: "there is no such " + of.what})
		} else if err != nil {
			return nil, fmt.Errorf("look up the %s: %w", of.what, err)
		}
	}
	return faults, nil
}

func isNotFound(err error) bool { return errors.Is(err, core.NotFound) }

// checkReferences finds references to the environment where there must be none: in
// a user's own hook, and for everybody those to what belongs to the gateway itself
// (Denied). A script's text is left alone: nothing is replaced in it.
func checkReferences(d hooks.Definition) (faults []core.Fault, denied error) {
	_, err := everything.Secrets(d.Config, func(at, value string) (string, error) {
		for _, name := range core.References(value) {
			switch {
			case at == "/source":
			case d.Owned:
				faults = append(faults, core.Fault{Pointer: "/config" + at, Message: "a hook of your own cannot read the environment: write the value itself"})
				return value, nil
			case secret.Reserved(name):
				denied = core.Errorf(core.Denied, "${%s} belongs to the gateway itself", name).
					WithHint("Put the value under another name into the environment, or configure the hook in the file.")
			}
		}
		return value, nil
	})
	return faults, errors.Join(denied, err)
}

// invalid is the error for faults; nil when there are none.
func invalid(f []core.Fault) error {
	if len(f) == 0 {
		return nil
	}
	slices.SortStableFunc(f, func(a, b core.Fault) int { return strings.Compare(a.Pointer, b.Pointer) })
	at := f[0].Pointer
	if at == "" {
		at = "the input"
	}
	e := core.Errorf(core.InvalidParams, "%s: %s", at, f[0].Message)
	if len(f) > 1 {
		e.Message += fmt.Sprintf(" (and %d more)", len(f)-1)
	}
	e.Faults = f
	return e
}
