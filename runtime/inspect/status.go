package inspect

import (
	"context"

	"github.com/busgen/busgen/runtime/event"
)

// Status describes the file. It counts at most [event.MaxBacklog] events and deliveries of each
// backlog, so that it takes milliseconds however large the file is.
func (f *File) Status(ctx context.Context) (event.Status, error) {
	return f.log.Status(ctx, event.MaxBacklog, event.Status{})
}

// StatusSince is Status with the rates since an earlier status of the same log, which
// may come from another File on the same path, but not from JSON. It has no rates if
// before is the zero Status, if the file was replaced or restored since, and for new
// subscriptions. It also counts the events published and settled since, which takes
// longer.
func (f *File) StatusSince(ctx context.Context, before event.Status) (event.Status, error) {
	return f.log.Status(ctx, event.MaxBacklog, before)
}

// Hour counts what happened in each of the last 60 minutes, from what the log has: it needs
// no process that dispatches, and a restart loses nothing. What leaves no trace is not
// counted: attempts that succeeded, and those that failed before another one succeeded.
//
// With more than 10,000 events Hour does not read them all. In a file it finds the places
// where the minutes begin, which takes milliseconds; imported events, events that were
// pruned since, and a clock that was set back make the counts of such an hour wrong.
// JetStream counts the newest 10,000 events, and the minutes before them are -1.
func (f *File) Hour(ctx context.Context) (event.Hour, error) { return f.log.Hour(ctx) }

// Subscriptions returns every subscription that the file knows, in the order in which
// they were made.
func (f *File) Subscriptions(ctx context.Context) ([]event.SubscriptionState, error) {
	return f.log.Subscriptions(ctx, event.MaxBacklog)
}

// Names returns the names that filters can match.
func (f *File) Names(ctx context.Context) (event.Names, error) {
	all, err := f.log.Declared(ctx)
	return all.Names, err
}

// Schedules returns the schedules of the bus that dispatches, or that did so last, by
// name. The program decides when they are due; the file knows which times are over.
func (f *File) Schedules(ctx context.Context) ([]event.Schedule, error) {
	all, err := f.log.Declared(ctx)
	return all.Schedules, err
}
