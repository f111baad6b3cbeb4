package breaker_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
)

// A mail server goes down and comes back. The example keeps its own time;
// programs pass time.Now().
func Example() {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := noon
	down := errors.New("connection refused")

	b := breaker.New(breaker.Default().With(breaker.OpenFor(10 * time.Second)))
	b.Notify(func(old, new breaker.Status) {
		fmt.Printf("%v: %v → %v, %d of %d failed\n", now.Sub(noon), old.State, new.State, new.Failures, new.Samples)
	})
	mails := int64(0)
	send := func(err error) {
		mails++
		permit, ok := b.Acquire(now, mails)
		if !ok {
			fmt.Printf("%v: not tried, the next probe is in %v\n", now.Sub(noon), b.Status(now).Until.Sub(now))
			return
		}
		if err != nil {
			permit.Failure(now, err.Error())
			return
		}
		permit.Success(now)
	}

	for _, outcome := range []error{nil, down, down, down, down} {
		send(outcome)
		now = now.Add(time.Second)
	}
	now = noon.Add(13 * time.Second)
	send(nil) // the probe
	send(nil)

	// Output:
	// 3s: closed → open, 3 of 4 failed
	// 4s: not tried, the next probe is in 9s
	// 13s: open → half-open, 3 of 4 failed
	// 13s: half-open → closed, 0 of 0 failed
}
