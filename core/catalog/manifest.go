package catalog

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/postgres"
)

// maxTools bounds the tools of one server. The largest public one had some 2,000.
const maxTools = 5000

// Manifest makes the tools of a server of the definitions it sent: sanitised,
// filtered by its lists, prefixed, each under a name of its own. The warnings are
// about the list as a whole and about what had to be left out.
func Manifest(server *core.Server, definitions []json.RawMessage) ([]core.Tool, []string) {
	var m manifest
	seen := map[string]bool{}
	for _, raw := range definitions {
		tool, err := Sanitize(raw)
		switch {
		case err != nil:
			m.warn("left out: %v", err)
			continue
		case seen[tool.OriginName]:
			m.warn("the tool %.60q is listed twice: the first counts", tool.OriginName)
			continue
		}
		seen[tool.OriginName] = true
		if !offered(server, tool.OriginName) {
			continue
		}
		if len(m.tools) == maxTools {
			m.warn("only the first %d tools are taken", maxTools)
			break
		}
		tool.ServerID, tool.Name = server.ID, server.Prefix+tool.Name
		tool.Signature = core.Signature(tool.InputSchema)
		m.tools = append(m.tools, tool)
	}
	m.checkLists(server, seen)
	m.separate(server.Prefix)
	return m.tools, m.warnings
}

// manifest is a list of tools, being made.
type manifest struct {
	tools    []core.Tool
	warnings []string
}

// maxWarnings bounds what is said about one list.
const maxWarnings = 50

func (m *manifest) warn(format string, args ...any) {
	if len(m.warnings) < maxWarnings {
		m.warnings = append(m.warnings, fmt.Sprintf(format, args...))
	}
}

// offered applies the lists of a server to an original name.
func offered(server *core.Server, origin string) bool {
	if matches(server.BlockedTools, origin) {
		return false
	}
	return len(server.AllowedTools) == 0 || matches(server.AllowedTools, origin)
}

// matches reports whether a name is in a list of names and patterns (path.Match).
// A name is no path: a star stands for slashes too, or a tool could escape its
// block by having one in its name.
func matches(patterns []string, name string) bool {
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") } // which no name holds
	return slices.ContainsFunc(patterns, func(p string) bool {
		if p == name {
			return true
		}
		ok, err := path.Match(flat(p), flat(name))
		return ok && err == nil // patterns are checked when they are registered
	})
}

// checkLists warns of entries that fit no tool: mostly a slip, and for a blocked
// tool a dangerous one.
func (m *manifest) checkLists(server *core.Server, seen map[string]bool) {
	for name, list := range map[string][]string{"allowedTools": server.AllowedTools, "blockedTools": server.BlockedTools} {
		for _, p := range list {
			fits := false
			for origin := range seen {
				if fits = matches([]string{p}, origin); fits {
					break
				}
			}
			if !fits {
				m.warn("%s names %.60q, and the server has no such tool", name, p)
			}
		}
	}
	slices.Sort(m.warnings)
}

// separate gives tools that came out under one name each their own. Which keeps
// the name does not depend on the order of the list: the one that really is
// called so, or else the first by original name. The others get a mark made of
// their original names, so that they keep it when another tool comes or goes.
func (m *manifest) separate(prefix string) {
	byName := map[string][]*core.Tool{}
	for i := range m.tools {
		t := &m.tools[i]
		byName[t.Name] = append(byName[t.Name], t)
	}
	for name, same := range byName {
		if len(same) == 1 {
			continue
		}
		slices.SortFunc(same, func(a, b *core.Tool) int { return strings.Compare(a.OriginName, b.OriginName) })
		keeps := max(0, slices.IndexFunc(same, func(t *core.Tool) bool { return prefix+t.OriginName == name }))
		for i, t := range same {
			if i != keeps {
				t.Name += "-" + short(t.OriginName)
				t.Warnings = append(t.Warnings, fmt.Sprintf("another tool is shown as %.60q as well", name))
			}
		}
	}
}

// SyncResult says what a look at a server has changed.
type SyncResult struct {
	Added, Changed, Removed, Unchanged int
	// Warnings are about the list as a whole; those about one tool are with it.
	Warnings []string
}

func (r SyncResult) differs() bool { return r.Added+r.Changed+r.Removed > 0 }

// Diff compares the tools that are stored with those a server offers now, by
// original name.
func Diff(stored, offered []core.Tool) (postgres.ToolDiff, SyncResult) {
	var diff postgres.ToolDiff
	var result SyncResult
	known := make(map[string]*core.Tool, len(stored))
	for i := range stored {
		known[stored[i].OriginName] = &stored[i]
	}
	for _, tool := range offered {
		old, ok := known[tool.OriginName]
		delete(known, tool.OriginName)
		switch {
		case !ok:
			result.Added++
		case same(old, &tool):
			result.Unchanged++
			continue
		default:
			result.Changed++
			tool.ID, tool.Domain = old.ID, old.Domain
		}
		diff.Upsert = append(diff.Upsert, tool)
	}
	for _, gone := range known {
		diff.Remove = append(diff.Remove, gone.ID)
	}
	slices.Sort(diff.Remove)
	result.Removed = len(diff.Remove)
	return diff, result
}

// same compares the content by its hash, and beside it what we make of it: that
// also changes with the server's prefix, and with this program.
func same(a, b *core.Tool) bool {
	return a.SchemaHash == b.SchemaHash && a.Name == b.Name && a.Title == b.Title && a.Description == b.Description &&
		a.Signature == b.Signature && slices.Equal(a.Warnings, b.Warnings)
}

// storable are the definitions of resources or prompts that the database takes.
func storable(definitions []json.RawMessage) []json.RawMessage {
	var kept []json.RawMessage
	for _, raw := range definitions[:min(len(definitions), maxTools)] {
		if json.Valid(raw) && nesting(raw) <= maxNesting && len(raw) <= maxSchema {
			kept = append(kept, raw)
		}
	}
	return kept
}
