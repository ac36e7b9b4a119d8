package core

import (
	"regexp"
	"slices"
	"strings"
)

var ownEvent = regexp.MustCompile(`^[a-z][a-z0-9_.:-]{0,99}$`)

// EventTypes lists the types of events that Toolscout itself publishes.
func EventTypes() []string {
	return []string{EventMetaBefore, EventMetaAfter, EventToolBefore, EventToolAfter, EventToolRejected,
		EventServerUp, EventServerFailed, EventToolsChanged, EventIndexProgress, EventIndexCompleted,
		EventHookDisabled, EventHookReloaded, EventConfigChanged}
}

// CheckEventType refuses what may not be the type of a team's own event:
// InvalidParams.
func CheckEventType(name string) error {
	if !ownEvent.MatchString(name) {
		return Errorf(InvalidParams, "%.110q cannot be the type of an event: "+
			"it needs a small letter, then up to 99 small letters, digits and any of _ . : -", name)
	}
	family, _, _ := strings.Cut(name, ":")
	ours := func(typ string) bool { return strings.HasPrefix(typ, family+":") }
	if strings.Contains(name, ":") && slices.ContainsFunc(append(EventTypes(), "events:missed"), ours) {
		return Errorf(InvalidParams, "events of type %q are published by Toolscout alone, as are all whose type begins with %s:", name, family)
	}
	return nil
}
