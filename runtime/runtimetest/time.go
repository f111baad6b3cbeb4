package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/testhook"
)

// inBubble tells whether this goroutine's time is virtual.
func inBubble() (virtual bool) {
	defer func() {
		if cause := recover(); cause != nil {
			virtual = fmt.Sprint(cause) == "wait already in progress" // in the bubble, by another goroutine
		}
	}()
	synctest.Wait()
	return true
}

// needsBubble ends a test whose time is real.
func (k *Kit) needsBubble(method string) {
	k.t.Helper()
	if !k.virtual {
		k.t.Fatalf("runtimetest: %s needs virtual time: use runtimetest.Run, or make the kit inside of synctest.Test", method)
	}
}

// Deliver starts the bus if need be and delivers everything that is due now,
// events that handlers publish included, until the results are in the file. No time
// passes: what waits for a retry, a delay or a breaker goes on waiting, and a
// handler that sleeps goes on sleeping. It needs a bubble ([Run]).
func (k *Kit) Deliver() {
	k.t.Helper()
	k.needsBubble("Deliver")
	k.Start()
	for {
		before := k.calls.Load()
		synctest.Wait()
		// Successes would wait in memory for a few milliseconds. On a disk that fails they go on waiting.
		testhook.Flush(k.Bus)
		synctest.Wait()
		if !k.crashIfDue() && k.calls.Load() == before {
			return
		}
	}
}

// Advance moves the clock forward by d and delivers everything that is due by then,
// each at its time. It needs a bubble ([Run]).
func (k *Kit) Advance(d time.Duration) {
	k.t.Helper()
	k.needsBubble("Advance")
	k.Start()
	for end := time.After(d); ; k.crashIfDue() {
		select {
		case <-end:
			k.Deliver()
			return
		case <-k.crashes.wait():
		}
	}
}

const (
	virtualLimit = 24 * time.Hour
	realLimit    = 10 * time.Second
)

// Drain starts the bus if need be and waits until it is idle: until everything
// is handled, or a dead letter after its last retry. In a bubble the clock jumps
// over the waits, so that hours take a moment; outside of one it really waits.
// Handlers of ephemeral subscriptions run in a bubble, but their retries are not
// waited for.
// The test ends if the bus is not idle after a day of virtual time, or 10 seconds
// of real time.
func (k *Kit) Drain() {
	k.t.Helper()
	k.Start()
	limit := realLimit
	if k.virtual {
		limit = virtualLimit
	}
	ctx, cancel := context.WithTimeout(k.t.Context(), limit)
	defer cancel()
	for {
		before := k.calls.Load()
		waiting, stop := k.untilCrash(ctx)
		err := k.Bus.WaitIdle(waiting)
		stop()
		if k.crashIfDue() {
			continue
		}
		if errors.Is(err, context.DeadlineExceeded) {
			k.t.Fatalf("runtimetest: the bus is not idle after %v:\n%s", limit, k.left())
		}
		k.must("Drain", err)
		if k.virtual {
			inBubble() // waits for ephemeral handlers, which are no part of being idle
		}
		if k.calls.Load() == before {
			return
		}
	}
}

// left says which subscriptions have something to do.
func (k *Kit) left() string {
	lags, err := k.Bus.Lag(context.Background())
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, l := range lags {
		if l.Here && l.Backlog > 0 {
			lines = append(lines, leftOf(l))
		}
	}
	return strings.Join(lines, "\n")
}

func leftOf(l event.Lag) string {
	line := fmt.Sprintf("subscription %s has %d left", l.Subscription, l.Backlog)
	for _, part := range []struct {
		n    int
		what string
	}{{l.Running, "running"}, {l.Waiting, "waiting for a retry, a delay or a snooze"}, {l.Held, "held because their type is paused, or their version newer than the program"}} {
		if part.n > 0 {
			line += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	if l.Paused {
		line += "; it is paused"
	}
	return line
}

// Fire publishes the event of a schedule of the catalogue, as the bus does when its time
// has come, and returns the receipt. The time of the schedule (Event.ScheduledFor) is the
// present one. It does not matter whether schedules are on ([WithSchedules]), and their
// times are not moved by it.
func (k *Kit) Fire(schedule string) *runtime.Receipt {
	k.t.Helper()
	receipt, err := testhook.Fire(k.t.Context(), k.Bus, schedule)
	k.must("fire", err)
	return receipt.(*runtime.Receipt)
}

// WithSchedules makes the bus of a kit publish the events of the catalogue's schedules
// when their times come. Without this option it publishes none, because hours pass in a
// moment in a test, and the events would surprise it.
func WithSchedules() runtime.Option { return testhook.WithSchedules().(runtime.Option) }
