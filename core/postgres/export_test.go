package postgres

import "context"

// Uses opens what records the use of tokens to a test with a clock of its own.
type Uses struct{ *uses }

func RecordUses(save func(context.Context, []string) error) Uses { return Uses{recordUses(save)} }

func (u Uses) Note(tokenID string) { u.note(tokenID) }
func (u Uses) Close()              { u.close() }

// CheckVectorVersion is checkVectorVersion.
func CheckVectorVersion(version string) error { return checkVectorVersion(version) }

// Refusals are the constraints that have a message.
func Refusals() []string {
	var names []string
	for name := range refusals {
		names = append(names, name)
	}
	return names
}
