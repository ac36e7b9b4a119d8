package script

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // scripts name time zones wherever they run

	"go.starlark.net/starlark"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/hooks"
)

// Config holds what scripts need of the rest.
type Config struct {
	// Publish stores an event that a script emitted; without it emit fails.
	Publish func(context.Context, core.Event) error
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Logger takes, at level debug, what scripts print.
	Logger *slog.Logger
}

// settings are the configuration of a script.
type settings struct {
	File      string          `json:"file"`
	Source    string          `json:"source"`
	MaxSteps  int64           `json:"max_steps"`
	MaxMemory int64           `json:"max_memory"`
	MaxSize   int64           `json:"max_size"`
	Vars      json.RawMessage `json:"vars"`
}

func defaults() settings {
	return settings{MaxSteps: 500_000, MaxMemory: 32 * mebibyte, MaxSize: mebibyte}
}

const schema = `{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "file": {"type": "string", "default": "", "description": "path of the script; only in the configuration file and for scripts that were found"},
    "source": {"type": "string", "maxLength": 65536, "default": "", "description": "the script itself, in place of a file"},
    "max_steps": {"type": "integer", "minimum": 1000, "maximum": 5000000, "default": 500000, "description": "how many steps one run may take: an operation is one or a few, work on a long text or list more"},
    "max_memory": {"type": "integer", "minimum": 1048576, "maximum": 134217728, "default": 33554432, "description": "how many bytes one run may allocate in all"},
    "max_size": {"type": "integer", "minimum": 1024, "maximum": 16777216, "default": 1048576, "description": "how many bytes of arguments or results one run may read at once, and write"},
    "vars": {"type": "object", "default": {}, "description": "what the script finds as config, read-only"}
  }
}`

// Type is the type script.
func Type(c Config) hooks.Type {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return hooks.Type{
		Name: "script",
		Description: "Runs a Starlark script before or after a call: it may change arguments or result, answer, reject, " +
			"emit events. No files, no network.",
		Events:   events(),
		Level:    hooks.Tool,
		OnError:  hooks.Ignore,
		Priority: 800,
		Timeout:  time.Second,
		Schema:   json.RawMessage(schema),
		Settings: Settings,
		New: func(in hooks.Instance) (hooks.Hook, error) {
			s := defaults()
			if err := json.Unmarshal(in.Config, &s); err != nil {
				return nil, core.Errorf(core.InvalidParams, "the configuration of a script: %v", err)
			}
			name, source, err := s.read(in)
			if err != nil {
				return nil, err
			}
			h, err := load(c, in, s, name, source)
			if err != nil {
				return nil, s.blame(err)
			}
			return h, nil
		},
	}
}

// events are all that a script can act on.
func events() []hooks.Event {
	var all []hooks.Event
	for _, name := range core.EventTypes() {
		if name != core.EventToolRejected {
			all = append(all, hooks.Event(name))
		}
	}
	return all
}

// read gives the script and the name by which errors call it.
func (s settings) read(in hooks.Instance) (name string, source []byte, err error) {
	switch {
	case (s.File == "") == (s.Source == ""):
		return "", nil, fault("", "a script has either file or source")
	case s.Source != "":
		return cmp.Or(in.Name, "script") + ".star", []byte(s.Source), nil
	case !in.Trusted:
		return "", nil, fault("/file", "only the configuration file names files: give the script itself as source")
	}
	name, source = filepath.Base(s.File), in.Source
	if source == nil {
		if source, err = readFile(s.File); err != nil {
			return "", nil, core.Errorf(core.InvalidParams, "read the script %s", name).Because(err)
		}
	}
	return name, source, nil
}

// blame points at the member of the configuration that holds the script.
func (s settings) blame(err error) error {
	if s.File != "" {
		return pointed(err, "/file")
	}
	return pointed(err, sourcePointer)
}

// pointed is the error of a script with its faults at a pointer. Those that are
// elsewhere stay.
func pointed(err error, pointer string) error {
	e := *core.Public(err)
	if len(e.Faults) == 0 {
		e.Faults = []core.Fault{{Pointer: sourcePointer, Message: e.Message}}
	}
	e.Faults = slices.Clone(e.Faults)
	for i := range e.Faults {
		if e.Faults[i].Pointer == sourcePointer {
			e.Faults[i].Pointer = pointer
		}
	}
	return &e
}

const sourcePointer = "/source"

func fault(pointer, message string) error {
	e := core.Errorf(core.InvalidParams, "%s", message)
	e.Faults = []core.Fault{{Pointer: pointer, Message: message}}
	return e
}

// readFile reads no more than a script may have, and a byte.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(limited(f))
	return b.Bytes(), err
}

// load compiles a script and runs its module-level code.
func load(c Config, in hooks.Instance, s settings, name string, source []byte) (*hook, error) {
	h := &hook{
		name: name, owner: in.UserID, tenant: in.TenantID,
		limits:  limits{Steps: s.MaxSteps, Memory: s.MaxMemory, Size: s.MaxSize},
		publish: c.Publish, now: c.Now, logger: c.Logger,
	}
	ctx, cancel := context.WithTimeout(context.Background(), hooks.DefaultTimeout)
	defer cancel()
	r, stop := h.start(ctx, nil)
	defer stop()
	vars, err := r.vars(s.Vars)
	if err != nil {
		return nil, fault("/vars", err.Error())
	}
	env := environment(vars)
	p, err := compile(name, source, env)
	if err != nil {
		return nil, err
	}
	h.program, err = r.load(p, env)
	return h, err
}

// vars are what the script finds as config.
func (r *run) vars(text json.RawMessage) (starlark.Value, error) {
	if len(text) == 0 {
		text = json.RawMessage(`{}`)
	}
	v, err := r.decode("vars", text)
	if err != nil {
		return nil, err
	}
	v.Freeze()
	return v, nil
}

// Check reports what is wrong with a script: InvalidParams with file, line and
// column. path is only the name to call it by.
func Check(path string, source []byte) error {
	_, err := Settings(filepath.Base(path), source)
	return err
}

// Settings gives what a script says of itself in its module-level dict hook.
// InvalidParams if it does not compile or the dict holds what no setting is.
func Settings(name string, source []byte) (hooks.Settings, error) {
	c := Config{Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
	h, err := load(c, hooks.Instance{}, defaults(), name, source)
	if err != nil {
		return hooks.Settings{}, pointed(err, "")
	}
	return h.settings()
}

const ownSettings = "hook"

func (h *hook) settings() (hooks.Settings, error) {
	var s hooks.Settings
	v, ok := h.program.globals[ownSettings]
	if !ok {
		return s, nil
	}
	if _, ok := v.(*starlark.Dict); !ok {
		return s, core.Errorf(core.InvalidParams, "%s: %s must be a dict of settings, not a %s", h.name, ownSettings, v.Type())
	}
	r, stop := h.start(context.Background(), nil)
	defer stop()
	text, err := r.encode(ownSettings, v)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(&s)
	}
	if err != nil {
		return s, core.Errorf(core.InvalidParams, "%s: %s: %s", h.name, ownSettings, explain(err))
	}
	return s, nil
}

// explain says without Go's words what was wrong with a JSON text.
func explain(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Sprintf("%q cannot be a %s", wrong.Field, wrong.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
