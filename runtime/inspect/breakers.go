package inspect

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/event"
)

// Breakers returns the circuit breakers that are not closed, the one that opened first
// first. They live in the memory of the process that dispatches, which writes what
// changes within a tenth of a second; if no process dispatches there is none.
func (f *File) Breakers(ctx context.Context) ([]event.Breaker, error) {
	activity, _, err := f.log.Activity(ctx)
	return activity.Breakers, err
}

// Running returns the attempts that have been running for more than a second, the
// oldest first, and the handlers that were abandoned and have not returned. The process
// that dispatches writes them every second; if no process dispatches there is none.
func (f *File) Running(ctx context.Context) ([]event.Running, error) {
	activity, _, err := f.log.Activity(ctx)
	return activity.Attempts, err
}

// Waitlists returns what parked deliveries wait for, up to 20 waitlists, that with the most of them first. Of very many
// deliveries 100,000 are counted. What waits in the memory of the process that dispatches is not among them.
func (f *File) Waitlists(ctx context.Context) ([]event.Waitlist, error) {
	activity, _, err := f.log.Activity(ctx)
	return activity.Waitlists, err
}

const (
	// answerTime is how long CloseBreaker waits for an answer.
	answerTime = 3 * time.Second
	// answerDelay is how often it looks for it.
	answerDelay = 20 * time.Millisecond
)

// CloseBreaker has the process that dispatches close a circuit breaker, because what
// its handler needs works again: its events are delivered at once. It returns when the
// breaker is closed. The error matches [ErrNobodyDispatches] if no process dispatches,
// and is a *[event.NotFoundError] if the breaker is not open. A process that does not answer
// within three seconds is an error too; the request is then taken back. Nothing is left
// that could be done later.
//
// If the subscription has a breaker for each key, all of them are closed.
func (f *File) CloseBreaker(ctx context.Context, subscription string) error {
	return f.CloseBreakerOf(ctx, subscription, "")
}

// CloseBreakerOf is [File.CloseBreaker] for the breaker of one key.
func (f *File) CloseBreakerOf(ctx context.Context, subscription, key string) error {
	activity, owner, err := f.log.Activity(ctx)
	if err != nil {
		return err
	}
	if !owner.Alive {
		return fmt.Errorf("%w: circuit breakers live in the memory of the process that dispatches, and are closed when it starts", ErrNobodyDispatches)
	}
	var open, keys []string
	listed := true // all that are open are
	for _, b := range activity.Breakers {
		if b.Subscription == subscription {
			keys = append(keys, b.Key)
			listed = listed && b.More == 0
		}
		open = append(open, b.Subscription)
	}
	if len(keys) == 0 {
		return &event.NotFoundError{Thing: "open circuit breaker of", Name: subscription, Known: slices.Compact(open)}
	}
	if key != "" && listed && !slices.Contains(keys, key) {
		return &event.NotFoundError{Thing: "open circuit breaker of " + subscription + " for key", Name: key, Known: keys}
	}
	request, err := f.log.RequestBreaker(ctx, subscription, key)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(answerTime); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(answerDelay) {
		answered, err := f.log.BreakerAnswered(ctx, request, false)
		if answered || err != nil && ctx.Err() == nil {
			return err
		}
	}
	answered, err := f.log.BreakerAnswered(context.WithoutCancel(ctx), request, true)
	switch {
	case err != nil || answered:
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("process %d has not answered within %v, and the request to close the circuit breaker of %s is taken back: perhaps the process hangs",
		owner.PID, answerTime, subscription)
}
