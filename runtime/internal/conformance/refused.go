package conformance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/retry"
)

// A call that is refused changes nothing, and its error says what is wrong.

func (env *Env) TestAnAliasThatIsRefusedChangesNothing(t *testing.T) {
	f := env.Open(t)
	nothing := func(context.Context, runtime.Event[OrderPlaced]) error { return nil }
	f.Handle("old", nothing)
	state := func() string {
		subscriptions, err := f.peek().file.Subscriptions(t.Context())
		Must(t, err)
		names, err := f.peek().file.Names(t.Context())
		Must(t, err)
		return fmt.Sprintf("%+v, with former names %q, and %d changes", subscriptions, names.Subscriptions, len(f.peek().audit()))
	}
	before := state()
	_, err := runtime.Subscribe(f.Bus, PlacedType, "new", nothing, runtime.WithAliases("old"))
	if conflict, ok := errors.AsType[*event.AliasError](err); !ok || !conflict.Shared {
		t.Errorf("got %v, want an AliasError", err)
	}
	if after := state(); after != before {
		t.Errorf("the file says %s, and said %s before", after, before)
	}
}

type childEvent interface{ isChild() }

func (env *Env) TestANamespaceThatMatchesOtherPayloadsIsRefused(t *testing.T) {
	f := env.Open(t)
	_, err := runtime.SubscribeNamespace(f.Bus, "order.*", "reader", func(context.Context, runtime.Event[childEvent]) error { return nil })
	if !Is[*runtime.SubscribeError](err) || !strings.Contains(err.Error(), "order.* matches order.placed, whose payload conformance.OrderPlaced") {
		t.Errorf("got %v", err)
	}
	if got := f.peek().subscriptions(); len(got) != 0 {
		t.Errorf("the subscriptions %q are stored", got)
	}
	_, err = runtime.SubscribeNamespace(f.Bus, "*", "all", func(context.Context, runtime.Event[runtime.Payload]) error { return nil })
	Must(t, err)
}

func (env *Env) TestAHandlerCannotPublishWithAContextThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("publisher", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			ended, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := runtime.Publish(ended, f.Bus, PaidType, OrderPaid{"late"}); !errors.Is(err, context.Canceled) {
				t.Errorf("publishing returned %v, want that the context is cancelled", err)
			}
			if _, err := runtime.PublishBatch(ended, f.Bus, PaidType, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("publishing nothing returned %v, want that the context is cancelled", err)
			}
			type key struct{}
			_, err := runtime.Publish(context.WithValue(ctx, key{}, 1), f.Bus, PaidType, OrderPaid{"in time"})
			return err
		})
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if got := f.peek().events("order.paid"); len(got) != 1 || string(got[0].Payload) != `{"order_id":"in time"}` {
			t.Errorf("the events %+v were stored", got)
		}
	})
}

func (env *Env) TestAHandlerThatIsInterruptedPublishesNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var derived, own error
		f.Handle("publisher", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			below, cancel := context.WithCancel(ctx)
			defer cancel()
			<-ctx.Done()
			_, derived = runtime.Publish(below, f.Bus, PaidType, OrderPaid{"late"})
			_, own = runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{"late"})
			return errors.Join(derived, own)
		})
		f.MustStart()
		f.Publish(1)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f.Shutdown(ctx)
		if !errors.Is(derived, runtime.ErrShutdown) || !errors.Is(own, runtime.ErrShutdown) {
			t.Errorf("publishing returned %v and %v, want ErrShutdown", derived, own)
		}
	})
}

func (env *Env) TestADueTimeThatCannotBeStoredIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		ran := false
		f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error {
			ran = true
			return nil
		})
		f.MustStart()
		for _, at := range []time.Time{
			time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(1<<60, 0),
		} {
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{}, runtime.WithPublishAt(at))
			if wrong, ok := errors.AsType[*runtime.OptionError](err); !ok || wrong.Option != "WithPublishAt" {
				t.Errorf("%v: got %v, want an OptionError", at, err)
			}
		}
		last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{}, runtime.WithPublishAt(last))
		Must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{}, runtime.WithDelay(1<<63-1))
		Must(t, err)
		synctest.Wait()
		if ran {
			t.Error("an event of the far future was delivered at once")
		}
		if got := f.peek().stored(); got != 2 {
			t.Errorf("%d events are stored, want 2", got)
		}
	})
}

func (env *Env) TestANilOptionIsRefusedByItsPosition(t *testing.T) {
	path := env.Target(t)
	f := env.Reopen(t, path)
	nothing := func(context.Context, runtime.Event[OrderPlaced]) error { return nil }
	_, opened := env.OpenBus(t.Context(), path, Catalogue, runtime.WithStandby(), nil)
	_, subscribed := runtime.Subscribe(f.Bus, PlacedType, "reader", nothing, runtime.FromBeginning(), nil)
	_, published := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{}, runtime.WithDelay(0), nil)
	_, batch := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, []OrderPlaced{{}}, runtime.WithDelay(0), nil)
	for what, err := range map[string]error{"Open": opened, "Subscribe": subscribed, "Publish": published, "PublishBatch": batch} {
		if wrong, ok := errors.AsType[*runtime.OptionError](err); !ok || wrong.Option != "option 2" {
			t.Errorf("%s: got %v, want an OptionError for option 2", what, err)
		}
	}
	if _, err := env.OpenFile(t.Context(), path, nil); err == nil || !strings.Contains(err.Error(), "option 1") {
		t.Errorf("inspect.Open: got %v", err)
	}
}

func (env *Env) TestARuleForAnUnregisteredErrorClassIsLoggedAsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := Within(time.Second, Exact())
		settings.Errors = []declare.ErrorRule{{Class: "declined", Permanent: true}, {Class: "known", Permanent: true}}
		charged := runtime.Define(runtime.Spec[OrderPlaced]{Name: "card.charged", Settings: settings})
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(charged),
			runtime.WithErrorClass("known", runtime.ErrorIs(ErrBoom)))
		errorLines := func() (lines []string) {
			for _, line := range f.Log.Level(t, "ERROR") {
				lines = append(lines, fmt.Sprint(line["class"], line["subscriptions"]))
			}
			return lines
		}
		subscribe := func(name string) {
			_, err := runtime.Subscribe(f.Bus, charged, name, func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
			Must(t, err)
		}
		subscribe("one")
		subscribe("two")
		if got := errorLines(); got != nil {
			t.Errorf("before Start it is logged that %v", got)
		}
		f.MustStart()
		if got := strings.Join(errorLines(), "; "); got != "declined[one two]" {
			t.Errorf("Start logs %s", got)
		}
		subscribe("three")
		settings.Errors = append(settings.Errors, declare.ErrorRule{Class: "busy"})
		Must(t, f.Tune(runtime.Tuning{Types: map[string]declare.Settings{"card.charged": settings}}))
		if got := strings.Join(errorLines(), "; "); got != "declined[one two]; busy[one three two]" {
			t.Errorf("after tuning the log says %s", got)
		}
	})
}

func (env *Env) TestTheErrorOfAHandlerIsFoundThroughItsReceipt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("failing", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			switch e.Payload.Number {
			case 1:
				return runtime.Permanent(fmt.Errorf("opening: %w", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}))
			case 2:
				var none *fs.PathError
				return runtime.Permanent(none)
			}
			return nil
		})
		_, err := runtime.Subscribe(f.Bus, PlacedType, "other", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 1 {
				return ErrBoom
			}
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(2)))
		Must(t, err)
		f.MustStart()
		receipts := f.Publish(1, 2, 3)
		outcome := func(i int) error {
			outcome, err := receipts[i].Wait(t.Context())
			Must(t, err)
			return outcome.Err()
		}
		first := outcome(0)
		var at *fs.PathError
		if !errors.Is(first, fs.ErrNotExist) || !errors.As(first, &at) || at.Path != "x" || !errors.Is(first, ErrBoom) {
			t.Errorf("the errors of both handlers are not in %v", first)
		}
		if second := outcome(1); second == nil || errors.Is(second, fs.ErrNotExist) { // which must not panic
			t.Errorf("the error is %v", second)
		}
		if third := outcome(2); third != nil {
			t.Errorf("the error is %v, want none", third)
		}
	})
}

func (env *Env) TestATimeoutSaysWhichAttemptItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var causes Journal[int]
		f.Handle("hanging", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			<-ctx.Done()
			if late, ok := errors.AsType[*runtime.TimeoutError](context.Cause(ctx)); ok && late.After == time.Second {
				causes.Add(late.Attempt)
			}
			return nil
		}, runtime.WithTimeout(time.Second), runtime.WithRetry(retry.MaxAttempts(2)))
		f.MustStart()
		outcome, err := f.Publish(1)[0].Wait(t.Context())
		Must(t, err)
		synctest.Wait() // for the handler, which may return after its attempt has timed out
		if got := causes.All(); len(got) != 2 || got[0] != 1 || got[1] != 2 {
			t.Errorf("the contexts ended with timeouts of the attempts %v, want 1 and 2", got)
		}
		if late, ok := errors.AsType[*runtime.TimeoutError](outcome.Err()); !ok || late.Attempt != 2 {
			t.Errorf("the outcome has %v, want the timeout of attempt 2", outcome.Err())
		}
	})
}

func (env *Env) TestErrorRulesOfAMemberHoldInItsGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("member", func(context.Context, runtime.Event[OrderPlaced]) error { return ErrBoom },
			runtime.InGroup("all"), runtime.WithPermanentErrors(runtime.ErrorIs(ErrBoom)))
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if l := env.Letter(t, f.Path); l.Reason != "permanent" || len(l.Attempts) != 1 {
			t.Errorf("it is dead with %s after %d attempts, want permanent after one", l.Reason, len(l.Attempts))
		}
	})
}
