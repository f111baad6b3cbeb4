package runtime

import (
	"context"
	"fmt"
	"strings"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Replay delivers handled events to one subscription again, in the order of the log, each
// with a fresh count of attempts, and returns how many. Their [Event].Replayed is true and
// their Attempt greater than 1. No other subscription notices. The name may be a former
// one, and of a subscription of another process; in a group it is that of the group.
//
// Events that the subscription has not handled yet, has as dead letters or has discarded
// stay as they are, as do those from before it began; events that were pruned are gone.
// Events that are published while Replay runs are not part of it. One that was open when
// Replay began, and that the subscription handles before its turn, may be.
//
// Replay makes the deliveries due and does not wait for them; the process that dispatches
// notices within 200 ms. It works in small transactions, so that publishers do not wait
// for long. When ctx ends or the process dies, each event was replayed or not, and the
// number is right with any error; a second call replays the same events once more. The
// audit has one entry, with the program as actor. In a handler it is at once, whatever
// becomes of the handler. The bus need not be started. The errors are:
//
//   - the error of ctx, if it ends first
//   - one that matches [event.ErrUnknownSubscription], with the names that the file has
//   - one that says that the file does not have the event of From
//   - [ErrShutdown], when the bus is shut down
//   - *[NotInspectableError], when the engine of the bus cannot do it
//   - *[event.StorageError], when the file cannot be read or written
func (b *Bus) Replay(ctx context.Context, subscription string, f event.ReplayFilter) (replayed int, err error) {
	return busOf(b).replay(ctx, subscription, f)
}

func (b *innerBus) replay(ctx context.Context, subscription string, f event.ReplayFilter) (replayed int, err error) {
	for _, one := range f.Types {
		if _, err := glob.Parse(strings.TrimPrefix(one, string(engine.OwnType))); err != nil {
			return 0, fmt.Errorf("replay events to %s: type %w", subscription, err)
		}
	}
	filter := event.Filter{
		Types: f.Types, Events: f.Events, CorrelationID: f.CorrelationID, ChildOf: f.ChildOf, Text: f.Text, Since: f.Since, Until: f.Until,
	}
	spec := engine.SweepSpec{Kind: engine.SweepReplay, Subscription: subscription, Filter: engine.Filter{Filter: filter}, From: f.From}
	spec.Detail = spec.InWords()
	return b.sweep(ctx, spec)
}

// sweepStep is how many deliveries one transaction changes at most.
const sweepStep = 100

// sweep changes many deliveries, in steps.
func (b *innerBus) sweep(ctx context.Context, spec engine.SweepSpec) (changed int, err error) {
	defer b.keep()
	history, err := b.history(ctx)
	if err == nil {
		err = b.log.Flush(ctx) // what was handled up to now is part of it
	}
	if err != nil {
		return 0, public(err)
	}
	steps, matched, err := history.Sweep(ctx, spec)
	if err != nil {
		return 0, public(err)
	}
	if matched == 0 {
		return 0, nil
	}
	// The number that matched is not the end: a step may find events that were handled since.
	for {
		keys, err := steps.Step(ctx, sweepStep, false)
		if err != nil || len(keys) == 0 {
			return changed, public(err)
		}
		changed += len(keys)
		if changed == matched {
			continue // most likely the next step finds nothing
		}
		select {
		case <-b.stopRequested:
			return changed, ErrShutdown
		default:
		}
	}
}
