package runtime

import (
	"context"
	"time"
)

// pruneEvery is how often the dispatching bus looks for events to delete.
const pruneEvery = time.Minute

// prune deletes what is past the retention, until ctx ends.
func (b *Bus) prune(ctx context.Context) {
	if b.config.retention == Forever {
		return
	}
	every(ctx, pruneEvery, func(ctx context.Context) error {
		n, err := b.log.Prune(ctx, time.Now().Add(-b.config.retention))
		if n > 0 {
			b.config.logger.Debug("settled events pruned", "events", n)
		}
		return err
	}, func(err error) {
		b.config.logger.Error("settled events cannot be pruned; trying again every minute", "error", err)
	})
}

// Compact gives the space of deleted events back to the file system and returns
// how many bytes it was. It works in small steps beside publishers and handlers,
// and ends early with ctx. There is no need to call it regularly: deleted space is
// used again by new events. The file itself shrinks when its WAL is next
// checkpointed, at the latest when the bus is shut down.
func (b *Bus) Compact(ctx context.Context) (freed int64, err error) {
	defer b.keep()
	freed, err = b.log.Compact(ctx)
	return freed, public(err)
}
