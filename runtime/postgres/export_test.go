package postgres

import (
	"context"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/outbox"
)

// Intercepted is [Relay] whose bus is replaced by what around returns.
func Intercepted(db DB, around func(outbox.Bus) outbox.Bus, opts ...Option) runtime.Option {
	return withRelay(db, opts, func(r *relay) outbox.Relay { return &intercepted{r, around} })
}

type intercepted struct {
	*relay
	around func(outbox.Bus) outbox.Bus
}

func (i *intercepted) Run(ctx context.Context, to outbox.Bus) { i.relay.Run(ctx, i.around(to)) }

// Floored is [Relay] that tells behind which number each look begins.
func Floored(db DB, looks func(floor int64)) runtime.Option {
	return withRelay(db, nil, func(r *relay) outbox.Relay {
		query := r.db
		r.db = func(ctx context.Context, each func(scan func(into ...any) error) error, statement string, args ...any) error {
			if statement == r.in(selectRows) {
				looks(args[1].(int64))
			}
			return query(ctx, each, statement, args...)
		}
		return r
	})
}
