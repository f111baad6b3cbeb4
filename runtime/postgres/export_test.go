package postgres

import (
	"context"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/outbox"
)

// Intercepted is [Relay] whose bus is replaced by what around returns.
func Intercepted(db DB, around func(outbox.Bus) outbox.Bus, opts ...Option) runtime.Option {
	r, err := newRelay(db, opts)
	if err != nil {
		return runtime.WithEngine(refused{err})
	}
	return outbox.WithRelay(&intercepted{r, around}).(runtime.Option)
}

type intercepted struct {
	*relay
	around func(outbox.Bus) outbox.Bus
}

func (i *intercepted) Run(ctx context.Context, to outbox.Bus) { i.relay.Run(ctx, i.around(to)) }

// ResetEvery is how often a relay looks from the beginning.
const ResetEvery = resetEvery
