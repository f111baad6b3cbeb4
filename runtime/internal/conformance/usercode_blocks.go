package conformance

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
)

// These tests let the program's own code, which the bus calls after a handler, block.

// observers are such that block until the channel is closed, by what the handler returns.
func blockingObservers(free chan struct{}) map[string]struct {
	err      error
	observer observe.Observer
} {
	type one = struct {
		err      error
		observer observe.Observer
	}
	block := func() { <-free }
	return map[string]one{
		"Handled": {nil, observe.Observer{Handled: func(observe.HandledInfo) { block() }}},
		"Ended": {nil, observe.Observer{Handling: func(context.Context, observe.HandlingInfo) observe.Handling {
			return observe.Handling{Ended: func(observe.EndedInfo) { block() }}
		}}},
		"Failed":    {ErrBoom, observe.Observer{Failed: func(observe.FailedInfo) { block() }}},
		"Retrying":  {ErrBoom, observe.Observer{Retrying: func(observe.RetryingInfo) { block() }}},
		"Dead":      {runtime.Permanent(ErrBoom), observe.Observer{Dead: func(observe.DeadInfo) { block() }}},
		"Discarded": {runtime.Discard("not needed"), observe.Observer{Discarded: func(observe.DiscardedInfo) { block() }}},
		"Snoozed":   {runtime.Snooze(time.Hour), observe.Observer{Snoozed: func(observe.SnoozedInfo) { block() }}},
	}
}

func (env *Env) TestAnObserverThatBlocksIsLeftBehindAsAHandlerAndWhatTheHandlerHasDoneStands(t *testing.T) {
	for name := range blockingObservers(nil) {
		for _, batches := range []bool{false, true} {
			if batches && name == "Ended" {
				continue // of the batch
			}
			t.Run(name+map[bool]string{true: " in batches"}[batches], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					free := make(chan struct{})
					defer close(free)
					blocks := blockingObservers(free)[name]
					f := env.Open(t, runtime.WithObserver(blocks.observer))
					var handled Journal[int]
					handle := func(n int) error {
						handled.Add(n)
						if n == 1 {
							return blocks.err
						}
						return runtime.Discard("the second")
					}
					opts := []runtime.SubscribeOption{runtime.WithRetry(retry.MaxAttempts(2), retry.MaxDelay(time.Hour), retry.BaseDelay(time.Hour)), runtime.WithTimeout(10 * time.Second)}
					if batches {
						_, err := runtime.SubscribeBatch(f.Bus, PlacedType, "s", func(_ context.Context, all []runtime.Event[OrderPlaced]) error {
							return handle(all[0].Payload.Number)
						}, append(opts, runtime.WithBatch(1, time.Millisecond))...)
						Must(t, err)
					} else {
						f.Handle("s", func(_ context.Context, e runtime.Event[OrderPlaced]) error { return handle(e.Payload.Number) }, opts...)
					}
					f.MustStart()
					f.Publish(1)
					time.Sleep(10*time.Second - time.Millisecond)
					f.Publish(2)
					synctest.Wait()
					if got := handled.All(); len(got) != 1 {
						t.Errorf("before its time was up %v were handled", got)
					}
					time.Sleep(2 * time.Second)
					if got := handled.All(); !slices.Equal(got, []int{1, 2}) {
						t.Errorf("a second after its time was up %v were handled", got)
					}
					stats := f.Stats().Subscriptions[0]
					if want := map[bool]int64{false: 1, true: 2}[name == "Discarded"]; stats.Abandoned < 1 || stats.Abandoned > want {
						t.Errorf("%d are left behind", stats.Abandoned)
					}
					want := map[string]string{"Handled": "done", "Ended": "done", "Dead": "dead", "Discarded": "discarded"}[name]
					if got := stats.Counts; (got.Handled > 0) != (want == "done") || (got.Dead > 0) != (want == "dead") || got.Snoozed > 0 != (name == "Snoozed") {
						t.Errorf("it is counted as %+v", got)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					began := time.Now()
					f.Shutdown(ctx)
					if took := time.Since(began); took > 2500*time.Millisecond {
						t.Errorf("the shutdown took %v", took)
					}
					f = env.Reopen(t, f.Path)
					f.Handle("s", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
						handled.Add(10 + e.Payload.Number)
						return nil
					})
					f.MustStart()
					time.Sleep(time.Second)
					if got := handled.All(); !slices.Equal(got, []int{1, 2}) {
						t.Errorf("after a restart %v were handled", got)
					}
				})
			})
		}
	}
}

func (env *Env) TestAShutdownDoesNotWaitForAnObserverThatBlocksAndWhatTheHandlerHasDoneStands(t *testing.T) {
	for name := range blockingObservers(nil) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				free := make(chan struct{})
				defer close(free)
				blocks := blockingObservers(free)[name]
				f := env.Open(t, runtime.WithObserver(blocks.observer))
				var handled Journal[int]
				f.Handle("s", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					handled.Add(e.Payload.Number)
					return blocks.err
				}, runtime.WithRetry(retry.MaxAttempts(2), retry.MaxDelay(time.Hour), retry.BaseDelay(time.Hour)))
				f.MustStart()
				f.Publish(1)
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				if err := f.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 2500*time.Millisecond {
					t.Errorf("the shutdown returned %v after %v", err, time.Since(began))
				}
				f = env.Reopen(t, f.Path)
				f.Handle("s", func(_ context.Context, e runtime.Event[OrderPlaced]) error { handled.Add(10 + e.Attempt); return nil })
				f.MustStart()
				time.Sleep(time.Minute)
				if got := handled.All(); !slices.Equal(got, []int{1}) {
					t.Errorf("after a restart %v were handled", got)
				}
			})
		})
	}
}

func (env *Env) TestAMemberWhoseObserverBlocksIsNotCalledAgainAfterAShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		defer close(free)
		f := env.Open(t, runtime.WithObserver(observe.Observer{Handled: func(observe.HandledInfo) { <-free }}))
		var handled Journal[string]
		join := func(f *Fixture, life string) {
			for _, name := range []string{"a", "b"} {
				f.Handle(name, func(context.Context, runtime.Event[OrderPlaced]) error { handled.Add(name + life); return nil }, runtime.InGroup("g"))
			}
			f.MustStart()
		}
		join(f, "1")
		f.Publish(1)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		f.Shutdown(ctx)
		f = env.Reopen(t, f.Path)
		join(f, "2")
		f.Idle()
		if got := handled.All(); !slices.Equal(got, []string{"a1", "b2"}) {
			t.Errorf("called were %v", got)
		}
	})
}

func (env *Env) TestAFunctionThatMatchesErrorsAndBlocksDoesNotKeepATimeoutFromComing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		defer close(free)
		f := env.Open(t)
		var handled Journal[int]
		f.Handle("s", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if handled.Add(e.Payload.Number); e.Payload.Number == 1 {
				return ErrBoom
			}
			return nil
		}, runtime.WithPermanentErrors(func(error) bool { <-free; return true }), runtime.WithTimeout(10*time.Second), runtime.WithRetry(retry.MaxAttempts(1)))
		f.MustStart()
		f.Publish(1, 2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := f.WaitIdle(ctx); err != nil {
			t.Error(err)
		}
		if got := handled.All(); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("%v were handled", got)
		}
		if letters := env.Dead(t, f.Path); len(letters) != 1 || letters[0].Attempts[0].Kind != "timeout" {
			t.Errorf("dead are %+v", letters)
		}
	})
}

func (env *Env) TestALogHandlerThatBlocksHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe := &fullPipe{free: make(chan struct{})}
		free := sync.OnceFunc(func() { close(pipe.free) })
		defer free()
		time.AfterFunc(time.Minute, free)
		f := env.Open(t, runtime.WithLogger(slog.New(slog.NewTextHandler(pipe, nil))))
		var handled Journal[int]
		f.Handle("s", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			handled.Add(e.Payload.Number)
			return runtime.Permanent(ErrBoom)
		})
		began := time.Now()
		f.MustStart()
		f.Publish(1, 2, 3)
		f.Idle()
		f.Stop()
		if took := time.Since(began); len(handled.All()) != 3 || took > time.Second {
			t.Errorf("%v were handled within %v", handled.All(), took)
		}
	})
}

// fullPipe blocks whoever writes.
type fullPipe struct{ free chan struct{} }

func (p *fullPipe) Write(line []byte) (int, error) {
	<-p.free
	return len(line), nil
}
