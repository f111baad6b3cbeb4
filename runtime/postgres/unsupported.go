package postgres

import (
	"context"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// unsupportedLog has what a log to which events are only appended cannot do, and nothing to close for it. It has no
// subscriptions and no pauses.
type unsupportedLog struct{}

func publishesOnly(what string) error {
	return unsupported("a bus with postgres.Outbox", what, "it only publishes; the bus with postgres.Relay does that")
}

func (unsupportedLog) RemoveConsumer(context.Context, string, string) (event.Removed, error) {
	return event.Removed{}, publishesOnly("remove a subscription")
}

func (unsupportedLog) TakeOver(context.Context) (engine.Recovery, error) {
	return engine.Recovery{}, publishesOnly("deliver events")
}

func (unsupportedLog) Consumer(context.Context, engine.ConsumerSpec) (engine.Consumer, error) {
	return nil, publishesOnly("subscribe")
}

func (unsupportedLog) Flush(context.Context) error { return nil }

func (unsupportedLog) LetGo(context.Context, engine.Consumer) error { return nil }

func (unsupportedLog) Cancel(context.Context, engine.Cancellation) ([]string, error) {
	return nil, publishesOnly("cancel an event")
}

func (unsupportedLog) Outcome(context.Context, int64) ([]engine.Settlement, error) {
	return nil, publishesOnly("wait for an event")
}

func (unsupportedLog) WaitSettled(context.Context, []engine.Consumer) error {
	return publishesOnly("wait for subscriptions")
}

func (unsupportedLog) AwaitSettled(context.Context) error {
	return publishesOnly("wait for room (WithMaxPending)")
}

func (unsupportedLog) Watch(context.Context, engine.WatchSpec) (engine.Watch, error) {
	return nil, publishesOnly("watch events")
}

func (unsupportedLog) Subscriptions(context.Context, int) ([]event.SubscriptionState, error) {
	return nil, nil
}

func (unsupportedLog) Pending(context.Context, int) (int, error) {
	return 0, publishesOnly("count what is pending (WithMaxPending)")
}

func (unsupportedLog) Unhandled(context.Context, []engine.Consumer, int64, func(string) bool) (engine.Unhandled, error) {
	return engine.Unhandled{}, publishesOnly("look for unhandled events")
}

func (unsupportedLog) Pause(context.Context, engine.Pause) error { return publishesOnly("pause") }

func (unsupportedLog) Resume(context.Context, engine.Pause) error { return publishesOnly("resume") }

func (unsupportedLog) Pauses(context.Context) ([]engine.Pause, error) { return nil, nil }

func (unsupportedLog) WatchPauses(context.Context, func([]engine.Pause)) error {
	return publishesOnly("deliver events")
}

func (unsupportedLog) Show(context.Context, engine.Activity, []engine.BreakerRequest) error {
	return publishesOnly("deliver events")
}

func (unsupportedLog) WatchRequests(func([]engine.BreakerRequest)) {}

func (unsupportedLog) Prune(context.Context, time.Time) (int, error) {
	return 0, publishesOnly("prune events")
}

func (unsupportedLog) Compact(context.Context) (int64, error) {
	return 0, publishesOnly("compact a file")
}

func (unsupportedLog) Redrive(context.Context, engine.RedriveSpec) (int, error) {
	return 0, publishesOnly("redrive dead letters")
}

func (unsupportedLog) DeclareSchedules(context.Context, []engine.ScheduleSpec, time.Time) ([]event.Schedule, error) {
	return nil, publishesOnly("keep schedules")
}

func (unsupportedLog) Pass(context.Context, engine.Passage) (bool, error) {
	return false, publishesOnly("keep schedules")
}

func (unsupportedLog) LeaseLimits(context.Context, func(engine.LimitTime) engine.LimitTime, []engine.LimitLease) error {
	return publishesOnly("keep limits")
}

func (unsupportedLog) ReturnLimits(context.Context, []engine.LimitLease) error { return nil }
