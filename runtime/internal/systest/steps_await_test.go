package systest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/step"
)

// Whatever ends a wait, nothing of it is left in the file.
func TestWhatEndsAWaitForgetsIt(t *testing.T) {
	for name, end := range map[string]func(f *Fixture, receipt *runtime.Receipt){
		"its event":    func(f *Fixture, _ *runtime.Receipt) { PublishScanned(f.T, f.Bus, "1") },
		"its time":     func(*Fixture, *runtime.Receipt) { time.Sleep(time.Hour) },
		"a cancel":     func(f *Fixture, receipt *runtime.Receipt) { Must(f.T, receipt.Cancel(f.T.Context())) },
		"its expiry":   func(*Fixture, *runtime.Receipt) { time.Sleep(20 * time.Minute) },
		"its removal":  func(f *Fixture, _ *runtime.Receipt) { Must(f.T, f.Remove(f.T.Context(), "fulfil")) },
		"another step": func(f *Fixture, _ *runtime.Receipt) { PublishScanned(f.T, f.Bus, "2") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var opts []runtime.SubscribeOption
				if name == "its expiry" {
					opts = append(opts, runtime.WithExpiresAfter(20*time.Minute))
				}
				f := SQLite.ReopenWith(t, SQLite.Target(t), Parcels)
				f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
					if name == "another step" {
						if _, err := step.Await(ctx, "before", ScannedType, "2", time.Hour); err != nil {
							return err
						}
						return step.Sleep(ctx, "nap", time.Hour)
					}
					_, err := step.Await(ctx, "parcel", ScannedType, "1", time.Hour)
					if errors.Is(err, step.ErrNoEvent) {
						return nil
					}
					return err
				}, opts...)
				f.MustStart()
				receipt := f.Publish(1)[0]
				time.Sleep(time.Minute)
				if waits := queryFile(t, f.Path, "SELECT count(*) || ' ' || max(key) FROM busgen_waits"); waits != "1 1" && waits != "1 2" {
					t.Fatalf("the file has these waits: %s", waits)
				}
				end(f, receipt)
				time.Sleep(time.Second)
				if waits := queryFile(t, f.Path, "SELECT count(*) FROM busgen_waits"); waits != "0" {
					t.Errorf("%s waits are left", waits)
				}
				f.Stop()
				wantSound(t, f.Path)
			})
		})
	}
}

// A retry is no wait: an event that a former wait was for does not cut it short.
func TestAnEventDoesNotHastenARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.ReopenWith(t, SQLite.Target(t), Parcels)
		var failed time.Time
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if !failed.IsZero() {
				if waited := time.Since(failed); waited < 10*time.Minute {
					t.Errorf("it is tried again after %v", waited)
				}
				return nil
			}
			if _, err := step.Await(ctx, "parcel", ScannedType, "1", time.Minute); errors.Is(err, step.ErrSuspended) {
				return err
			}
			failed = time.Now()
			return runtime.RetryAfter(10*time.Minute, ErrBoom)
		})
		f.MustStart()
		f.Publish(1)
		time.Sleep(2 * time.Minute)
		PublishScanned(t, f.Bus, "1")
		f.Idle()
	})
}

// The event that a step has got is kept as long as the steps, and an event that a handler may ask for as long as that is open.
func TestAnAwaitedEventIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.ReopenWith(t, SQLite.Target(t), Parcels, runtime.WithRetention(time.Minute))
		calls := 0
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			calls++
			for _, wait := range []struct {
				key   string
				sleep time.Duration
			}{{"1", 3 * time.Hour}, {"2", time.Hour}} {
				if _, err := step.Await(ctx, "parcel "+wait.key, ScannedType, wait.key, time.Minute); err != nil {
					return err
				}
				if err := step.Sleep(ctx, "after "+wait.key, wait.sleep); err != nil {
					return err
				}
			}
			return nil
		})
		f.MustStart()
		receipt := f.Publish(1)[0]
		time.Sleep(time.Second)
		for _, key := range []string{"1", "2", "3"} {
			PublishScanned(t, f.Bus, key)
		}
		outcome, err := receipt.Wait(t.Context())
		Must(t, err)
		if err := outcome.Err(); err != nil || calls < 3 {
			t.Errorf("after %d calls: %v", calls, err)
		}
		PublishScanned(t, f.Bus, "the newest event is never pruned")
		time.Sleep(20 * time.Minute)
		if left := queryFile(t, f.Path, "SELECT (SELECT count(*) FROM busgen_log) || ' ' || (SELECT count(*) FROM busgen_steps)"); left != "1 0" {
			t.Errorf("when all is over, so many events and steps are left: %s", left)
		}
		f.Stop()
		wantSound(t, f.Path)
	})
}

// An event wakes whoever waits for it, also if the clock was set between two processes.
func TestAnEventWakesWhateverTheWallClockSays(t *testing.T) {
	for name, by := range map[string]time.Duration{"forward": 2 * time.Hour, "back": -2 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := SQLite.ReopenWith(t, SQLite.Target(t), Parcels)
				var got Journal[string]
				handle := func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
					p, err := step.Await(ctx, "parcel", ScannedType, fmt.Sprint(e.Payload.Number), time.Hour)
					if errors.Is(err, step.ErrNoEvent) {
						got.Add(fmt.Sprint(e.Payload.Number, " none"))
						return nil
					}
					if err == nil {
						got.Add(p.Payload.OrderID)
					}
					return err
				}
				f.Handle("fulfil", handle)
				f.MustStart()
				f.Publish(1, 2)
				time.Sleep(time.Minute)
				target := f.Path
				f.Stop()
				SQLite.Earlier(t, target, by)
				f = SQLite.ReopenWith(t, target, Parcels)
				f.Handle("fulfil", handle)
				PublishScanned(t, f.Bus, "1")
				f.MustStart()
				time.Sleep(10 * time.Second)
				PublishScanned(t, f.Bus, "2") // its row was due, and its wait is not over
				time.Sleep(time.Second)
				if all := slices.Sorted(slices.Values(got.All())); !slices.Equal(all, []string{"1", "2"}) {
					t.Errorf("got %q", all)
				}
			})
		})
	}
}
