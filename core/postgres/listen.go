package postgres

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

// Listen calls fn with every notice that an instance sends: "catalog N", "user ID",
// "model N", "hooks N" or, of the last event stored, "events N". It has a
// connection of its own, makes it anew when it is lost, and whenever it has one calls
// fn with "", since notices before were missed. It ends, without an error, with ctx.
// fn must not take long: notices wait for it.
func (s *Store) Listen(ctx context.Context, fn func(payload string)) error {
	const shortest, longest = 100 * time.Millisecond, 5 * time.Second
	config := s.pool.Config().ConnConfig
	config.RuntimeParams["application_name"] = "toolscout listen"
	pause := shortest
	for {
		err := listenOnce(ctx, config, func() {
			pause = shortest
			fn("")
		}, fn)
		if ctx.Err() != nil {
			return nil
		}
		s.log.Warn("listening for changes was interrupted", "error", err, "retry_in", pause.String())
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause + rand.N(pause)):
		}
		pause = min(2*pause, longest)
	}
}

func listenOnce(ctx context.Context, config *pgx.ConnConfig, ready func(), fn func(string)) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return wrap("connect", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, `listen toolscout`); err != nil {
		return wrap("listen", err)
	}
	ready()
	for {
		notice, err := conn.WaitForNotification(ctx)
		if err != nil {
			return wrap("wait for notices", err)
		}
		fn(notice.Payload)
	}
}
