package runtimetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/runtimetest"
)

func TestAttemptsHaveTheTimeAndTheOutcomeOfEachCall(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		began := time.Now()
		subscribe(k, "receipts", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			time.Sleep(10 * time.Millisecond)
			switch {
			case e.Payload.Number == 1 && e.Attempt == 1:
				return errors.New("no paper")
			case e.Payload.Number == 1 && e.Attempt == 2:
				panic("no ink")
			case e.Payload.Number == 2:
				return runtime.Discard("too old")
			case e.Payload.Number == 3 && time.Since(began) < time.Minute:
				return runtime.Snooze(time.Minute)
			}
			return nil
		})
		var h handled
		subscribe(k, "others", h.handle)
		for n := range 3 {
			place(t, k, n+1)
			k.Drain()
			k.Restart()
		}
		var got []string
		var last time.Time
		for _, a := range k.Attempts("receipts") {
			if !last.IsZero() {
				got = append(got, fmt.Sprint("after ", a.Started.Sub(last).Round(time.Second)))
			}
			last = a.Started
			got = append(got, fmt.Sprint(a.Type, " ", a.Attempt, " ", a.Took, " ", a.Result, " ", a.Kind, " ", a.Error))
		}
		want := []string{
			"order.placed 1 10ms failed error no paper", "after 1s",
			"order.placed 2 10ms failed panic panic: no ink", "after 2s",
			"order.placed 3 10ms handled  ", "after 0s",
			"order.placed 1 10ms discarded  too old", "after 0s",
			"order.placed 1 10ms snoozed  ", "after 1m0s",
			"order.placed 2 10ms handled  ",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%q\nwant\n%q", got, want)
		}
		if others := k.Attempts("others"); len(others) != 3 || k.Attempts("nobody") != nil {
			t.Errorf("others: %+v", others)
		}
	})
}

func TestAnObserverOfTheTestIsCalledToo(t *testing.T) {
	var told []string
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var h handled
		subscribe(k, "receipts", h.handle)
		place(t, k, 1)
		k.Deliver()
		if len(told) != 1 || len(k.Attempts("receipts")) != 1 {
			t.Errorf("told %v", told)
		}
	}, runtime.WithObserver(observe.Observer{Handled: func(i observe.HandledInfo) { told = append(told, i.Subscription) }}))
}
