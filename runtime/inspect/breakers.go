package inspect

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Breaker is a circuit breaker that is open or half-open.
//
//	type Breaker struct {
//		Subscription string    // in a group the member
//		Group        string    // empty outside of groups
//		State        string    // open or half-open
//		Since        time.Time // when it opened; UTC
//		Until        time.Time // when an open one tries the next event; UTC, zero for a half-open one
//		Failures     int       // of the deliveries, when it opened or opened again
//		Deliveries   int       // that counted then
//		LastError    string    // why the last of them failed
//	}
type Breaker = engine.Breaker

// Running is a handler that has been running for more than a second.
//
//	type Running struct {
//		Subscription string // in a group the member
//		Group        string // empty outside of groups
//		Worker       int    // of the subscription, from 0
//		Event        uuid.UUID
//		Type         string
//		Attempt      int
//		Started      time.Time // UTC
//		Deadline     time.Time // when its context ends or ended; UTC. Zero without a timeout
//		// Abandoned says that the handler has ignored its deadline: the attempt has
//		// failed, its delivery is retried or dead, and another worker has replaced its
//		// worker.
//		Abandoned bool
//	}
type Running = engine.Running

// Breakers returns the circuit breakers that are not closed, the one that opened first
// first. They live in the memory of the process that dispatches, which writes what
// changes within a tenth of a second; if no process dispatches there is none.
func (f *File) Breakers(ctx context.Context) ([]Breaker, error) {
	activity, _, err := f.log.Activity(ctx)
	return activity.Breakers, err
}

// Running returns the attempts that have been running for more than a second, the
// oldest first, and the handlers that were abandoned and have not returned. The process
// that dispatches writes them every second; if no process dispatches there is none.
func (f *File) Running(ctx context.Context) ([]Running, error) {
	activity, _, err := f.log.Activity(ctx)
	return activity.Attempts, err
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
// and is a *[NotFoundError] if the breaker is not open. A process that does not answer
// within three seconds is an error too; the request is then taken back. Nothing is left
// that could be done later.
func (f *File) CloseBreaker(ctx context.Context, subscription string) error {
	activity, owner, err := f.log.Activity(ctx)
	if err != nil {
		return err
	}
	if !owner.Alive {
		return fmt.Errorf("%w: circuit breakers live in the memory of the process that dispatches, and are closed when it starts", ErrNobodyDispatches)
	}
	var open []string
	for _, b := range activity.Breakers {
		open = append(open, b.Subscription)
	}
	if !slices.Contains(open, subscription) {
		return &NotFoundError{Thing: "open circuit breaker of", Name: subscription, Known: open}
	}
	request, err := f.log.RequestBreaker(ctx, subscription)
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
