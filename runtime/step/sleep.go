package step

import (
	"context"
	"encoding/json"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Sleep ends the attempt and has the handler called again after d; then it returns nil. It holds no worker, no place and no
// goroutine meanwhile. Before the time it returns [ErrSuspended], which the handler returns.
//
// The time when it ends is fixed by the first call, and stored: a crash does not lengthen it, and another d in a later
// attempt does not change it. It is a time of the wall clock, as that of a delayed event. A sleep of 0 or less is over at
// once. An event that would expire before the sleep is over becomes a dead letter at once.
//
// The errors are ErrSuspended and those of [Do] but for that of its function.
func Sleep(ctx context.Context, name string, d time.Duration) error {
	return sleep(ctx, name, func() time.Time { return time.Now().Add(d) })
}

// Until is [Sleep] to a time.
func Until(ctx context.Context, name string, t time.Time) error {
	return sleep(ctx, name, func() time.Time { return t })
}

func sleep(ctx context.Context, name string, ends func() time.Time) error {
	var until time.Time
	c, err := begin(ctx, name, engine.StepSleep, &until, false, nil)
	if err != nil {
		return err
	}
	if c == nil {
		return wait(ctx, until)
	}
	c.attempt.EndStep(name, false)
	until = dispatch.WaitEnd(ends())
	result, err := json.Marshal(until)
	if err != nil { // a year of more than four digits
		return c.attempt.Doom(event.ReasonPermanent, &ResultError{Step: name, Problem: "the time cannot be stored: " + err.Error()})
	}
	_, ended := c.attempt.WatchStep(ctx, name, engine.StepSleep)
	sleeping := c.step(engine.StepSleep, result)
	sleeping.Shape = "" // it is that of every sleep, and there may be many
	err = c.attempt.StoreStep(sleeping)
	ended(err)
	if err != nil {
		return err
	}
	return wait(ctx, until)
}
