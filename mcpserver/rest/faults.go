package rest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/toolscout/toolscout/core"
)

// The bounds of what is said about an input.
const (
	maxFaults  = 20
	maxMessage = 300
)

// invalid turns a failed validation into a refusal that points at the faults.
// Unknown fields make an input malformed (400), everything else invalid (422).
func invalid(what string, err error) error {
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return err
	}
	var unknown, wrong []core.Fault
	collect(failed, message.NewPrinter(language.English), &unknown, &wrong)
	e := core.Errorf(core.InvalidParams, "%s is not valid", what)
	e.Faults = append(unknown, wrong...)
	slices.SortStableFunc(e.Faults, func(a, b core.Fault) int { return strings.Compare(a.Pointer, b.Pointer) })
	first, more := e.Faults[0], len(e.Faults)-1
	e.Message += ": " + strings.TrimPrefix(first.Pointer+": "+first.Message, ": ")
	if more > 0 {
		e.Message += fmt.Sprintf(" (and %d more)", more)
	}
	e.Faults = e.Faults[:min(len(e.Faults), maxFaults)]
	if len(unknown) > 0 {
		return &refusal{status: http.StatusBadRequest, reason: e}
	}
	return e
}

// collect gathers the leaves of a validation error.
func collect(e *jsonschema.ValidationError, p *message.Printer, unknown, wrong *[]core.Fault) {
	for _, cause := range e.Causes {
		collect(cause, p, unknown, wrong)
	}
	if len(e.Causes) > 0 {
		return
	}
	at := func(name string) string { return clip(pointer(append(slices.Clone(e.InstanceLocation), name))) }
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			*unknown = append(*unknown, core.Fault{Pointer: at(name), Message: "unknown field"})
		}
	case *kind.Required:
		for _, name := range k.Missing {
			*wrong = append(*wrong, core.Fault{Pointer: at(name), Message: "required"})
		}
	default:
		*wrong = append(*wrong, core.Fault{Pointer: clip(pointer(e.InstanceLocation)), Message: said(k, p)})
	}
}

// said is what is wrong with a value, in words.
func said(k jsonschema.ErrorKind, p *message.Printer) string {
	if pattern, ok := k.(*kind.Pattern); ok && pattern.Want == durationPattern {
		return "want a duration such as 30s"
	}
	return clip(k.LocalizedString(p))
}

// clip bounds what is repeated of somebody's input.
func clip(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "…"
}
