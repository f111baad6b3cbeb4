package runtime_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
)

func TestAPublishedEventReachesEverySubscriptionItMatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var typed journal[runtime.Event[orderPlaced]]
		var namespace, everything journal[string]
		f.handle("typed", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			typed.add(e)
			return nil
		})
		_, err := runtime.SubscribeNamespace(f.Bus, "order.*", "namespace", func(_ context.Context, e runtime.Event[orderEvent]) error {
			switch e.Payload.(type) {
			case orderPlaced:
				namespace.add("placed")
			case orderPaid:
				namespace.add("paid")
			}
			return nil
		})
		must(t, err)
		_, err = runtime.SubscribePattern(f.Bus, "*", "everything", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			everything.add(e.Type + string(e.Payload))
			return nil
		})
		must(t, err)
		f.start()

		receipt, err := runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{OrderID: "A", Number: 7},
			runtime.WithMetadata(map[string]string{"trace": "1", "tenant": "x"}), runtime.WithMetadata(map[string]string{"trace": "2"}))
		must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, paidType, orderPaid{OrderID: "A"})
		must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, userType, userCreated{Name: "Ada"})
		must(t, err)
		f.idle()

		got := typed.all()
		if len(got) != 1 {
			t.Fatalf("the typed subscription saw %d events, want 1", len(got))
		}
		e := got[0]
		if e.ID != receipt.ID || e.ID.Version() != 7 || e.Type != "order.placed" || e.Payload.Number != 7 || e.Subscription != "typed" ||
			e.Attempt != 1 || e.MaxAttempts != 4 || e.PublishedAt.IsZero() || e.Metadata["trace"] != "2" || e.Metadata["tenant"] != "x" {
			t.Errorf("the event is %+v", e)
		}
		if got, want := namespace.all(), []string{"placed", "paid"}; !slices.Equal(got, want) {
			t.Errorf("the namespace saw %v, want %v", got, want)
		}
		want := []string{`order.placed{"order_id":"A","number":7,"weight":0}`, `order.paid{"order_id":"A"}`, `user.created{"name":"Ada"}`}
		if got := everything.all(); !slices.Equal(got, want) {
			t.Errorf("the pattern saw %v, want %v", got, want)
		}
	})
}

func TestABadPublishIsRefusedAndStoresNothing(t *testing.T) {
	unknown := runtime.Define(runtime.Spec[userCreated]{Name: "user.gone", Settings: within(1, exact())})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		publish func(f *fixture) error
		check   func(err error) bool
		message string
	}{
		"text that is not UTF-8": {
			func(f *fixture) error {
				_, err := runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{OrderID: "\xff"})
				return err
			},
			is[*runtime.InvalidPayloadError], "the payload is not a valid order.placed: order_id: is not valid UTF-8",
		},
		"a number JSON has no form for": {
			func(f *fixture) error {
				_, err := runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{Weight: math.NaN()})
				return err
			},
			is[*runtime.InvalidPayloadError], "NaN",
		},
		"one bad payload in a batch": {
			func(f *fixture) error {
				_, err := runtime.PublishBatch(t.Context(), f.Bus, placedType, []orderPlaced{{OrderID: "A"}, {OrderID: "\xff"}})
				return err
			},
			is[*runtime.InvalidPayloadError], "payload 1 of the batch",
		},
		"a payload over the limit": {
			func(f *fixture) error {
				_, err := runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{OrderID: strings.Repeat("x", 2000)})
				return err
			},
			is[*runtime.PayloadTooLargeError], "the limit is 1000",
		},
		"metadata over the limit": {
			func(f *fixture) error {
				_, err := runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{}, runtime.WithMetadata(map[string]string{"k": strings.Repeat("x", 2000)}))
				return err
			},
			is[*runtime.PayloadTooLargeError], "metadata",
		},
		"metadata that is not UTF-8": {
			func(f *fixture) error {
				_, err := runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{}, runtime.WithMetadata(map[string]string{"k": "\xff"}))
				return err
			},
			is[*runtime.InvalidPayloadError], `metadata["k"]`,
		},
		"an event type of another catalogue": {
			func(f *fixture) error {
				_, err := runtime.Publish(t.Context(), f.Bus, unknown, userCreated{})
				return err
			},
			is[*runtime.UnknownTypeError], "user.gone is not in the catalogue",
		},
		"a context that has ended": {
			func(f *fixture) error {
				_, err := runtime.Publish(cancelled, f.Bus, placedType, orderPlaced{})
				return err
			},
			func(err error) bool { return errors.Is(err, context.Canceled) }, "canceled",
		},
		"a bus that is shut down": {
			func(f *fixture) error {
				f.stop()
				_, err := runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{})
				return err
			},
			func(err error) bool { return errors.Is(err, runtime.ErrShutdown) }, "shutting down",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t, runtime.WithPayloadLimit(1000))
			err := test.publish(f)
			if err == nil || !test.check(err) || !strings.Contains(err.Error(), test.message) {
				t.Errorf("got %T %v, want one that says %q", err, err, test.message)
			}
			if n := f.peek().stored(); n != 0 {
				t.Errorf("%d events were stored", n)
			}
		})
	}
}

func is[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}

func TestABatchIsStoredInOrderWithOneReceiptEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var seen journal[int]
		f.handle("reader", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			seen.add(e.Payload.Number)
			return nil
		})
		f.start()
		batch := make([]orderPlaced, 2500) // more than one page
		for i := range batch {
			batch[i].Number = i + 1
		}
		receipts, err := runtime.PublishBatch(t.Context(), f.Bus, placedType, batch)
		must(t, err)
		f.idle()
		if got := seen.all(); !slices.Equal(got, numbers(1, 2500)) {
			t.Errorf("handled %d events, the first %v; want 1 to 2500 in order", len(got), got[:min(5, len(got))])
		}
		ids := map[uuid.UUID]bool{}
		for _, r := range receipts {
			ids[r.ID] = true
		}
		if len(ids) != 2500 {
			t.Errorf("the receipts name %d different events, want 2500", len(ids))
		}
	})
}

func TestAnEmptyBatchIsNothing(t *testing.T) {
	f := open(t)
	receipts, err := runtime.PublishBatch(t.Context(), f.Bus, placedType, nil)
	if receipts != nil || err != nil {
		t.Errorf("got %v, %v", receipts, err)
	}
}

func TestConcurrentPublishersLoseAndDuplicateNothing(t *testing.T) {
	f := open(t)
	var seen journal[int]
	f.handle("reader", func(_ context.Context, e runtime.Event[orderPlaced]) error {
		seen.add(e.Payload.Number)
		return nil
	})
	f.start()
	const publishers, each = 32, 50
	var running sync.WaitGroup
	for p := range publishers {
		running.Go(func() {
			for i := range each {
				_, err := runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{Number: p*each + i + 1})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	f.idle()
	got := seen.all()
	slices.Sort(got)
	if !slices.Equal(got, numbers(1, publishers*each)) {
		t.Errorf("handled %d events, want each of %d once", len(got), publishers*each)
	}
}

func TestEventsPublishedByAHandlerAreStoredWithItsSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var late error
		var lateContext context.Context
		var staged error
		f.handle("parent", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
			receipt, err := runtime.Publish(ctx, f.Bus, paidType, orderPaid{OrderID: e.Payload.OrderID})
			if err != nil {
				return err
			}
			_, staged = receipt.Wait(ctx)
			if len(f.peek().events("order.paid")) != 0 {
				t.Error("the child is visible before the handler has succeeded")
			}
			lateContext = ctx
			if e.Attempt < 3 {
				return errBoom
			}
			return nil
		})
		f.start()
		f.publish(1)
		f.idle()
		if !errors.Is(staged, runtime.ErrStaged) {
			t.Errorf("waiting for a child inside the handler: %v, want ErrStaged", staged)
		}
		if n := len(f.peek().events("order.paid")); n != 1 {
			t.Errorf("%d children after three attempts, want 1", n)
		}
		if _, late = runtime.Publish(lateContext, f.Bus, paidType, orderPaid{}); !errors.Is(late, runtime.ErrAttemptOver) {
			t.Errorf("publishing after the handler has returned: %v, want ErrAttemptOver", late)
		}
		if n := len(f.peek().events("order.paid")); n != 1 {
			t.Errorf("%d children, want 1", n)
		}
	})
}
