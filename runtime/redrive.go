package runtime

import (
	"context"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

const (
	// redriveEvery is how often the dispatching bus looks for dead letters to
	// try again.
	redriveEvery = 10 * time.Second
	// redriveLimit is how many it takes at once.
	redriveLimit = 250
)

// redrive tries dead letters again as the settings in force say, until the bus
// is shut down.
func (b *Bus) redrive(ctx context.Context) {
	every(ctx, redriveEvery, b.redriveDue, func(err error) {
		b.config.logger.Error("dead letters cannot be redriven; trying again", "error", err)
	})
}

func (b *Bus) redriveDue(ctx context.Context) error {
	b.mu.Lock()
	feeds := b.feeds
	b.mu.Unlock()
	for _, f := range feeds {
		for eventType, r := range f.redrives() {
			spec := engine.RedriveSpec{
				Subscription: f.name, Type: eventType, Reasons: r.Reasons,
				DeadBefore: time.Now().Add(-r.Every), Max: r.Max, Limit: redriveLimit,
			}
			for n := redriveLimit; n == redriveLimit; {
				var err error
				if n, err = b.log.Redrive(ctx, spec); err != nil {
					return err
				}
				if n > 0 {
					b.config.logger.Info("dead letters are tried again", "subscription_id", f.name, "event_type", eventType, "events", n)
				}
			}
		}
	}
	return nil
}

// redrives returns which dead letters are tried again, by event type. In a
// group it is what the catalogue says for the type.
func (f *feed) redrives() map[string]Redrive {
	found := map[string]Redrive{}
	for _, m := range *f.members.Load() {
		for eventType, settings := range m.inForce.Load().types {
			if settings.Redrive.Max > 0 {
				found[eventType] = settings.Redrive
			}
		}
	}
	return found
}
