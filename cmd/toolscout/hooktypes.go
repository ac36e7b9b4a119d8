package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/egress"
	"github.com/toolscout/toolscout/core/postgres"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/access"
	"github.com/toolscout/toolscout/hooks/audit"
	"github.com/toolscout/toolscout/hooks/emit"
	"github.com/toolscout/toolscout/hooks/enrich"
	"github.com/toolscout/toolscout/hooks/ratelimit"
	"github.com/toolscout/toolscout/hooks/sanitizer"
	"github.com/toolscout/toolscout/hooks/script"
	"github.com/toolscout/toolscout/hooks/testfilter"
	"github.com/toolscout/toolscout/hooks/toon"
	"github.com/toolscout/toolscout/hooks/truncation"
	"github.com/toolscout/toolscout/hooks/webhook"
)

// hookParts is what the types of hooks work with. Those that only judge
// definitions need no more than the two ways out.
type hookParts struct {
	store *postgres.Store
	// guarded is the way out for what users and admins configure over the API,
	// trusted for what the file does.
	guarded, trusted *egress.Guard
	// publish makes a hook's own event known, publishSync once it is stored.
	publish, publishSync func(context.Context, core.Event) error
	log                  *slog.Logger
}

// hookTimeout bounds a request that a hook makes; its entry's own timeout is
// usually shorter.
const hookTimeout = 2 * time.Minute

// hookTypes is every type of hook that can be configured.
func hookTypes(p hookParts) []hooks.Type {
	guarded, trusted := p.guarded.Client(hookTimeout), p.trusted.Client(hookTimeout)
	return []hooks.Type{
		audit.Type(),
		access.Type(),
		ratelimit.Type(p.store),
		enrich.Type(guarded, trusted),
		sanitizer.Type(),
		emit.Type(emit.Config{Publish: p.publish, PublishSync: p.publishSync}),
		script.Type(script.Config{Publish: p.publish, Logger: p.log}),
		testfilter.Type(),
		toon.Type(),
		truncation.Type(p.store),
		webhook.Type(guarded, trusted),
	}
}
