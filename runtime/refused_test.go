package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/admin"
	"github.com/busgen/busgen/runtime/dlq"
	"github.com/busgen/busgen/runtime/retry"
)

// What is refused changes nothing, and says what is wrong.

func TestAnAliasThatIsRefusedChangesNothing(t *testing.T) {
	f := open(t)
	nothing := func(context.Context, runtime.Event[orderPlaced]) error { return nil }
	f.handle("old", nothing)
	state := func() string {
		subscriptions, err := f.peek().file.Subscriptions(t.Context())
		must(t, err)
		names, err := f.peek().file.Names(t.Context())
		must(t, err)
		return fmt.Sprintf("%+v, with former names %q, and %d changes", subscriptions, names.Subscriptions, len(f.peek().audit()))
	}
	before := state()
	_, err := runtime.Subscribe(f.Bus, placedType, "new", nothing, runtime.WithAliases("old"))
	if conflict, ok := errors.AsType[*runtime.AliasError](err); !ok || !conflict.Shared {
		t.Errorf("got %v, want an AliasError", err)
	}
	if after := state(); after != before {
		t.Errorf("the file says %s, and said %s before", after, before)
	}
}

type childEvent interface{ isChild() }

func TestANamespaceThatMatchesOtherPayloadsIsRefused(t *testing.T) {
	f := open(t)
	_, err := runtime.SubscribeNamespace(f.Bus, "order.*", "reader", func(context.Context, runtime.Event[childEvent]) error { return nil })
	if !is[*runtime.SubscribeError](err) || !strings.Contains(err.Error(), "order.* matches order.placed, whose payload runtime_test.orderPlaced") {
		t.Errorf("got %v", err)
	}
	if got := f.peek().subscriptions(); len(got) != 0 {
		t.Errorf("the subscriptions %q are stored", got)
	}
	_, err = runtime.SubscribeNamespace(f.Bus, "*", "all", func(context.Context, runtime.Event[runtime.Payload]) error { return nil })
	must(t, err)
}

func TestAHandlerCannotPublishWithAContextThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("publisher", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
			ended, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := runtime.Publish(ended, f.Bus, paidType, orderPaid{"late"}); !errors.Is(err, context.Canceled) {
				t.Errorf("publishing returned %v, want that the context is cancelled", err)
			}
			if _, err := runtime.PublishBatch(ended, f.Bus, paidType, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("publishing nothing returned %v, want that the context is cancelled", err)
			}
			type key struct{}
			_, err := runtime.Publish(context.WithValue(ctx, key{}, 1), f.Bus, paidType, orderPaid{"in time"})
			return err
		})
		f.start()
		f.publish(1)
		f.idle()
		if got := f.peek().events("order.paid"); len(got) != 1 || string(got[0].Payload) != `{"order_id":"in time"}` {
			t.Errorf("the events %+v were stored", got)
		}
	})
}

func TestAHandlerThatIsInterruptedPublishesNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var derived, own error
		f.handle("publisher", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
			below, cancel := context.WithCancel(ctx)
			defer cancel()
			<-ctx.Done()
			_, derived = runtime.Publish(below, f.Bus, paidType, orderPaid{"late"})
			_, own = runtime.Publish(ctx, f.Bus, paidType, orderPaid{"late"})
			return errors.Join(derived, own)
		})
		f.start()
		f.publish(1)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f.Shutdown(ctx)
		if !errors.Is(derived, runtime.ErrShutdown) || !errors.Is(own, runtime.ErrShutdown) {
			t.Errorf("publishing returned %v and %v, want ErrShutdown", derived, own)
		}
	})
}

func TestADueTimeThatCannotBeStoredIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		ran := false
		f.handle("reader", func(context.Context, runtime.Event[orderPlaced]) error {
			ran = true
			return nil
		})
		f.start()
		for _, at := range []time.Time{
			time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(1<<60, 0),
		} {
			_, err := runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{}, runtime.WithPublishAt(at))
			if wrong, ok := errors.AsType[*runtime.OptionError](err); !ok || wrong.Option != "WithPublishAt" {
				t.Errorf("%v: got %v, want an OptionError", at, err)
			}
		}
		last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
		_, err := runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{}, runtime.WithPublishAt(last))
		must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{}, runtime.WithDelay(1<<63-1))
		must(t, err)
		synctest.Wait()
		if ran {
			t.Error("an event of the far future was delivered at once")
		}
		if got := f.peek().stored(); got != 2 {
			t.Errorf("%d events are stored, want 2", got)
		}
	})
}

func TestANilOptionIsRefusedByItsPosition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	f := reopen(t, path)
	nothing := func(context.Context, runtime.Event[orderPlaced]) error { return nil }
	_, opened := runtime.Open(t.Context(), path, catalogue, runtime.WithStandby(), nil)
	_, subscribed := runtime.Subscribe(f.Bus, placedType, "reader", nothing, runtime.FromBeginning(), nil)
	_, published := runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{}, runtime.WithDelay(0), nil)
	_, batch := runtime.PublishBatch(t.Context(), f.Bus, placedType, []orderPlaced{{}}, runtime.WithDelay(0), nil)
	for what, err := range map[string]error{"Open": opened, "Subscribe": subscribed, "Publish": published, "PublishBatch": batch} {
		if wrong, ok := errors.AsType[*runtime.OptionError](err); !ok || wrong.Option != "option 2" {
			t.Errorf("%s: got %v, want an OptionError for option 2", what, err)
		}
	}
	_, inspected := dlq.Open(path, nil)
	_, administered := admin.Open(path, nil)
	for what, err := range map[string]error{"dlq.Open": inspected, "admin.Open": administered} {
		if err == nil || !strings.Contains(err.Error(), "option 1") {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

func TestANameWithANULIsRefused(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a\x00b")
	_, opened := runtime.Open(t.Context(), path, catalogue)
	_, inspected := dlq.Open(path)
	_, administered := admin.Open(path)
	for what, err := range map[string]error{"Open": opened, "dlq.Open": inspected, "admin.Open": administered} {
		if !is[*runtime.StorageError](err) || !strings.Contains(err.Error(), "NUL") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	entries, err := os.ReadDir(folder)
	must(t, err)
	if len(entries) > 0 {
		t.Errorf("%v was created", entries)
	}
}

func TestARuleForErrorsThatNobodyKnowsIsAnErrorInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := within(time.Second, exact())
		settings.Errors = []runtime.ErrorRule{{Class: "declined", Permanent: true}, {Class: "known", Permanent: true}}
		charged := runtime.Define(runtime.Spec[orderPlaced]{Name: "card.charged", Settings: settings})
		f := reopenWith(t, filepath.Join(t.TempDir(), "events.db"), runtime.NewCatalogue(charged),
			runtime.WithErrorClass("known", runtime.ErrorIs(errBoom)))
		errorLines := func() (lines []string) {
			for _, line := range f.log.level(t, "ERROR") {
				lines = append(lines, fmt.Sprint(line["class"], line["subscriptions"]))
			}
			return lines
		}
		subscribe := func(name string) {
			_, err := runtime.Subscribe(f.Bus, charged, name, func(context.Context, runtime.Event[orderPlaced]) error { return nil })
			must(t, err)
		}
		subscribe("one")
		subscribe("two")
		if got := errorLines(); got != nil {
			t.Errorf("before Start it is logged that %v", got)
		}
		f.start()
		if got := strings.Join(errorLines(), "; "); got != "declined[one two]" {
			t.Errorf("Start logs %s", got)
		}
		subscribe("three")
		settings.Errors = append(settings.Errors, runtime.ErrorRule{Class: "busy"})
		must(t, f.Tune(runtime.Tuning{Types: map[string]runtime.Settings{"card.charged": settings}}))
		if got := strings.Join(errorLines(), "; "); got != "declined[one two]; busy[one three two]" {
			t.Errorf("after tuning the log says %s", got)
		}
	})
}

func TestTheErrorOfAHandlerIsFoundThroughItsReceipt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("failing", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			switch e.Payload.Number {
			case 1:
				return runtime.Permanent(fmt.Errorf("opening: %w", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}))
			case 2:
				var none *fs.PathError
				return runtime.Permanent(none)
			}
			return nil
		})
		_, err := runtime.Subscribe(f.Bus, placedType, "other", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			if e.Payload.Number == 1 {
				return errBoom
			}
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(2)))
		must(t, err)
		f.start()
		receipts := f.publish(1, 2, 3)
		outcome := func(i int) error {
			outcome, err := receipts[i].Wait(t.Context())
			must(t, err)
			return outcome.Err()
		}
		first := outcome(0)
		var at *fs.PathError
		if !errors.Is(first, fs.ErrNotExist) || !errors.As(first, &at) || at.Path != "x" || !errors.Is(first, errBoom) {
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

func TestATimeoutSaysWhichAttemptItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var causes journal[int]
		f.handle("hanging", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
			<-ctx.Done()
			if late, ok := errors.AsType[*runtime.TimeoutError](context.Cause(ctx)); ok && late.After == time.Second {
				causes.add(late.Attempt)
			}
			return nil
		}, runtime.WithTimeout(time.Second), runtime.WithRetry(retry.MaxAttempts(2)))
		f.start()
		outcome, err := f.publish(1)[0].Wait(t.Context())
		must(t, err)
		if got := causes.all(); len(got) != 2 || got[0] != 1 || got[1] != 2 {
			t.Errorf("the contexts ended with timeouts of the attempts %v, want 1 and 2", got)
		}
		if late, ok := errors.AsType[*runtime.TimeoutError](outcome.Err()); !ok || late.Attempt != 2 {
			t.Errorf("the outcome has %v, want the timeout of attempt 2", outcome.Err())
		}
	})
}

func TestErrorRulesOfAMemberHoldInItsGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("member", func(context.Context, runtime.Event[orderPlaced]) error { return errBoom },
			runtime.InGroup("all"), runtime.WithPermanentErrors(runtime.ErrorIs(errBoom)))
		f.start()
		f.publish(1)
		f.idle()
		if l := letter(t, f.path); l.Reason != "permanent" || len(l.Attempts) != 1 {
			t.Errorf("it is dead with %s after %d attempts, want permanent after one", l.Reason, len(l.Attempts))
		}
	})
}
