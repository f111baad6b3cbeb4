package runtime_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/admin"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/retry"
)

// The types of fixture_test.go have no breaker; this one has the default.
var (
	fragileType = runtime.Define(runtime.Spec[orderPlaced]{
		Name: "fragile.placed",
		Settings: func() runtime.Settings {
			s := runtime.DefaultSettings()
			s.Retry = exact(retry.WithBackoff(retry.None), retry.MaxAttempts(1000))
			return s
		}(),
	})
	fragile = runtime.NewCatalogue(fragileType)
)

func openFragile(t *testing.T, opts ...runtime.Option) *fixture {
	t.Helper()
	return reopenWith(t, t.TempDir()+"/events.db", fragile, opts...)
}

func (f *fixture) fragile(from, to int) {
	f.t.Helper()
	for _, n := range numbers(from, to) {
		_, err := runtime.Publish(f.t.Context(), f.Bus, fragileType, orderPlaced{OrderID: "A", Number: n})
		must(f.t, err)
	}
}

func TestTheBreakerOpensWhenMoreThanHalfOfFourFail(t *testing.T) {
	for name, test := range map[string]struct {
		outcomes string // of executions one second apart: F or S
		pause    time.Duration
		opens    bool
	}{
		"F F S S stays closed":             {"FFSS", time.Second, false},
		"F F F stays closed":               {"FFF", time.Second, false},
		"F S F F opens":                    {"FSFF", time.Second, true},
		"F F F F opens":                    {"FFFF", time.Second, true},
		"failures of a minute ago are old": {"FFFSSSFFF", 20 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := openFragile(t)
				var calls atomic.Int32
				s, err := runtime.Subscribe(f.Bus, fragileType, "fragile", func(context.Context, runtime.Event[orderPlaced]) error {
					call := int(calls.Add(1))
					if call <= len(test.outcomes) && test.outcomes[call-1] == 'F' {
						return runtime.Permanent(errBoom)
					}
					return nil
				})
				must(t, err)
				f.start()
				for n := range test.outcomes {
					time.Sleep(test.pause)
					f.fragile(n, n)
					synctest.Wait()
				}
				f.fragile(100, 100) // waits if the breaker is open
				time.Sleep(time.Second)
				if got := int(calls.Load()) == len(test.outcomes); got != test.opens {
					t.Errorf("after %s the next event waits: %v, want %v (%s)", test.outcomes, got, test.opens, s.Name())
				}
			})
		})
	}
}

func TestEventsThatArePublishedWhileTheBreakerIsOpenAreNotCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := openFragile(t)
		var broken atomic.Bool
		broken.Store(true)
		var ran journal[execution]
		_, err := runtime.Subscribe(f.Bus, fragileType, "fragile", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			if broken.Load() {
				return runtime.Permanent(errBoom)
			}
			ran.add(execution{e.Attempt, time.Since(e.PublishedAt)})
			return nil
		}, runtime.WithConcurrency(8))
		must(t, err)
		f.start()
		f.fragile(1, 4)
		synctest.Wait() // four of four have failed
		broken.Store(false)
		f.fragile(1, 200)
		time.Sleep(29 * time.Second)
		if got := ran.all(); len(got) > 0 {
			t.Fatalf("%d events were handled while the breaker was open", len(got))
		}
		for _, d := range f.peek().deliveries() {
			if d.State != admin.StateDead && d.State != admin.StatePending {
				t.Errorf("a delivery that waits for the breaker is %s in the file", d.State)
			}
		}
		f.idle()
		got := ran.all()
		if len(got) != 200 || slices.ContainsFunc(got, func(e execution) bool { return e.attempt != 1 }) {
			t.Errorf("%d events were handled after it has closed, want 200, all with attempt 1", len(got))
		}
		opened, closed := 0, 0
		for _, line := range append(f.log.level(t, "WARN"), f.log.level(t, "INFO")...) {
			switch line["msg"] {
			case "circuit breaker opens: the handler fails too often; its events wait":
				opened++
			case "circuit breaker is closed again":
				closed++
			}
		}
		if opened != 1 || closed != 1 {
			t.Errorf("the log says %d times that it opened and %d times that it closed", opened, closed)
		}
	})
}

// Every way in which the one probe of a half-open breaker can end.
func TestAProbeNeverLeavesTheSubscriptionStuck(t *testing.T) {
	type probe struct {
		do    func(ctx context.Context, f *fixture, e runtime.Event[orderPlaced]) error
		again bool // the breaker opens again: it takes 30 s more
	}
	for name, test := range map[string]probe{
		"it succeeds":       {do: func(context.Context, *fixture, runtime.Event[orderPlaced]) error { return nil }},
		"it fails":          {do: func(context.Context, *fixture, runtime.Event[orderPlaced]) error { return errBoom }, again: true},
		"it panics":         {do: func(context.Context, *fixture, runtime.Event[orderPlaced]) error { panic("boom") }, again: true},
		"it exits":          {do: func(context.Context, *fixture, runtime.Event[orderPlaced]) error { goruntime.Goexit(); return nil }, again: true},
		"it fails for good": {do: func(context.Context, *fixture, runtime.Event[orderPlaced]) error { return runtime.Permanent(errBoom) }, again: true},
		"it is snoozed":     {do: func(context.Context, *fixture, runtime.Event[orderPlaced]) error { return runtime.Snooze(time.Second) }},
		"it is discarded":   {do: func(context.Context, *fixture, runtime.Event[orderPlaced]) error { return runtime.Discard("no") }},
		"it times out": {do: func(ctx context.Context, _ *fixture, _ runtime.Event[orderPlaced]) error {
			<-ctx.Done()
			return ctx.Err()
		}, again: true},
		"it ignores its timeout": {do: func(context.Context, *fixture, runtime.Event[orderPlaced]) error { time.Sleep(time.Hour); return nil }, again: true},
		"its event is purged meanwhile": {do: func(ctx context.Context, f *fixture, e runtime.Event[orderPlaced]) error {
			return errors.Join(execFile(f.path, fmt.Sprintf("DELETE FROM deliveries WHERE seq = (SELECT seq FROM log WHERE id = x'%x')", e.ID[:])), runtime.Snooze(time.Second))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := openFragile(t)
				var phase atomic.Int32 // 0 broken, 1 the probe, 2 working
				var handled atomic.Int32
				_, err := runtime.Subscribe(f.Bus, fragileType, "fragile", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
					switch {
					case phase.Load() == 0:
						return runtime.Permanent(errBoom)
					case phase.CompareAndSwap(1, 2):
						return test.do(ctx, f, e)
					}
					handled.Add(1)
					return nil
				}, runtime.WithConcurrency(4), runtime.WithTimeout(5*time.Second))
				must(t, err)
				f.start()
				f.fragile(1, 4)
				synctest.Wait()
				phase.Store(1)
				f.fragile(5, 24)
				time.Sleep(45 * time.Second) // open for 30 s, and the probe
				if got := handled.Load() > 0; got == test.again {
					t.Errorf("45 s after it opened other events were handled: %v, want %v", got, !test.again)
				}
				f.idle()
				time.Sleep(2 * time.Hour) // until the handler that was left behind is back
				if got := handled.Load(); got < 19 {
					t.Errorf("%d events were handled after the probe, want the other 19 at least", got)
				}
			})
		})
	}
}

func TestAProbeThatIsShutDownOrUnsubscribedLeavesNothingStuck(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, f *fixture, s *runtime.Subscription){
		"shut down": func(t *testing.T, f *fixture, _ *runtime.Subscription) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := f.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the shutdown returned %v", err)
			}
		},
		"unsubscribed": func(t *testing.T, f *fixture, s *runtime.Subscription) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := s.Unsubscribe(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("unsubscribing returned %v", err)
			}
			f.stop()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := openFragile(t)
				probing := make(chan struct{})
				var broken atomic.Bool
				broken.Store(true)
				s, err := runtime.Subscribe(f.Bus, fragileType, "fragile", func(ctx context.Context, _ runtime.Event[orderPlaced]) error {
					if broken.Load() {
						return runtime.Permanent(errBoom)
					}
					close(probing)
					<-ctx.Done()
					return ctx.Err()
				})
				must(t, err)
				f.start()
				f.fragile(1, 4)
				synctest.Wait()
				broken.Store(false)
				f.fragile(5, 9)
				<-probing
				end(t, f, s)

				f = reopenWith(t, f.path, fragile)
				var ran journal[int]
				_, err = runtime.Subscribe(f.Bus, fragileType, "fragile", func(_ context.Context, e runtime.Event[orderPlaced]) error {
					ran.add(e.Attempt)
					return nil
				})
				must(t, err)
				f.start()
				f.idle()
				if got := ran.all(); !slices.Equal(got, []int{2, 1, 1, 1, 1}) {
					t.Errorf("the attempts afterwards are %v, want that of the probe again and four first ones", got)
				}
			})
		})
	}
}

func TestThereAreNeverTwoProbes(t *testing.T) {
	f := openFragile(t)
	var broken atomic.Bool
	broken.Store(true)
	var at, most, probes atomic.Int32
	_, err := runtime.Subscribe(f.Bus, fragileType, "fragile", func(context.Context, runtime.Event[orderPlaced]) error {
		if broken.Load() {
			return runtime.Permanent(errBoom)
		}
		if probes.Load() >= 10 {
			return nil
		}
		most.Store(max(most.Load(), at.Add(1)))
		defer at.Add(-1)
		time.Sleep(2 * time.Millisecond)
		if probes.Add(1) < 10 {
			return errBoom
		}
		return nil
	}, runtime.WithConcurrency(16), runtime.WithBreaker(breaker.OpenFor(5*time.Millisecond)))
	must(t, err)
	f.start()
	f.fragile(1, 4)
	f.idle()
	broken.Store(false)
	var publishers sync.WaitGroup
	for range 64 {
		publishers.Go(func() { f.fragile(1, 20) })
	}
	publishers.Wait()
	f.idle()
	if most.Load() != 1 {
		t.Errorf("%d handlers ran at once while the breaker was half-open", most.Load())
	}
}

func TestTheFailureThrottleRunsOneHandlerAtATimeUntilOneSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var broken atomic.Bool
		broken.Store(true)
		var at, most atomic.Int32
		started := time.Now()
		var ended atomic.Int64
		f.handle("careful", func(context.Context, runtime.Event[orderPlaced]) error {
			n := at.Add(1)
			defer at.Add(-1)
			most.Store(max(most.Load(), n))
			time.Sleep(time.Second)
			ended.Store(int64(time.Since(started)))
			if broken.Load() {
				return runtime.Permanent(errBoom)
			}
			return nil
		}, runtime.WithConcurrency(4), runtime.WithFailureThrottle(4))
		for n := range 24 {
			_, err := runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{OrderID: fmt.Sprint(n), Number: n})
			must(t, err)
		}
		started = time.Now()
		f.start()
		// Four fail together, and some workers go on before the last has said so.
		time.Sleep(2500 * time.Millisecond)
		if got := at.Load(); got != 1 {
			t.Errorf("%d handlers run after four failures in a row, want 1", got)
		}
		time.Sleep(2 * time.Second)
		if got := at.Load(); got != 1 {
			t.Errorf("%d handlers run while all fail, want 1", got)
		}
		broken.Store(false)
		time.Sleep(1100 * time.Millisecond) // one succeeds
		if got := at.Load(); got != 4 {
			t.Errorf("%d handlers run after a success, want 4", got)
		}
		f.idle()
	})
}
