package runtimetest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/runtimetest"
)

func TestDeliverHandsOverDueEventsAndNoTimePasses(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		began := time.Now()
		var h handled
		subscribe(k, "receipts", h.handle)
		place(t, k, 1, 2, 3)
		k.Deliver()
		if got := h.numbers(); !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("handled %v", got)
		}
		if took := time.Since(began); took > time.Microsecond {
			t.Errorf("it took %v", took)
		}
	})
}

func TestDeliverGoesOnUntilHandlersPublishNothingMore(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var last handled
		k.Setup(func(bus *runtime.Bus) error {
			_, pay := runtime.Subscribe(bus, placedType, "pay", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
				_, err := runtime.Publish(ctx, bus, paidType, orderPaid(e.Payload))
				return err
			})
			_, again := runtime.Subscribe(bus, paidType, "order-again", func(ctx context.Context, e runtime.Event[orderPaid]) error {
				if e.Payload.Number == 5 {
					return nil
				}
				_, err := runtime.Publish(ctx, bus, placedType, orderPlaced{Number: e.Payload.Number + 1})
				return err
			})
			_, sub := runtime.Subscribe(bus, placedType, "watch", last.handle)
			return errors.Join(pay, again, sub)
		})
		place(t, k, 1)
		k.Deliver()
		if got := last.numbers(); !slices.Equal(got, []int{1, 2, 3, 4, 5}) {
			t.Errorf("handled %v", got)
		}
	})
}

func TestARetryWaitsForItsTimeToTheMillisecond(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var h handled
		subscribe(k, "receipts", h.handle)
		k.Break("receipts", 1, runtimetest.Fails(errBoom))
		place(t, k, 1)
		k.Deliver()
		k.Advance(999 * time.Millisecond)
		if got := h.attempts(); got != nil {
			t.Errorf("after 999ms: %v", got)
		}
		k.Advance(time.Millisecond)
		if got := h.attempts(); !slices.Equal(got, []int{2}) {
			t.Errorf("after a second: %v", got)
		}
	})
}

func TestAnEventWithADelayWaitsForItsTime(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var h handled
		subscribe(k, "receipts", h.handle)
		if _, err := runtime.Publish(t.Context(), k.Bus, placedType, orderPlaced{Number: 1}, runtime.WithDelay(time.Hour)); err != nil {
			t.Fatal(err)
		}
		k.Advance(time.Hour - time.Second)
		if got := h.numbers(); got != nil {
			t.Errorf("handled %v too early", got)
		}
		k.Advance(time.Second)
		if got := h.numbers(); !slices.Equal(got, []int{1}) {
			t.Errorf("handled %v", got)
		}
	})
}

func TestDrainGoesThroughAllRetriesInVirtualTime(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		began := time.Now()
		var h handled
		subscribe(k, "receipts", h.handle)
		k.Break("receipts", 3, runtimetest.Fails(errBoom))
		place(t, k, 1, 2)
		k.Drain()
		if took := time.Since(began).Round(100 * time.Millisecond); took != 3*time.Second {
			t.Errorf("it took %v, want 1s and 2s", took)
		}
		if got := k.AllDeadLetters(); len(got) != 0 || !slices.Equal(h.numbers(), []int{2, 1}) && !slices.Equal(h.numbers(), []int{1, 2}) {
			t.Errorf("handled %v, dead %v", h.numbers(), got)
		}
	})
}

func TestDrainGivesUpAfterADayAndSaysWhatIsLeft(t *testing.T) {
	short.Visit(t, "it lives many lives")
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		failed := try(t, func(t testing.TB) {
			k := runtimetest.New(t, catalogue)
			var h handled
			subscribe(k, "receipts", func(context.Context, runtime.Event[orderPlaced]) error { return runtime.Snooze(6 * time.Hour) })
			subscribe(k, "audit", h.handle)
			subscribe(k, "idle", h.handle)
			if err := k.Bus.PauseSubscription(t.Context(), "audit", ""); err != nil {
				t.Fatalf("pause: %v", err)
			}
			place(t, k, 1, 2)
			k.Drain()
		})
		failedWith(t, failed, "not idle after 24h0m0s:\nsubscription receipts has 2 left, 2 waiting for a retry, a delay or a snooze\n"+
			"subscription audit has 2 left; it is paused")
		if took := time.Since(began); took < 24*time.Hour || took > 25*time.Hour {
			t.Errorf("it took %v", took)
		}
		if strings.Contains(failed.failures[0], "idle has") {
			t.Error("it names a subscription that has nothing left")
		}
	})
}

func TestOutsideOfABubbleDrainReallyWaits(t *testing.T) {
	k := runtimetest.New(t, catalogue)
	var h handled
	subscribe(k, "receipts", h.handle)
	k.Break("receipts", 1, runtimetest.Fails(runtime.RetryAfter(time.Millisecond, errBoom)))
	place(t, k, 1)
	k.Drain()
	if got := h.attempts(); !slices.Equal(got, []int{2}) {
		t.Errorf("attempts %v", got)
	}
}

func TestMethodsThatNeedVirtualTimeSaySoOutsideOfABubble(t *testing.T) {
	failedWith(t, try(t, func(t testing.TB) { runtimetest.New(t, catalogue).Deliver() }), "Deliver needs virtual time: use runtimetest.Run")
	failedWith(t, try(t, func(t testing.TB) { runtimetest.New(t, catalogue).Advance(1) }), "Advance needs virtual time")
}

func TestPublishFindsTheTypeOfAPayload(t *testing.T) {
	k := runtimetest.New(t, catalogue)
	receipts := k.Publish(orderPlaced{Number: 1}, orderPaid{Number: 1}, orderPlaced{Number: 2})
	placed, paid := runtimetest.Published[orderPlaced](k), runtimetest.Published[orderPaid](k)
	if !slices.Equal(numbersOf(placed), []int{1, 2}) || len(paid) != 1 || len(receipts) != 3 || receipts[1].ID != paid[0].ID {
		t.Errorf("published %v and %v, receipts %v", placed, paid, receipts)
	}
}

func TestPublishRefusesWhatCannotBePublished(t *testing.T) {
	for payload, want := range map[runtime.Payload]string{
		orderPlaced{Number: -1}: "publish: the payload is not a valid order.placed: the number is negative",
		foreign{}:               "no event of the catalogue has a runtimetest_test.foreign for its payload",
	} {
		failedWith(t, try(t, func(t testing.TB) { runtimetest.New(t, catalogue).Publish(payload) }), want)
	}
}

func TestAHandlerThatDoesNotEndFailsTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := try(t, func(t testing.TB) {
			k := runtimetest.New(t, catalogue)
			k.Setup(func(bus *runtime.Bus) error {
				_, err := runtime.Subscribe(bus, placedType, "receipts", func(ctx context.Context, _ runtime.Event[orderPlaced]) error {
					<-ctx.Done()
					return nil
				}, runtime.WithTimeout(time.Hour))
				return err
			})
			place(t, k, 1)
			k.Deliver()
		})
		failedWith(t, failed, `shut down at the end of the test: subscription "receipts": a running handler was interrupted`)
	})
}

func TestAHandlerThatIgnoresItsContextFailsTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		failed := try(t, func(t testing.TB) {
			k := runtimetest.New(t, catalogue)
			subscribe(k, "receipts", func(_ context.Context, e runtime.Event[orderPlaced]) error {
				if e.Attempt == 1 {
					<-end
				}
				return nil
			})
			place(t, k, 1)
			k.Drain()
		})
		close(end)
		failedWith(t, failed, "1 handlers ignore the end of their context and are still running")
	})
}

func TestKitsDoNotSeeEachOther(t *testing.T) {
	for _, name := range []string{"one", "two", "three"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, func(t *testing.T, k *runtimetest.Kit) {
				other := runtimetest.New(t, catalogue)
				var h handled
				subscribe(k, "receipts", h.handle)
				place(t, other, 7)
				place(t, k, 1)
				k.Deliver()
				if got := numbersOf(runtimetest.Published[orderPlaced](k)); !slices.Equal(got, []int{1}) || !slices.Equal(h.numbers(), got) {
					t.Errorf("published %v, handled %v", got, h.numbers())
				}
			})
		})
	}
}

func TestTheFileIsFoundByItsPath(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var h handled
		subscribe(k, "receipts", h.handle)
		k.Break("receipts", 1, runtimetest.Fails(runtime.Permanent(errBoom)))
		place(t, k, 1)
		k.Deliver()

		inspector, err := inspect.Open(t.Context(), k.Path())
		if err != nil {
			t.Fatal(err)
		}
		defer inspector.Close()
		if counts, err := inspector.Retry(t.Context(), inspect.Selection{}); err != nil || counts.Moved != 1 {
			t.Errorf("retried %+v, %v", counts, err)
		}
		k.Drain()
		if got := h.numbers(); !slices.Equal(got, []int{1}) {
			t.Errorf("handled %v after the retry", got)
		}

		file, err := inspect.Open(t.Context(), k.Path())
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if status, err := file.Status(t.Context()); err != nil || status.Path != k.Path() {
			t.Errorf("%+v, %v", status, err)
		}
		mine, err := runtime.Open(t.Context(), k.Path(), catalogue)
		if err != nil {
			t.Fatal(err)
		}
		defer mine.Shutdown(t.Context())
		if _, err := runtime.Publish(t.Context(), mine, placedType, orderPlaced{Number: 2}); err != nil {
			t.Fatal(err)
		}
		if got := numbersOf(runtimetest.Published[orderPlaced](k)); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("published %v", got)
		}
	})
}

func TestTheBusLogsToItsTestWithVirtualTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := try(t, func(t testing.TB) {
			k := runtimetest.New(t, catalogue)
			var h handled
			subscribe(k, "receipts", h.handle)
			k.Break("receipts", 2, runtimetest.Fails(errBoom))
			place(t, k, 1)
			k.Drain()
		})
		if out := fake.output.String(); !strings.Contains(out, "after=1") || !strings.Contains(out, "boom") || fake.failures != nil {
			t.Errorf("%v\n%s", fake.failures, out)
		}
	})
}

func TestAKitThatIsMadeWhileAnotherGoroutineWaitsIsInTheBubbleAllTheSame(t *testing.T) {
	short.Visit(t, "it lives many lives")
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			waiting := make(chan struct{})
			go func() {
				defer func() { recover() }() // the kit may be first, and only one can wait
				close(waiting)
				synctest.Wait()
			}()
			<-waiting
			k := runtimetest.New(t, catalogue)
			time.Sleep(time.Nanosecond) // it waits no longer
			k.Deliver()
		}
	})
}
