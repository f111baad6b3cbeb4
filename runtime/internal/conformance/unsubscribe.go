package conformance

import (
	"context"
	"errors"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/retry"
)

// asked is a context that calls a function when its Done is called for the nth time:
// somewhere in the middle of the call that it was given to.
type asked struct {
	context.Context
	left atomic.Int32
	call func()
}

func (a *asked) Done() <-chan struct{} {
	if a.left.Add(-1) == 0 {
		a.call()
	}
	return a.Context.Done()
}

func (env *Env) TestUnsubscribingBesideStartLeavesNoHandler(t *testing.T) {
	for round := range 100 {
		synctest.Test(t, func(t *testing.T) {
			f := env.Open(t)
			var gone atomic.Bool
			s := f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error {
				if gone.Load() {
					t.Errorf("round %d: the handler runs after Unsubscribe has returned", round)
				}
				return nil
			})
			f.Publish(1, 2, 3)
			var unsubscribing sync.WaitGroup
			unsubscribe := func() {
				Must(t, s.Unsubscribe(t.Context()))
				gone.Store(true)
			}
			start := &asked{Context: t.Context(), call: func() {
				unsubscribing.Go(func() {
					for range round * 5 {
						goruntime.Gosched()
					}
					unsubscribe()
				})
			}}
			start.left.Store(2) // it has asked for the file
			Must(t, f.Start(start))
			unsubscribing.Wait()
			f.Publish(4)
			synctest.Wait()
			f.Stop()
		})
	}
}

func (env *Env) TestASecondUnsubscribeWaitsForTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		release := make(chan struct{})
		s := f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error {
			<-release
			return nil
		})
		f.MustStart()
		f.Publish(1)
		synctest.Wait()
		var returned atomic.Int32
		for range 2 {
			go func() {
				Must(t, s.Unsubscribe(t.Context()))
				returned.Add(1)
			}()
		}
		synctest.Wait()
		if n := returned.Load(); n != 0 {
			t.Errorf("%d calls returned while the handler runs", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Unsubscribe(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call whose context ends returned %v", err)
		}
		close(release)
		synctest.Wait()
		if n := returned.Load(); n != 2 {
			t.Errorf("%d calls returned when the handler was through, want both", n)
		}
		Must(t, s.Unsubscribe(t.Context()))
	})
}

func (env *Env) TestShutdownInterruptsHandlersThatUnsubscribeWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var cause error
		s := f.Handle("reader", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return cause
		})
		f.MustStart()
		f.Publish(1)
		synctest.Wait()
		var unsubscribed error
		done := make(chan struct{})
		go func() {
			unsubscribed = s.Unsubscribe(context.Background())
			close(done)
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := f.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown returned %v", err)
		}
		<-done
		if !errors.Is(cause, runtime.ErrShutdown) || unsubscribed != nil {
			t.Errorf("the handler was interrupted by %v, and Unsubscribe returned %v", cause, unsubscribed)
		}
	})
}

func (env *Env) TestWaitIdleDoesNotWaitForUnsubscribedNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		release := make(chan struct{})
		failing := f.Handle("failing", func(context.Context, runtime.Event[OrderPlaced]) error {
			return runtime.RetryAfter(time.Hour, ErrBoom)
		})
		f.Handle("slow", func(context.Context, runtime.Event[OrderPlaced]) error {
			<-release
			return nil
		})
		f.MustStart()
		f.Publish(1)
		idle := make(chan error, 1)
		go func() { idle <- f.WaitIdle(t.Context()) }()
		synctest.Wait()
		Must(t, failing.Unsubscribe(t.Context()))
		synctest.Wait()
		select {
		case err := <-idle:
			t.Fatalf("WaitIdle returned %v while another handler runs", err)
		default:
		}
		close(release)
		Must(t, <-idle)
		waiting := 0
		for _, d := range f.peek().deliveries() {
			if d.State == event.StateWaiting {
				waiting++
			}
		}
		if waiting != 1 {
			t.Errorf("%d deliveries wait in the file, want that of the subscription that is gone", waiting)
		}
	})
}

func (env *Env) TestAHandlerCannotWaitForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, other := env.Open(t), env.Open(t)
		neighbour := f.Handle("neighbour", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		var own *runtime.Subscription
		handled := 0
		own = f.Handle("reader", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			for name, err := range map[string]error{
				"Shutdown":    f.Shutdown(context.Background()),
				"Unsubscribe": own.Unsubscribe(context.Background()),
				"WaitIdle":    f.WaitIdle(context.Background()),
			} {
				if !errors.Is(err, runtime.ErrInsideHandler) {
					t.Errorf("%s inside a handler returned %v", name, err)
				}
			}
			if e.Payload.Number == 1 {
				Must(t, neighbour.Unsubscribe(ctx))
				Must(t, other.Shutdown(ctx))
			}
			handled++
			return nil
		})
		f.MustStart()
		other.MustStart()
		f.Publish(1, 2)
		f.Idle()
		if handled != 2 {
			t.Errorf("%d events were handled, want both", handled)
		}
	})
}

func (env *Env) TestAHandlerThatWasLeftBehindMayShutTheBusDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		left := make(chan error, 1)
		f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error {
			time.Sleep(time.Minute)
			left <- f.Shutdown(context.Background())
			return nil
		}, runtime.WithTimeout(time.Second), runtime.WithRetry(retry.MaxAttempts(1)))
		f.MustStart()
		f.Publish(1)
		Must(t, <-left)
	})
}
