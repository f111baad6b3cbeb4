package inspect

import (
	"context"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Status is what a file holds and who uses it: the process that dispatches, events,
// subscriptions, dead letters, pauses, breakers and handlers at work. As JSON it is
// what "busgen status --json" prints.
type Status = engine.Status

// Owner is the process that dispatches from a file, or the last one that did.
type Owner = engine.Owner

// TypeCount counts the events of one type.
type TypeCount = engine.TypeCount

// SubscriptionState is where a subscription stands: its backlog, what of it runs, waits
// or is held, and its dead letters.
type SubscriptionState = engine.SubscriptionState

// Rates is how fast a bus has worked between two statuses.
type Rates = engine.Rates

// SubscriptionRates is how fast a subscription has worked between two statuses.
type SubscriptionRates = engine.SubscriptionRates

// PauseState is a pause of a subscription or of event types that is in force.
type PauseState = engine.PauseState

// Snoozed is a delivery that its handler has put off again and again.
type Snoozed = engine.Snoozed

// Names are the names that a file knows. A filter with another name matches nothing.
type Names = engine.Names

// MaxBacklog is where the backlog of a subscription, and the events of a [Status], are
// no longer counted: the number is this one for all that is more.
const MaxBacklog = engine.MaxBacklog

// Status returns what the file holds. It counts the newest events and the first of a
// backlog only, so that it takes milliseconds however large the file is.
func (f *File) Status(ctx context.Context) (Status, error) {
	return f.log.Status(ctx, MaxBacklog, Status{})
}

// StatusSince is Status with the rates since an earlier status of the same log, which
// may come from another File on the same path, but not from JSON. It has no rates for
// the zero Status, nor where they would mean nothing: the file was replaced or restored
// since, or its subscription is new. Beside what Status costs, it counts what was
// published and settled since.
func (f *File) StatusSince(ctx context.Context, before Status) (Status, error) {
	return f.log.Status(ctx, MaxBacklog, before)
}

// Subscriptions returns every subscription that the file knows, in the order in which
// they were made.
func (f *File) Subscriptions(ctx context.Context) ([]SubscriptionState, error) {
	return f.log.Subscriptions(ctx, MaxBacklog)
}

// Names returns the names that filters can match.
func (f *File) Names(ctx context.Context) (Names, error) { return f.log.Names(ctx) }
