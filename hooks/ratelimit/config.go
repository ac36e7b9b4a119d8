package ratelimit

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

var schema = json.RawMessage(`{
	"type": "object",
	"additionalProperties": false,
	"properties": {
		"by": {
			"description": "what has a limit of its own: each user, agent, server or tool, or each combination; without any there is one limit for all calls together",
			"type": "array", "items": {"enum": ["user", "agent", "server", "tool"]}, "uniqueItems": true, "default": []
		},
		"rate": {"description": "how many calls are let through in the time per; 0 is no such limit", "type": "integer", "minimum": 0, "maximum": 1000000000, "default": 0},
		"per": {"description": "the time that rate goes with, such as 1s, 1m or 24h", "type": "string", "default": "1m"},
		"burst": {"description": "how many calls may come at once after a pause; 0 is as many as rate", "type": "integer", "minimum": 0, "maximum": 1000000000, "default": 0},
		"concurrency": {"description": "how many calls may run at the same time; 0 is no such limit", "type": "integer", "minimum": 0, "maximum": 1000000, "default": 0}
	}
}`)

// limits is the configuration.
type limits struct {
	By          []string `json:"by"`
	Rate        int      `json:"rate"`
	Per         string   `json:"per"`
	Burst       int      `json:"burst"`
	Concurrency int      `json:"concurrency"`

	// interval is how long the bucket takes to gain one token.
	interval time.Duration
}

// longest is how long a bucket may take to fill.
const longest = 365 * 24 * time.Hour

func readLimits(config json.RawMessage) (limits, error) {
	l := limits{Per: "1m"}
	if err := json.Unmarshal(config, &l); err != nil {
		return l, core.Errorf(core.InvalidParams, "the configuration cannot be read").Because(err)
	}
	per, err := time.ParseDuration(l.Per)
	if err != nil || per <= 0 || per > longest {
		return l, fault("/per", "is not a time between 0 and a year, such as 1s, 1m or 24h")
	}
	if l.Rate == 0 && l.Concurrency == 0 {
		return l, fault("/rate", "is missing: a limit has a rate, a concurrency, or both")
	}
	if l.Rate == 0 {
		if l.Burst > 0 {
			return l, fault("/burst", "goes with a rate")
		}
		return l, nil
	}
	if l.Burst == 0 {
		l.Burst = l.Rate
	}
	// Rounded up: never more than the rate.
	l.interval = (per + time.Duration(l.Rate) - 1) / time.Duration(l.Rate)
	if l.interval > longest/time.Duration(l.Burst) {
		return l, fault("/burst", "is so large that it takes more than a year to fill")
	}
	return l, nil
}

func fault(pointer, message string) *core.Error {
	e := core.Errorf(core.InvalidParams, "%s %s", strings.TrimPrefix(pointer, "/"), message)
	e.Faults = []core.Fault{{Pointer: pointer, Message: message}}
	return e
}

// key tells the bucket of a call. The chains have buckets of their own, so that a
// hook on both counts no call twice in one. What is not known is "".
//
// A name that a client gives itself is no bucket of its own beside the user's: who
// is limited by user and agent must not escape by calling the agent something else.
func (l *limits) key(c *hooks.Call) string {
	var key strings.Builder
	key.WriteString(string(c.Level))
	for _, by := range [...]string{"user", "agent", "server", "tool"} {
		part := ""
		if slices.Contains(l.By, by) {
			part = l.part(by, c)
		}
		key.WriteString("\x00" + part)
	}
	return key.String()
}

func (l *limits) part(by string, c *hooks.Call) string {
	switch {
	case by == "user":
		return c.Principal.UserID
	case by == "agent" && !(c.Principal.AgentNamed && slices.Contains(l.By, "user")):
		return c.Principal.Agent
	case by == "server" && c.Server != nil:
		return c.Server.ID
	case by == "tool" && c.Tool != nil:
		return c.Tool.ID
	case by == "tool" && c.Level == hooks.Meta:
		return c.Action
	}
	return ""
}

// whose says what a limit is for: " for each user and tool".
func (l *limits) whose() string {
	if len(l.By) == 0 {
		return ""
	}
	return " for each " + strings.Join(l.By, " and ")
}
