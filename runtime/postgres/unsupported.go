package postgres

import (
	"context"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// only has what a log does not that only publishes. It has no subscriptions and no pauses, and nothing to close for
// these.
type only struct{}

var errOnly = unsupported("a bus with postgres.Outbox", "do more than publish", "the bus with postgres.Relay does the rest")

func (only) RemoveConsumer(context.Context, string, string) (r event.Removed, _ error) {
	return r, errOnly
}
func (only) TakeOver(context.Context) (r engine.Recovery, _ error) { return r, errOnly }
func (only) Consumer(context.Context, engine.ConsumerSpec) (engine.Consumer, error) {
	return nil, errOnly
}
func (only) Flush(context.Context) error                                           { return nil }
func (only) LetGo(context.Context, engine.Consumer) error                          { return nil }
func (only) Cancel(context.Context, engine.Cancellation) ([]string, error)         { return nil, errOnly }
func (only) Outcome(context.Context, int64) ([]engine.Settlement, error)           { return nil, errOnly }
func (only) WaitSettled(context.Context, []engine.Consumer) error                  { return errOnly }
func (only) AwaitSettled(context.Context) error                                    { return errOnly }
func (only) Watch(context.Context, engine.WatchSpec) (engine.Watch, error)         { return nil, errOnly }
func (only) Subscriptions(context.Context, int) ([]event.SubscriptionState, error) { return nil, nil }
func (only) Pending(context.Context, int) (int, error)                             { return 0, errOnly }
func (only) Unhandled(context.Context, []engine.Consumer, int64, func(string) bool) (r engine.Unhandled, _ error) {
	return r, errOnly
}
func (only) Pause(context.Context, engine.Pause) error                            { return errOnly }
func (only) Resume(context.Context, engine.Pause) error                           { return errOnly }
func (only) Pauses(context.Context) ([]engine.Pause, error)                       { return nil, nil }
func (only) WatchPauses(context.Context, func([]engine.Pause)) error              { return errOnly }
func (only) Show(context.Context, engine.Activity, []engine.BreakerRequest) error { return errOnly }
func (only) WatchRequests(func([]engine.BreakerRequest))                          {}
func (only) Prune(context.Context, time.Time) (int, error)                        { return 0, errOnly }
func (only) Compact(context.Context) (int64, error)                               { return 0, errOnly }
func (only) Redrive(context.Context, engine.RedriveSpec) (int, error)             { return 0, errOnly }
func (only) DeclareSchedules(context.Context, []engine.ScheduleSpec, time.Time) ([]event.Schedule, error) {
	return nil, errOnly
}
func (only) Pass(context.Context, engine.Passage) (bool, error) { return false, errOnly }
func (only) LeaseLimits(context.Context, func(engine.LimitTime) engine.LimitTime, []engine.LimitLease) error {
	return errOnly
}
func (only) ReturnLimits(context.Context, []engine.LimitLease) error { return nil }
