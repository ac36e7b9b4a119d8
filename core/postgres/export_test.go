package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/toolscout/toolscout/core"
)

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

// Leases gives tests the leases without a database.
func Leases(length time.Duration, ask func(context.Context, [32]byte) (core.Principal, error)) (
	principal func(context.Context, [32]byte) (core.Principal, error), wait func()) {
	l := newLeases(length, ask)
	return l.principal, l.close
}

// Plan is how the database goes about a query for nearest tools.
func (s *Store) Plan(ctx context.Context, q NearestQuery) (string, error) {
	query, args := q.statement()
	rows, err := s.pool.Query(ctx, "explain "+query, pgx.QueryExecModeCacheDescribe, args)
	if err != nil {
		return "", err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(lines, "\n"), err
}

// PendingPart is how many changes Pending looks at once.
const PendingPart = pendingPart
