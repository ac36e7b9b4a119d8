package sanitizer

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/toolscout/toolscout/core"
)

// What is done with arguments that the tool's schema does not know.
const (
	keepUnknown   = "keep"
	dropUnknown   = "drop"
	refuseUnknown = "refuse"
)

var configSchema = json.RawMessage(`{
	"type": "object",
	"additionalProperties": false,
	"properties": {
		"rules": {
			"description": "what is done, in this order",
			"type": "array", "maxItems": 200, "default": [],
			"items": {
				"type": "object",
				"required": ["do"],
				"additionalProperties": false,
				"properties": {
					"pointer": {
						"description": "JSON pointer to what the rule is about; * stands for any member or element, and \"\" for all arguments. What a rule does with text or numbers it does with all that lie within",
						"type": "string", "default": ""
					},
					"do": {
						"description": "trim white space off text, and cut it at max_length characters; clamp numbers between min and max; rename a member to another name, unless there is one of that name; deny text that matches; replace what matches by with; redact secrets of the kinds, and what matches one of the patterns; drop; set to value, also where there was none",
						"enum": ["trim", "clamp", "rename", "deny", "replace", "redact", "drop", "set"]
					},
					"max_length": {"description": "trim: the longest text in characters; 0 is any", "type": "integer", "minimum": 0, "default": 0},
					"min": {"description": "clamp: the least number; null is any", "type": ["number", "null"], "default": null},
					"max": {"description": "clamp: the greatest number; null is any", "type": ["number", "null"], "default": null},
					"to": {"description": "rename: the new name", "type": "string", "default": ""},
					"match": {"description": "deny, replace: a regular expression (RE2)", "type": "string", "default": ""},
					"with": {"description": "replace: what comes instead; $1 is the first group", "type": "string", "default": ""},
					"message": {"description": "deny: what the caller is told", "type": "string", "maxLength": 300, "default": "is not allowed here"},
					"patterns": {"description": "redact: more regular expressions", "type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 100, "default": []},
					"kinds": {
						"description": "redact: the kinds of secrets that are looked for",
						"type": "array", "uniqueItems": true,
						"items": {"enum": ["bearer", "aws", "private_key", "github", "jwt", "api_key", "card"]},
						"default": ["bearer", "aws", "private_key", "github", "jwt", "api_key", "card"]
					},
					"value": {"description": "set: any value", "default": null}
				}
			}
		},
		"unknown": {
			"description": "what is done, after the rules, with arguments that the tool's input schema does not name, nested ones too, unless it allows additional ones expressly",
			"enum": ["keep", "drop", "refuse"], "default": "keep"
		},
		"defaults": {"description": "true fills in, last of all, what is left out and has a default in the tool's input schema", "type": "boolean", "default": false}
	}
}`)

type config struct {
	Rules    []rule `json:"rules"`
	Unknown  string `json:"unknown"`
	Defaults bool   `json:"defaults"`
}

// rule is one thing to do.
type rule struct {
	Pointer   string          `json:"pointer"`
	Do        string          `json:"do"`
	MaxLength int             `json:"max_length"`
	Min       json.RawMessage `json:"min"` // the literals
	Max       json.RawMessage `json:"max"`
	To        *string         `json:"to"`
	Match     string          `json:"match"`
	With      string          `json:"with"`
	Message   string          `json:"message"`
	Patterns  []string        `json:"patterns"`
	Kinds     []string        `json:"kinds"`
	Value     json.RawMessage `json:"value"`

	tokens  []string
	match   *regexp.Regexp
	secrets []secret
	bounds  bounds
}

func newSanitizer(text json.RawMessage) (*sanitizer, error) {
	s := &sanitizer{config: config{Unknown: keepUnknown}}
	if err := json.Unmarshal(text, &s.config); err != nil {
		return nil, core.Errorf(core.InvalidParams, "the configuration cannot be read").Because(err)
	}
	for i := range s.Rules {
		if at, message := s.Rules[i].complete(); message != "" {
			e := core.Errorf(core.InvalidParams, "rule %d: %s %s", i+1, at, message)
			e.Faults = []core.Fault{{Pointer: fmt.Sprintf("/rules/%d/%s", i, at), Message: message}}
			return nil, e
		}
	}
	return s, nil
}

// complete makes ready what the rule needs. What is wrong is told by the member and a
// message.
func (r *rule) complete() (at, message string) {
	var ok bool
	if r.tokens, ok = split(r.Pointer); !ok {
		return "pointer", "is not a JSON pointer"
	}
	if r.Message == "" {
		r.Message = "is not allowed here"
	}
	switch r.Do {
	case "clamp":
		if r.bounds, ok = newBounds(r.Min, r.Max); !ok {
			if r.bounds.least == nil || r.bounds.most == nil {
				return "min", "is missing, and so is max: one of them is needed"
			}
			return "min", "is greater than max"
		}
	case "rename":
		if r.To == nil || len(r.tokens) == 0 {
			return "to", "is missing, or pointer does not lead to a member"
		}
	case "drop":
		if len(r.tokens) == 0 {
			return "pointer", "must lead to a member or an element"
		}
	case "set":
		if len(r.Value) == 0 {
			r.Value = json.RawMessage("null")
		}
	case "deny", "replace":
		if r.Match == "" {
			return "match", "is missing"
		}
		var err error
		if r.match, err = regexp.Compile(r.Match); err != nil {
			return "match", "is not a regular expression: " + err.Error()
		}
	case "redact":
		return r.completeSecrets()
	}
	return "", ""
}

func (r *rule) completeSecrets() (at, message string) {
	if r.Kinds == nil {
		r.secrets = append(r.secrets, known...)
	}
	for _, kind := range r.Kinds {
		for _, s := range known {
			if s.kind == kind {
				r.secrets = append(r.secrets, s)
			}
		}
	}
	for i, text := range r.Patterns {
		re, err := regexp.Compile(text)
		if err != nil {
			return fmt.Sprintf("patterns/%d", i), "is not a regular expression: " + err.Error()
		}
		r.secrets = append(r.secrets, secret{match: re})
	}
	return "", ""
}

// split reads an RFC 6901 JSON pointer.
func split(text string) ([]string, bool) {
	if text == "" {
		return nil, true
	}
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return nil, false
	}
	tokens := strings.Split(rest, "/")
	for i, t := range tokens {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(t), "~") {
			return nil, false
		}
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(t)
	}
	return tokens, true
}
