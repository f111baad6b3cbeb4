package conformance

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/retry"
)

// The types of catalogue.go have no breaker; this one has the default.
var (
	FragileType = runtime.Define(runtime.Spec[OrderPlaced]{
		Name: "fragile.placed",
		Settings: func() declare.Settings {
			s := declare.DefaultSettings()
			s.Retry = Exact(retry.WithBackoff(retry.None), retry.MaxAttempts(1000))
			return s
		}(),
	})
	fragile = runtime.NewCatalogue(FragileType)
)

func (env *Env) OpenFragile(t *testing.T, opts ...runtime.Option) *Fixture {
	t.Helper()
	return env.ReopenWith(t, env.Target(t), fragile, opts...)
}

func (f *Fixture) Fragile(from, to int) {
	f.T.Helper()
	for _, n := range Numbers(from, to) {
		_, err := runtime.Publish(f.T.Context(), f.Bus, FragileType, OrderPlaced{OrderID: "A", Number: n})
		Must(f.T, err)
	}
}

func (env *Env) TestTheBreakerOpensWhenMoreThanHalfOfFourFail(t *testing.T) {
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
				f := env.OpenFragile(t)
				var calls atomic.Int32
				s, err := runtime.Subscribe(f.Bus, FragileType, "fragile", func(context.Context, runtime.Event[OrderPlaced]) error {
					call := int(calls.Add(1))
					if call <= len(test.outcomes) && test.outcomes[call-1] == 'F' {
						return runtime.Permanent(ErrBoom)
					}
					return nil
				})
				Must(t, err)
				f.MustStart()
				for n := range test.outcomes {
					time.Sleep(test.pause)
					f.Fragile(n, n)
					synctest.Wait()
				}
				f.Fragile(100, 100) // waits if the breaker is open
				time.Sleep(time.Second)
				if got := int(calls.Load()) == len(test.outcomes); got != test.opens {
					t.Errorf("after %s the next event waits: %v, want %v (%s)", test.outcomes, got, test.opens, s.Name())
				}
			})
		})
	}
}

func (env *Env) TestEventsPublishedWhileTheBreakerIsOpenUseNoAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenFragile(t)
		var broken atomic.Bool
		broken.Store(true)
		var ran Journal[execution]
		_, err := runtime.Subscribe(f.Bus, FragileType, "fragile", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if broken.Load() {
				return runtime.Permanent(ErrBoom)
			}
			ran.Add(execution{e.Attempt, time.Since(e.PublishedAt)})
			return nil
		}, runtime.WithConcurrency(8))
		Must(t, err)
		f.MustStart()
		f.Fragile(1, 4)
		synctest.Wait() // four of four have failed
		broken.Store(false)
		f.Fragile(1, 200)
		time.Sleep(29 * time.Second)
		if got := ran.All(); len(got) > 0 {
			t.Fatalf("%d events were handled while the breaker was open", len(got))
		}
		for _, d := range f.peek().deliveries() {
			if d.State != event.StateDead && d.State != event.StatePending {
				t.Errorf("a delivery that waits for the breaker is %s in the file", d.State)
			}
		}
		f.Idle()
		got := ran.All()
		if len(got) != 200 || slices.ContainsFunc(got, func(e execution) bool { return e.attempt != 1 }) {
			t.Errorf("%d events were handled after it has closed, want 200, all with attempt 1", len(got))
		}
		opened, closed := 0, 0
		for _, line := range append(f.Log.Level(t, "WARN"), f.Log.Level(t, "INFO")...) {
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

func (env *Env) TestAProbeThatIsShutDownOrUnsubscribedLeavesNothingStuck(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, f *Fixture, s *runtime.Subscription){
		"shut down": func(t *testing.T, f *Fixture, _ *runtime.Subscription) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := f.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the shutdown returned %v", err)
			}
		},
		"unsubscribed": func(t *testing.T, f *Fixture, s *runtime.Subscription) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := s.Unsubscribe(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("unsubscribing returned %v", err)
			}
			f.Stop()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.OpenFragile(t)
				probing := make(chan struct{})
				var broken atomic.Bool
				broken.Store(true)
				s, err := runtime.Subscribe(f.Bus, FragileType, "fragile", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
					if broken.Load() {
						return runtime.Permanent(ErrBoom)
					}
					close(probing)
					<-ctx.Done()
					return ctx.Err()
				})
				Must(t, err)
				f.MustStart()
				f.Fragile(1, 4)
				synctest.Wait()
				broken.Store(false)
				f.Fragile(5, 9)
				<-probing
				end(t, f, s)

				f = env.ReopenWith(t, f.Path, fragile)
				var ran Journal[int]
				_, err = runtime.Subscribe(f.Bus, FragileType, "fragile", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					ran.Add(e.Attempt)
					return nil
				})
				Must(t, err)
				f.MustStart()
				f.Idle()
				if got := ran.All(); !slices.Equal(got, []int{2, 1, 1, 1, 1}) {
					t.Errorf("the attempts afterwards are %v, want that of the probe again and four first ones", got)
				}
			})
		})
	}
}

func (env *Env) TestThereAreNeverTwoProbes(t *testing.T) {
	f := env.OpenFragile(t)
	var broken atomic.Bool
	broken.Store(true)
	var at, most, probes atomic.Int32
	_, err := runtime.Subscribe(f.Bus, FragileType, "fragile", func(context.Context, runtime.Event[OrderPlaced]) error {
		if broken.Load() {
			return runtime.Permanent(ErrBoom)
		}
		if probes.Load() >= 10 {
			return nil
		}
		most.Store(max(most.Load(), at.Add(1)))
		defer at.Add(-1)
		time.Sleep(2 * time.Millisecond)
		if probes.Add(1) < 10 {
			return ErrBoom
		}
		return nil
	}, runtime.WithConcurrency(16), runtime.WithBreaker(breaker.OpenFor(5*time.Millisecond)))
	Must(t, err)
	f.MustStart()
	f.Fragile(1, 4)
	f.Idle()
	broken.Store(false)
	var publishers sync.WaitGroup
	for range 64 {
		publishers.Go(func() { f.Fragile(1, 20) })
	}
	publishers.Wait()
	f.Idle()
	if most.Load() != 1 {
		t.Errorf("%d handlers ran at once while the breaker was half-open", most.Load())
	}
}
