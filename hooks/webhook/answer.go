package webhook

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/rawjson"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/result"
)

const (
	// maxDepth is how deep an answer may be nested, and maxMessage how much of a
	// rejection's message is passed on, in bytes.
	maxDepth   = 128
	maxMessage = 2000
)

// answer is what a receiver says of a call. The zero answer is no opinion.
type answer struct {
	action  string
	message *string
	args    json.RawMessage
	result  json.RawMessage
}

// read decodes an answer, strictly: what could be meant in two ways is a failure.
func read(body []byte) (answer, error) {
	var a answer
	if body == nil {
		return a, nil
	}
	if err := a.decode(body); err != nil {
		return answer{}, core.Errorf(core.UpstreamError, "the webhook's answer is not valid: %v", err)
	}
	return a, nil
}

func (a *answer) decode(body []byte) error {
	if err := rawjson.Check(body, maxDepth); err != nil {
		return err
	}
	object, err := rawjson.Scan(body)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, m := range object.Members {
		name, value := string(m.Name), json.RawMessage(body[m.Start:m.End])
		if seen[name] {
			return fmt.Errorf("%q occurs twice", name)
		}
		seen[name] = true
		switch name {
		case "action":
			err = json.Unmarshal(value, &a.action)
		case "message":
			err = json.Unmarshal(value, &a.message)
		case "args":
			a.args = value
		case "result":
			a.result = value
		default:
			return fmt.Errorf("unknown member %q", name)
		}
		if err != nil {
			return fmt.Errorf("%q is not a text", name)
		}
	}
	return a.check()
}

// check holds each action to its own members.
func (a *answer) check() error {
	replaces := 0
	for _, value := range []json.RawMessage{a.args, a.result} {
		if value == nil {
			continue
		}
		replaces++
		if value[0] != '{' {
			return fmt.Errorf("args and result are objects")
		}
	}
	switch a.action {
	case "allow":
		if replaces > 0 || a.message != nil {
			return fmt.Errorf(`"allow" stands alone`)
		}
	case "reject":
		if replaces > 0 {
			return fmt.Errorf(`"reject" goes with a message alone`)
		}
	case "replace":
		if replaces != 1 || a.message != nil {
			return fmt.Errorf(`"replace" goes with either args or result`)
		}
	default:
		return fmt.Errorf("action is allow, reject or replace")
	}
	return nil
}

// apply does to the call what was answered.
func (a *answer) apply(c *hooks.Call, half half) error {
	switch {
	case a.action == "reject":
		return a.rejection()
	case a.args != nil && half == after:
		return core.Errorf(core.UpstreamError, "the webhook replaced arguments after the call")
	case a.args != nil:
		c.Args = a.args
	case a.result != nil:
		return a.replace(c)
	}
	return nil
}

func (a *answer) rejection() error {
	if a.message == nil || *a.message == "" {
		return hooks.Reject(core.HookRejected, "rejected by a webhook")
	}
	text := *a.message
	if len(text) > maxMessage {
		end := maxMessage
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	return hooks.Reject(core.HookRejected, "%s", text)
}

// replace puts the answered result in place. A failed call has none to replace.
func (a *answer) replace(c *hooks.Call) error {
	if c.Err != nil {
		return core.Errorf(core.UpstreamError, "the webhook replaced the result of a failed call")
	}
	if c.Level == hooks.Tool || c.Action == "execute_tool" {
		if err := result.Check(a.result); err != nil {
			return core.Errorf(core.UpstreamError, "the webhook's result is not a CallToolResult: %v", err)
		}
	}
	c.Result = a.result
	return nil
}
