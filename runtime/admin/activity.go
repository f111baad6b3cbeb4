package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// ErrNobodyDispatches is returned where only the process could help that dispatches
// from the file, and there is none.
var ErrNobodyDispatches = errors.New("no process dispatches from this file")

// Breaker is a circuit breaker that is open or half-open.
type Breaker struct {
	Subscription string    `json:"subscription"`         // in a group the member
	Group        string    `json:"group,omitempty"`      // the group
	State        string    `json:"state"`                // open or half-open
	Since        time.Time `json:"since"`                // when it opened; UTC
	Until        time.Time `json:"until,omitzero"`       // when an open one tries the next event; UTC
	Failures     int       `json:"failures"`             // of the deliveries, when it opened or opened again
	Deliveries   int       `json:"deliveries"`           // that counted then
	LastError    string    `json:"last_error,omitempty"` // why the last of them failed
}

// Running is a handler that has been at work for more than a second.
type Running struct {
	Subscription string    `json:"subscription"`    // in a group the member
	Group        string    `json:"group,omitempty"` // the group
	Worker       int       `json:"worker"`          // of the subscription, from 0
	Event        uuid.UUID `json:"event"`
	Type         string    `json:"type"`
	Attempt      int       `json:"attempt"`
	Started      time.Time `json:"started"`  // UTC
	Deadline     time.Time `json:"deadline"` // when its context ends, or has; UTC
	// Abandoned says that the handler has ignored its deadline and is left behind:
	// the attempt has failed, its delivery is retried or dead, and another worker
	// has taken its place.
	Abandoned bool `json:"abandoned"`
}

// Breakers returns the circuit breakers that are not closed, those first that
// have been open for the longest time. They live in the memory of the process
// that dispatches, which writes down what changes within a tenth of a second; if
// there is no such process there is none.
func (f *File) Breakers(ctx context.Context) (all []Breaker, err error) {
	err = f.use(func(a *sqlite.Admin) error {
		found, _, err := a.Activity(ctx)
		all = breakersOf(found.Breakers)
		return err
	})
	return all, err
}

// Running returns the attempts that have been running for more than a second, the
// oldest first, and the handlers that were left behind and have not returned. The
// process that dispatches writes them down every second; if there is none nothing
// runs.
func (f *File) Running(ctx context.Context) (all []Running, err error) {
	err = f.use(func(a *sqlite.Admin) error {
		found, _, err := a.Activity(ctx)
		all = runningOf(found.Attempts)
		return err
	})
	return all, err
}

func breakersOf(found []engine.Breaker) []Breaker {
	all := make([]Breaker, len(found))
	for i, b := range found {
		all[i] = Breaker(b)
	}
	return all
}

func runningOf(found []engine.Running) []Running {
	all := make([]Running, len(found))
	for i, r := range found {
		all[i] = Running(r)
	}
	return all
}

const (
	// answerTime is how long CloseBreaker waits for an answer.
	answerTime = 3 * time.Second
	// answerDelay is how often it looks for it.
	answerDelay = 20 * time.Millisecond
)

// CloseBreaker has the process that dispatches close a circuit breaker, because
// what its handler needs works again: its events are delivered at once. It
// returns when the breaker is closed. The error matches [ErrNobodyDispatches] if
// there is no such process, and is a *[NotFoundError] if the breaker is not open.
// A process that does not answer within three seconds is an error too; the request
// is then taken back. Nothing is left that could be done later.
func (f *File) CloseBreaker(ctx context.Context, subscription string) error {
	var request engine.BreakerRequest
	var pid int
	err := f.use(func(a *sqlite.Admin) error {
		activity, owner, err := a.Activity(ctx)
		if err != nil {
			return err
		}
		if pid = owner.PID; !owner.Alive {
			return fmt.Errorf("%w: a circuit breaker lives in the memory of the one that does, and is closed when it starts", ErrNobodyDispatches)
		}
		missing := &NotFoundError{Thing: "open circuit breaker of", Name: subscription}
		for _, b := range activity.Breakers {
			if b.Subscription == subscription {
				request, err = a.RequestBreaker(ctx, subscription, f.actor)
				return err
			}
			missing.Known = append(missing.Known, b.Subscription)
		}
		return missing
	})
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(answerTime); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(answerDelay) {
		answered := false
		err := f.use(func(a *sqlite.Admin) (err error) {
			answered, err = a.BreakerAnswered(ctx, request)
			return err
		})
		if answered || err != nil && ctx.Err() == nil {
			return err
		}
	}
	return f.use(func(a *sqlite.Admin) error {
		unanswered, err := a.TakeBackBreaker(context.WithoutCancel(ctx), request)
		if err != nil || !unanswered {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("process %d has not answered within %v, and the request to close the circuit breaker of %s is taken back: does the process hang?",
			pid, answerTime, subscription)
	})
}
