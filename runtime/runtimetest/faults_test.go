package runtimetest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/runtimetest"
)

func TestADiskThatFailsIsReportedToPublishersAndHealed(t *testing.T) {
	for _, test := range []struct {
		name string
		fail func(d *runtimetest.Disk)
		want event.Fault
	}{
		{"full", (*runtimetest.Disk).Fill, event.DiskFull},
		{"read-only", (*runtimetest.Disk).Protect, event.ReadOnly},
		{"broken", (*runtimetest.Disk).Ruin, event.IO},
		{"locked", (*runtimetest.Disk).Lock, event.Busy},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(t *testing.T, k *runtimetest.Kit) {
				var h handled
				subscribe(k, "receipts", h.handle)
				k.Start()
				place(t, k, 1)
				test.fail(k.Disk)
				_, err := runtime.Publish(t.Context(), k.Bus, placedType, orderPlaced{Number: 2})
				storage, ok := errors.AsType[*event.StorageError](err)
				if !ok || storage.Fault != test.want {
					t.Errorf("publishing returned %v, want the fault %s", err, test.want)
				}
				k.Disk.Heal()
				place(t, k, 3)
				k.Drain()
				if got := h.numbers(); !slices.Equal(got, []int{1, 3}) {
					t.Errorf("handled %v", got)
				}
				if got := numbersOf(runtimetest.Published[orderPlaced](k)); !slices.Equal(got, []int{1, 3}) {
					t.Errorf("published %v", got)
				}
			})
		})
	}
}

func TestAnEventHandledOnAFullDiskIsNotHandledAgain(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var h handled
		subscribe(k, "receipts", h.handle)
		k.Start()
		place(t, k, 1, 2)
		k.Disk.Fill()
		k.Advance(time.Minute)
		k.Disk.Heal()
		k.Drain()
		k.Restart()
		k.Drain()
		if got := h.numbers(); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("handled %v", got)
		}
	})
}

func TestAFullDiskFailsWhatAHandlerPublishes(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		k.Setup(func(bus *runtime.Bus) error {
			_, err := runtime.Subscribe(bus, placedType, "pay", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
				time.Sleep(time.Millisecond) // until the disk is full
				_, err := runtime.Publish(ctx, bus, paidType, orderPaid(e.Payload))
				return err
			})
			return err
		})
		k.Start()
		place(t, k, 1)
		k.Disk.Fill()
		k.Advance(time.Second)
		if got := runtimetest.Published[orderPaid](k); len(got) != 0 {
			t.Errorf("published %v on a full disk", got)
		}
		k.Disk.Heal()
		k.Drain()
		if got := runtimetest.Published[orderPaid](k); len(got) != 1 {
			t.Errorf("published %v", got)
		}
	})
}

func TestAProgramCanDieAtEveryChangeOfTheDisk(t *testing.T) {
	for n, cut := 1, true; cut; n++ {
		if n > 1000 {
			t.Fatal("there is no end to it")
		}
		run(t, func(t *testing.T, k *runtimetest.Kit) {
			var h handled
			subscribe(k, "receipts", h.handle)
			k.Start()
			k.Disk.CutAfter(n)
			var stored []int
			for number := range 3 {
				if _, err := runtime.Publish(t.Context(), k.Bus, placedType, orderPlaced{Number: number}); err == nil {
					stored = append(stored, number)
				}
				if !k.Disk.IsCut() {
					k.Deliver()
				}
			}
			cut = k.Disk.IsCut()
			if !cut && (len(stored) < 3 || n < 10) {
				t.Errorf("change %d: %v are stored, and the power was not cut", n, stored)
			}
			k.PowerCut(uint64(n))
			k.Drain()
			left, got := numbersOf(runtimetest.Published[orderPlaced](k)), h.numbers()
			for _, number := range stored {
				if !slices.Contains(left, number) || !slices.Contains(got, number) {
					t.Errorf("change %d: order %d was acknowledged; %v are left and %v handled", n, number, left, got)
				}
			}
		})
	}
	failedWith(t, try(t, func(t testing.TB) { runtimetest.New(t, catalogue).Disk.CutAfter(0) }), "there is no change number 0")
}

func TestASlowDiskTakesItsTime(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		k.Disk.Slow(2 * time.Second)
		began := time.Now()
		place(t, k, 1)
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("publishing took %v", took)
		}
		k.Disk.Heal()
		began = time.Now()
		place(t, k, 2)
		if took := time.Since(began); took != 0 {
			t.Errorf("publishing took %v once the disk was healed", took)
		}
	})
}

func TestALockIsHeldUntilItIsHealed(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		k.Disk.Lock()
		began := time.Now()
		time.AfterFunc(time.Second, k.Disk.Heal)
		place(t, k, 1)
		if took := time.Since(began); took < time.Second || took > 2*time.Second {
			t.Errorf("publishing took %v", took)
		}
	})
}

func TestAFaultOfTheDiskDoesNotOutliveACrash(t *testing.T) {
	for name, fail := range map[string]func(*runtimetest.Disk){"full": (*runtimetest.Disk).Fill, "locked": (*runtimetest.Disk).Lock} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, k *runtimetest.Kit) {
				place(t, k, 1)
				fail(k.Disk)
				k.Crash()
				place(t, k, 2)
				if got := numbersOf(runtimetest.Published[orderPlaced](k)); !slices.Equal(got, []int{1, 2}) {
					t.Errorf("published %v", got)
				}
			})
		})
	}
}

func TestBrokenDeliveries(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault runtimetest.Fault
		kind  string
		err   string
		calls int // of the handler
	}{
		{"fail", runtimetest.Fails(errBoom), "error", "boom", 0},
		{"fail after the handler", runtimetest.FailsAfter(errBoom), "error", "boom", 3},
		{"panic", runtimetest.Panics("oops"), "panic", "panic: oops", 0},
		{"hang", runtimetest.Hangs(), "timeout", "the handler did not finish within 30s", 0},
		{"are the test's own", func(context.Context, func() error) error { return runtime.RetryAfter(time.Second, errBoom) }, "error", "boom", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(t *testing.T, k *runtimetest.Kit) {
				var h handled
				subscribe(k, "receipts", h.handle)
				k.Break("receipts", runtimetest.Always, test.fault)
				place(t, k, 1)
				k.Drain()
				letters := runtimetest.DeadLetters[orderPlaced](k)
				if len(letters) != 1 || letters[0].Kind != test.kind || letters[0].LastError != test.err || letters[0].Reason != "max_attempts" {
					t.Errorf("dead letters %+v", letters)
				}
				if got := len(h.numbers()); got != test.calls {
					t.Errorf("the handler was called %d times, want %d", got, test.calls)
				}
			})
		})
	}
}

func TestFaultsComeOneAfterTheOtherAndForTheirSubscriptionOnly(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var receipts, others handled
		subscribe(k, "receipts", receipts.handle)
		subscribe(k, "others", others.handle)
		k.Break("receipts", 1, runtimetest.Fails(errBoom))
		k.Break("receipts", 1, runtimetest.Panics("oops"))
		place(t, k, 1)
		k.Drain()
		if r, o := receipts.attempts(), others.attempts(); !slices.Equal(r, []int{3}) || !slices.Equal(o, []int{1}) {
			t.Errorf("attempts of receipts %v, of others %v", r, o)
		}
	})
}

func TestASuccessThatIsLostTakesWhatWasPublishedWithIt(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		k.Setup(func(bus *runtime.Bus) error {
			_, err := runtime.Subscribe(bus, placedType, "pay", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
				_, err := runtime.Publish(ctx, bus, paidType, orderPaid(e.Payload))
				return err
			})
			return err
		})
		k.Break("pay", 2, runtimetest.FailsAfter(errBoom))
		place(t, k, 1)
		k.Drain()
		if got := runtimetest.Published[orderPaid](k); len(got) != 1 {
			t.Errorf("published %v", got)
		}
	})
}

func TestRepairEndsABreakage(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var h handled
		subscribe(k, "receipts", h.handle)
		k.Break("receipts", 100, runtimetest.Fails(errBoom))
		place(t, k, 1)
		k.Deliver()
		k.Repair("receipts")
		k.Drain()
		if got := h.attempts(); !slices.Equal(got, []int{2}) {
			t.Errorf("attempts %v", got)
		}
	})
}

func TestABreakageThatNothingHasUsedFailsTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := try(t, func(t testing.TB) {
			k := runtimetest.New(t, catalogue)
			var h handled
			subscribe(k, "receipts", h.handle)
			k.Break("receipts", 2, runtimetest.Fails(errBoom))
			k.Break("reciepts", 1, runtimetest.Fails(errBoom))
			k.Break("others", runtimetest.Always, runtimetest.Fails(errBoom))
			place(t, k, 1)
			k.Drain()
		})
		failedWith(t, failed, "subscription reciepts should have failed 1 more times")
	})
	failedWith(t, try(t, func(t testing.TB) { runtimetest.New(t, catalogue).Break("receipts", 0, runtimetest.Hangs()) }), "the number of deliveries is 0")
}

func TestAHandlerThatHangsByAFaultIsLetGoAtTheEnd(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var h handled
		subscribe(k, "receipts", h.handle)
		k.Break("receipts", 1, runtimetest.Hangs())
		place(t, k, 1)
		k.Deliver()
	})
}
