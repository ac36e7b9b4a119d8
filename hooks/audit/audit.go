// Package audit is the outermost hook of both chains: it leaves one audit row for
// every call of a meta-tool however it ended, and one usage row for every call
// that reached a real tool.
package audit

import (
	"context"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// timeout bounds how long a call waits for a place in the queue, and in sync mode
// for its row.
const timeout = 30 * time.Second

// New makes the entry of the hook. It writes through w.
func New(w *Writer) hooks.Entry {
	return hooks.Entry{Name: "audit", Type: "audit", Priority: hooks.Outermost, OnError: hooks.Fail,
		Timeout: timeout, Inline: true, Hook: &recorder{writer: w}}
}

type recorder struct{ writer *Writer }

// Before reserves the place of the row. Unavailable when the queue stays full:
// nothing has happened yet.
func (r *recorder) Before(ctx context.Context, c *hooks.Call) error {
	slots := r.writer.audit
	if c.Level == hooks.Tool {
		slots = r.writer.usage
	}
	if err := r.writer.reserve(ctx, slots); err != nil {
		return err
	}
	c.SetValue(r, time.Now())
	return nil
}

// After puts the row in its place.
func (r *recorder) After(ctx context.Context, c *hooks.Call) error {
	start, reserved := c.Value(r).(time.Time)
	if !reserved {
		return nil
	}
	if c.Level == hooks.Tool {
		return r.used(c)
	}
	// A change of configuration that succeeded has left its row in its own
	// transaction.
	if c.Via == core.LevelConfig && c.Err == nil {
		r.writer.audit.Release(1)
		return nil
	}
	e := r.entry(c)
	e.Time, e.DurationMs = start, milliseconds(time.Since(start))
	return r.writer.put(ctx, row{audit: &e}, heeded(c).wait)
}

// used records a real call. Nobody waits for its row alone: the audit row that
// follows is behind it in the queue.
func (r *recorder) used(c *hooks.Call) error {
	if !c.Sent {
		r.writer.usage.Release(1)
		return nil
	}
	u := core.UsageEntry{AuditEntry: r.entry(c), SchemaHash: c.Tool.SchemaHash}
	u.Time, u.DurationMs = u.Time.Add(-c.Duration), milliseconds(c.Duration)
	r.writer.queue(row{usage: &u})
	return nil
}

// entry is what a row says, whichever kind it is.
func (r *recorder) entry(c *hooks.Call) core.AuditEntry {
	e := core.Request{ID: c.RequestID, Principal: c.Principal}.Entry(c.Via, c.Action)
	t, s := subject(c)
	if t != nil {
		e.ToolID, e.ToolName = t.ID, t.Name
	}
	if s != nil {
		e.ServerID, e.ServerName = s.ID, s.Name
	}
	e.Outcome = core.OutcomeOf(c.Err)
	switch {
	case c.Err != nil:
		e.ErrorKind = core.Public(c.Err).Kind
	case c.IsError:
		e.Outcome = core.OutcomeFailed
	}
	e.Details = details(c, heeded(c), r.writer.config.Values)
	return e
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// note is the key under which Note leaves its words.
type note struct{}

type about struct {
	tool   *core.Tool
	server *core.Server
}

// Note says which tool and server a call is about, for its row alone: no other
// hook learns of a tool that the caller may not see. Either may be nil.
func Note(c *hooks.Call, t *core.Tool, s *core.Server) { c.SetValue(note{}, about{t, s}) }

func subject(c *hooks.Call) (*core.Tool, *core.Server) {
	if a, ok := c.Value(note{}).(about); ok {
		return a.tool, a.server
	}
	return c.Tool, c.Server
}
