package hookset

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// The bounds of a definition.
const (
	maxName    = 100
	maxPattern = 500
	maxList    = 100
	maxTimeout = 24 * time.Hour
	maxConfig  = 256 << 10
)

// Prepare fills in what a definition leaves open and judges it: names, enums,
// lists, scope, and the configuration by its type's schema and by the type
// itself. Secrets are in the clear. Faults name each member of the hook's JSON that is
// wrong by its pointer: "/onError", "/config/limits/0/rate".
func (s *Set) Prepare(d hooks.Definition) (hooks.Definition, []core.Fault) {
	d, faults := s.complete(d)
	if s.kinds[d.Type] == nil {
		return d, faults
	}
	text, more := s.text(d, readFile)
	if len(more) > 0 {
		return d, append(faults, more...)
	}
	l, more := s.make(d, text)
	if l != nil {
		l.discard()
	}
	return d, append(faults, more...)
}

// complete fills in what every hook has, and judges it.
func (s *Set) complete(d hooks.Definition) (hooks.Definition, []core.Fault) {
	k := s.kinds[d.Type]
	if k == nil {
		names := slices.Sorted(maps.Keys(s.kinds))
		return d, []core.Fault{{Pointer: "/type", Message: fmt.Sprintf("there is no type %q; there are %s", clip(d.Type), strings.Join(names, ", "))}}
	}
	fallback := k.Definition()
	d.Mode, d.OnError = cmp.Or(d.Mode, fallback.Mode), cmp.Or(d.OnError, fallback.OnError)
	d.Timeout, d.Pattern = cmp.Or(d.Timeout, fallback.Timeout), cmp.Or(d.Pattern, fallback.Pattern)
	if len(d.Config) == 0 || string(d.Config) == "null" {
		d.Config = fallback.Config
	}
	if d.Level == hooks.Both {
		d.Level = ""
	}
	f := &faults{}
	f.name("/name", d.Name)
	f.common(d)
	f.scope(k, d)
	f.events(k, d)
	if len(d.Config) > maxConfig {
		f.add("/config", "is larger than %d KB", maxConfig>>10)
		d.Config = fallback.Config
	}
	return d, f.list
}

// faults collects what is wrong.
type faults struct{ list []core.Fault }

func (f *faults) add(pointer, format string, args ...any) {
	f.list = append(f.list, core.Fault{Pointer: pointer, Message: fmt.Sprintf(format, args...)})
}

func (f *faults) name(at, name string) {
	switch {
	case strings.TrimSpace(name) == "":
		f.add(at, "is required")
	case utf8.RuneCountInString(name) > maxName:
		f.add(at, "is longer than %d characters", maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		f.add(at, "holds characters that a name cannot have")
	}
}

func (f *faults) common(d hooks.Definition) {
	oneOf(f, "/level", d.Level, "", hooks.Meta, hooks.Tool)
	oneOf(f, "/mode", d.Mode, hooks.Enforce, hooks.Observe, hooks.Background)
	oneOf(f, "/onError", d.OnError, hooks.Fail, hooks.Ignore, hooks.Disable)
	if len(d.Pattern) > maxPattern || !utf8.ValidString(d.Pattern) {
		f.add("/pattern", "is longer than %d bytes, or not text", maxPattern)
	}
	f.names("/servers", d.Servers)
	f.names("/agents", d.Agents)
	if d.Timeout < time.Millisecond || d.Timeout > maxTimeout {
		f.add("/timeout", "is not between 1ms and %gh", maxTimeout.Hours())
	}
	if d.Priority < math.MinInt32/2 || d.Priority > math.MaxInt32/2 {
		f.add("/priority", "is out of range")
	}
}

func oneOf[T ~string](f *faults, at string, got T, want ...T) {
	if slices.Contains(want, got) {
		return
	}
	var names []string
	for _, w := range want {
		names = append(names, cmp.Or(string(w), string(hooks.Both)))
	}
	f.add(at, "is %q, and can be %s", clip(string(got)), strings.Join(names, ", "))
}

func (f *faults) names(at string, list []string) {
	if len(list) > maxList {
		f.add(at, "holds %d entries, of which %d are allowed", len(list), maxList)
		return
	}
	for i, name := range list {
		f.name(fmt.Sprintf("%s/%d", at, i), name)
	}
}

// scope refuses a scope for which the type is not made.
func (f *faults) scope(k *kind, d hooks.Definition) {
	e := hooks.Entry{UserID: d.UserID, ServerID: d.ServerID}
	if len(k.Scopes) == 0 || slices.Contains(k.Scopes, e.Scope()) {
		return
	}
	at := "/userId"
	if d.UserID == "" {
		at = "/serverId"
	}
	var allowed []string
	for _, scope := range k.Scopes {
		allowed = append(allowed, scope.String())
	}
	f.add(at, "a %s has no scope %s, only %s", d.Type, e.Scope(), strings.Join(allowed, ", "))
}

// ofCalls are the events of the chains.
var (
	pairs   = [...][2]hooks.Event{{hooks.MetaBefore, hooks.MetaAfter}, {hooks.ToolBefore, hooks.ToolAfter}}
	ofCalls = []hooks.Event{hooks.MetaBefore, hooks.MetaAfter, hooks.ToolBefore, hooks.ToolAfter}
)

// events refuses names that are none, and those that cannot happen.
func (f *faults) events(k *kind, d hooks.Definition) {
	if len(d.Events) > maxList {
		f.add("/events", "holds %d entries, of which %d are allowed", len(d.Events), maxList)
		return
	}
	for _, pair := range pairs {
		if k.Paired && slices.Contains(d.Events, pair[0]) != slices.Contains(d.Events, pair[1]) {
			f.add("/events", "a %s needs %s and %s together", d.Type, pair[0], pair[1])
		}
	}
	// Of a level that is none, that is all there is to say.
	happens := len(d.Events) == 0 || !slices.Contains([]hooks.Level{"", hooks.Meta, hooks.Tool}, d.Level)
	for i, e := range d.Events {
		at := fmt.Sprintf("/events/%d", i)
		inCalls := slices.Contains(ofCalls, e)
		happens = happens || !inCalls || d.Level == "" || strings.HasPrefix(string(e), string(d.Level)+":")
		switch {
		case !known(e):
			f.add(at, "%q is not an event, as tool:after and server:failed are", clip(string(e)))
		case inCalls && len(k.Events) > 0 && !slices.Contains(k.Events, e):
			f.add(at, "a %s does nothing at %s", d.Type, e)
		}
	}
	if !happens {
		f.add("/events", "none of these happens at the level %s", d.Level)
	}
}

// known reports whether an event has a name that it can have: one of ours, or one
// that a hook may publish.
func known(e hooks.Event) bool {
	return slices.Contains(core.EventTypes(), string(e)) || core.CheckEventType(string(e)) == nil
}

// onlyOfCalls refuses events outside calls, for hooks that cannot act on them.
func onlyOfCalls(events []hooks.Event) []core.Fault {
	var f faults
	for i, e := range events {
		if known(e) && !slices.Contains(ofCalls, e) {
			f.add(fmt.Sprintf("/events/%d", i), "this hook acts on calls alone, which have no %s", e)
		}
	}
	return f.list
}

// clip shortens what a message quotes.
func clip(s string) string {
	const longest = 60
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
