package core

import (
	"regexp"
	"slices"
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
	if slices.Contains(EventTypes(), name) {
		return Errorf(InvalidParams, "events of type %q are published by Toolscout alone", name)
	}
	return nil
}
