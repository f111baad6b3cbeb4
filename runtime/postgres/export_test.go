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
