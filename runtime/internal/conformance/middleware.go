package conformance

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/ask"
	"github.com/busgen/busgen/runtime/retry"
)

// noting returns a middleware that notes when it is called and with what it ends.
func noting(j *Journal[string], name string) runtime.Middleware {
	return func(next runtime.Next) runtime.Next {
		return func(ctx context.Context, e runtime.Event[any]) error {
			j.Add(fmt.Sprintf("%s(%s %T", name, e.Subscription, e.Payload))
			err := next(ctx, e)
			j.Add(fmt.Sprintf("%v)%s", err, name))
			return err
		}
	}
}

// instead returns a middleware that is called in place of the handler.
func instead(do func(ctx context.Context, e runtime.Event[any], next runtime.Next) error) runtime.SubscribeOption {
	return runtime.WithHandlerMiddleware(func(next runtime.Next) runtime.Next {
		return func(ctx context.Context, e runtime.Event[any]) error { return do(ctx, e, next) }
	})
}

func (env *Env) TestMiddlewareStandsAroundEveryHandler(t *testing.T) {
	handled := func(context.Context, runtime.Event[OrderPlaced]) error { return nil }
	for name, test := range map[string]struct {
		subscribe func(f *Fixture, own runtime.SubscribeOption)
		payload   string
		result    string
	}{
		"an event type": {func(f *Fixture, own runtime.SubscribeOption) { f.Handle("one", handled, own) }, "conformance.OrderPlaced", "<nil>"},
		"a namespace": {func(f *Fixture, own runtime.SubscribeOption) {
			Must(f.T, second(runtime.SubscribeNamespace(f.Bus, "order.*", "one", func(context.Context, runtime.Event[OrderEvent]) error { return nil }, own)))
		}, "conformance.OrderPlaced", "<nil>"},
		"a pattern": {func(f *Fixture, own runtime.SubscribeOption) {
			Must(f.T, second(runtime.SubscribePattern(f.Bus, "*", "one", func(context.Context, runtime.Event[runtime.Raw]) error { return nil }, own)))
		}, "json.RawMessage", "<nil>"},
		"a member": {func(f *Fixture, own runtime.SubscribeOption) {
			f.Handle("first", handled, runtime.InGroup("group"))
			f.Handle("one", handled, own, runtime.InGroup("group"))
		}, "conformance.OrderPlaced", "<nil>"},
		"an answer": {func(f *Fixture, own runtime.SubscribeOption) { answer(f, "one", says("yes", 0), own) }, "conformance.OrderPlaced", "<nil>"},
		"dead letters": {func(f *Fixture, own runtime.SubscribeOption) {
			f.Handle("failing", func(context.Context, runtime.Event[OrderPlaced]) error { return runtime.Permanent(ErrBoom) })
			Must(f.T, second(runtime.SubscribeDead(f.Bus, PlacedType, "one", func(context.Context, runtime.Event[runtime.DeadLetter[OrderPlaced]]) error { return nil }, own)))
		}, "runtime.DeadLetter[github.com/busgen/busgen/runtime/internal/conformance.OrderPlaced]", "<nil>"},
		"a failure": {func(f *Fixture, own runtime.SubscribeOption) {
			f.Handle("one", func(context.Context, runtime.Event[OrderPlaced]) error { return runtime.Permanent(ErrBoom) }, own)
		}, "conformance.OrderPlaced", "boom"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var j Journal[string]
				f := env.Open(t, runtime.WithMiddleware(noting(&j, "A"), noting(&j, "B")), runtime.WithMiddleware(noting(&j, "C")))
				test.subscribe(f, runtime.WithHandlerMiddleware(noting(&j, "D"), noting(&j, "E")))
				f.MustStart()
				f.Publish(1)
				f.Idle()
				var want []string
				for _, name := range []string{"A", "B", "C", "D", "E"} {
					want = append(want, fmt.Sprintf("%s(one %s", name, test.payload))
				}
				for _, name := range []string{"E", "D", "C", "B", "A"} {
					want = append(want, test.result+")"+name)
				}
				got := j.All()
				if n := slices.Index(got, want[0]); n < 0 || !slices.Equal(got[n:], want) {
					t.Errorf("it went through\n%q\nwant\n%q", got, want)
				}
				if name == "a member" && !slices.Contains(got, "C(first conformance.OrderPlaced") {
					t.Errorf("the middleware of the bus is not around the other member: %q", got)
				}
			})
		})
	}
}

func (env *Env) TestTheContextOfAMiddlewareReachesTheHandler(t *testing.T) {
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("ends early", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if ctx.Value(key{}) != "value" {
				t.Errorf("the value is %v", ctx.Value(key{}))
			}
			if deadline, _ := ctx.Deadline(); time.Until(deadline) != time.Second {
				t.Errorf("the deadline is in %v", time.Until(deadline))
			}
			Must(t, second(runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: fmt.Sprint("by the handler ", e.Attempt)})))
			if e.Attempt == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}, instead(func(ctx context.Context, e runtime.Event[any], next runtime.Next) error {
			Must(t, second(runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: fmt.Sprint("by the middleware ", e.Attempt)})))
			ctx, cancel := context.WithTimeout(context.WithValue(ctx, key{}, "value"), time.Second)
			defer cancel()
			return next(ctx, e)
		}))
		f.MustStart()
		f.Publish(1)
		f.Idle()
		var paid []string
		for _, e := range f.peek().events("order.paid") {
			paid = append(paid, string(e.Payload))
		}
		slices.Sort(paid)
		if got := strings.Join(paid, " "); got != `{"order_id":"by the handler 2"} {"order_id":"by the middleware 2"}` {
			t.Errorf("published is %s, want what belongs to the attempt that succeeded", got)
		}
		if failures := f.peek().failures(); len(failures) != 1 || failures[0].Kind != "error" {
			t.Errorf("the failures are %+v", failures)
		}
	})
}

func (env *Env) TestTheResultOfAMiddlewareIsThatOfTheAttempt(t *testing.T) {
	for name, test := range map[string]struct {
		handler    error
		middleware func(ctx context.Context, e runtime.Event[any], next runtime.Next) error
		calls      int
		states     string
	}{
		"it handles the event itself": {nil, func(context.Context, runtime.Event[any], runtime.Next) error { return nil }, 0, "one done"},
		"it forgives an error":        {ErrBoom, func(ctx context.Context, e runtime.Event[any], next runtime.Next) error { next(ctx, e); return nil }, 1, "one done"},
		"it fails":                    {nil, func(context.Context, runtime.Event[any], runtime.Next) error { return ErrBoom }, 0, "one dead max_attempts"},
		"it fails after a success":    {nil, func(ctx context.Context, e runtime.Event[any], next runtime.Next) error { next(ctx, e); return ErrBoom }, 2, "one dead max_attempts"},
		"it says that an error is permanent": {ErrBoom, func(ctx context.Context, e runtime.Event[any], next runtime.Next) error {
			return runtime.Permanent(next(ctx, e))
		}, 1, "one dead permanent"},
		"it discards":    {nil, func(context.Context, runtime.Event[any], runtime.Next) error { return runtime.Discard("not ours") }, 0, "one discarded not ours"},
		"it panics":      {nil, func(context.Context, runtime.Event[any], runtime.Next) error { panic("oops") }, 0, "one dead max_attempts panic"},
		"it ends itself": {nil, func(context.Context, runtime.Event[any], runtime.Next) error { goruntime.Goexit(); return nil }, 0, "one dead max_attempts goexit"},
		"a nil error":    {nil, func(context.Context, runtime.Event[any], runtime.Next) error { return (*brokenError)(nil) }, 0, "one dead max_attempts"},
		"it is too slow": {nil, func(ctx context.Context, e runtime.Event[any], next runtime.Next) error { <-ctx.Done(); return nil }, 0, "one dead max_attempts timeout"},
		"it saves a fall": {errors.New("panic"), func(ctx context.Context, e runtime.Event[any], next runtime.Next) (err error) {
			defer func() {
				if cause := recover(); cause != nil {
					err = runtime.Permanent(fmt.Errorf("saved: %v", cause))
				}
			}()
			return next(ctx, e)
		}, 1, "one dead permanent"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var calls Journal[int]
				f.Handle("one", func(context.Context, runtime.Event[OrderPlaced]) error {
					calls.Add(1)
					if test.handler != nil && test.handler.Error() == "panic" {
						panic("of the handler")
					}
					return test.handler
				}, instead(test.middleware), runtime.WithRetry(retry.MaxAttempts(2)))
				f.MustStart()
				f.Publish(1)
				states := f.states()
				if failures := f.peek().failures(); len(failures) > 0 && failures[0].Kind != "error" {
					states += " " + failures[0].Kind
				}
				if n := len(calls.All()); states != test.states || n != test.calls {
					t.Errorf("%s, and the handler was called %d times; want %s, %d", states, n, test.states, test.calls)
				}
			})
		})
	}
}

func (env *Env) TestAMiddlewareCallsTheHandlerOnceAnAttemptWithWhatItWasGiven(t *testing.T) {
	var before runtime.Event[any]
	for name, test := range map[string]struct {
		middleware func(ctx context.Context, e runtime.Event[any], next runtime.Next) error
		problem    string // in the error of next; empty for none
		number     int    // that the handler sees; 0 if it is not called
	}{
		"once": {func(ctx context.Context, e runtime.Event[any], next runtime.Next) error { return next(ctx, e) }, "", 1},
		"twice": {func(ctx context.Context, e runtime.Event[any], next runtime.Next) error {
			Must(t, next(ctx, e))
			return next(ctx, e)
		}, "twice in one attempt", 1},
		"another payload": {func(ctx context.Context, e runtime.Event[any], next runtime.Next) error {
			order := e.Payload.(OrderPlaced)
			order.Number = 7
			e.Payload = order
			return next(ctx, e)
		}, "", 7},
		"a payload of another type": {func(ctx context.Context, e runtime.Event[any], next runtime.Next) error {
			e.Payload = OrderPaid{}
			return next(ctx, e)
		}, "with a payload of type conformance.OrderPaid, and the handler takes a conformance.OrderPlaced", 0},
		"no payload": {func(ctx context.Context, e runtime.Event[any], next runtime.Next) error {
			e.Payload = nil
			return next(ctx, e)
		}, "with a payload of type <nil>", 0},
		"another context": {func(ctx context.Context, e runtime.Event[any], next runtime.Next) error {
			return next(context.Background(), e)
		}, "with a context that does not come from the one that it was given", 0},
		"an event of its own": {func(ctx context.Context, e runtime.Event[any], next runtime.Next) error {
			return next(ctx, runtime.Event[any]{Head: runtime.Head{ID: e.ID}, Payload: e.Payload})
		}, "with an event of another attempt", 0},
		"the event before": {func(ctx context.Context, e runtime.Event[any], next runtime.Next) error {
			return next(ctx, before)
		}, "with an event of another attempt", 0},
		"too late": {func(ctx context.Context, e runtime.Event[any], next runtime.Next) error {
			<-ctx.Done()
			return next(ctx, e)
		}, "this attempt is over", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var seen Journal[int]
				var result Journal[error]
				f.Handle("one", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					seen.Add(e.Payload.Number)
					return nil
				}, instead(func(ctx context.Context, e runtime.Event[any], next runtime.Next) error {
					if e.Payload.(OrderPlaced).Number == 100 { // the first
						before = e
						return nil
					}
					err := test.middleware(ctx, e, next)
					result.Add(err)
					return err
				}), runtime.WithRetry(retry.MaxAttempts(1)))
				f.MustStart()
				f.Publish(100, 1)
				f.Idle()
				synctest.Wait()
				err := result.All()[0]
				if test.problem == "" {
					Must(t, err)
				} else if problem := Is[*runtime.MiddlewareError](err); err == nil || !strings.Contains(err.Error(), test.problem) || problem == errors.Is(err, runtime.ErrAttemptOver) {
					t.Errorf("next returns %v, want %s", err, test.problem)
				}
				var want []int
				if test.number > 0 {
					want = []int{test.number}
				}
				if got := seen.All(); !slices.Equal(got, want) {
					t.Errorf("the handler has seen %v, want %v", got, want)
				}
			})
		})
	}
}

func (env *Env) TestAMiddlewareThatCannotBeMadeIsRefused(t *testing.T) {
	if _, err := env.OpenBus(t.Context(), env.Target(t), Catalogue, runtime.WithMiddleware(noting(nil, "A"), nil)); err == nil || !strings.Contains(err.Error(), "WithMiddleware: middleware 2 is nil") {
		t.Errorf("a nil middleware of the bus: %v", err)
	}
	f := env.Open(t)
	for name, test := range map[string]struct {
		middleware runtime.Middleware
		want       string
	}{
		"nil":         {nil, "WithHandlerMiddleware: middleware 1 is nil"},
		"returns nil": {func(runtime.Next) runtime.Next { return nil }, "a middleware has returned nil"},
		"panics":      {func(runtime.Next) runtime.Next { panic("oops") }, "a middleware has panicked: oops"},
	} {
		_, err := runtime.Subscribe(f.Bus, PlacedType, "one", func(context.Context, runtime.Event[OrderPlaced]) error { return nil }, runtime.WithHandlerMiddleware(test.middleware))
		if !Is[*runtime.SubscribeError](err) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
		if name == "panics" && !Is[*runtime.PanicError](err) {
			t.Errorf("%v has no stack", err)
		}
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		runtime.Subscribe(f.Bus, PlacedType, "one", func(context.Context, runtime.Event[OrderPlaced]) error { return nil },
			runtime.WithHandlerMiddleware(func(runtime.Next) runtime.Next { goruntime.Goexit(); return nil }))
	}()
	<-gone
	f.Handle("one", func(context.Context, runtime.Event[OrderPlaced]) error { return nil }) // the name is free
}

func (env *Env) TestAnswersPassThroughMiddleware(t *testing.T) {
	for name, test := range map[string]struct {
		handler    runtime.AnswerHandler[OrderPlaced, string]
		middleware func(ctx context.Context, e runtime.Event[any], next runtime.Next) error
		answer     string
		err        error
	}{
		"an answer":                {says("yes", 0), func(ctx context.Context, e runtime.Event[any], next runtime.Next) error { return next(ctx, e) }, "yes", nil},
		"no answer":                {passes, func(ctx context.Context, e runtime.Event[any], next runtime.Next) error { return next(ctx, e) }, "", ask.ErrNoAnswer},
		"the handler is not asked": {says("yes", 0), func(context.Context, runtime.Event[any], runtime.Next) error { return nil }, "", ask.ErrNoAnswer},
		"an error is forgiven": {refuses(ErrBoom), func(ctx context.Context, e runtime.Event[any], next runtime.Next) error {
			next(ctx, e)
			return nil
		}, "", ask.ErrNoAnswer},
		"an answer is refused": {says("yes", 0), func(ctx context.Context, e runtime.Event[any], next runtime.Next) error {
			next(ctx, e)
			return runtime.Permanent(ErrBoom)
		}, "", ErrBoom},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				answer(f, "one", test.handler, instead(test.middleware))
				f.MustStart()
				if got, err := f.request(); got != test.answer || !errors.Is(err, test.err) {
					t.Errorf("the answer is %q, %v; want %q, %v", got, err, test.answer, test.err)
				}
			})
		})
	}
}

func (env *Env) TestAnEventThatCannotBeDecodedDoesNotReachMiddleware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j Journal[string]
		f := env.Open(t, runtime.WithMiddleware(noting(&j, "A")))
		f.Handle("one", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		f.MustStart()
		f.PublishRaw(PlacedType, `{"number":"x"}`)
		f.Idle()
		if letter := env.Letter(t, f.Path); letter.Reason != "decode" || len(j.All()) > 0 {
			t.Errorf("it is dead with %s, and the middleware has seen %q", letter.Reason, j.All())
		}
	})
}

func second[T any](_ T, err error) error { return err }
