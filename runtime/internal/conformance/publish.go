package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/engine"
)

func (env *Env) TestAPublishedEventReachesEverySubscriptionItMatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var typed Journal[runtime.Event[OrderPlaced]]
		var namespace, everything Journal[string]
		f.Handle("typed", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			typed.Add(e)
			return nil
		})
		_, err := runtime.SubscribeNamespace(f.Bus, "order.*", "namespace", func(_ context.Context, e runtime.Event[OrderEvent]) error {
			switch e.Payload.(type) {
			case OrderPlaced:
				namespace.Add("placed")
			case OrderPaid:
				namespace.Add("paid")
			}
			return nil
		})
		Must(t, err)
		_, err = runtime.SubscribePattern(f.Bus, "*", "everything", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			everything.Add(e.Type + string(e.Payload))
			return nil
		})
		Must(t, err)
		f.MustStart()

		receipt, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 7},
			runtime.WithMetadata(map[string]string{"trace": "1", "tenant": "x"}), runtime.WithMetadata(map[string]string{"trace": "2"}))
		Must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, PaidType, OrderPaid{OrderID: "A"})
		Must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, UserType, UserCreated{Name: "Ada"})
		Must(t, err)
		f.Idle()

		got := typed.All()
		if len(got) != 1 {
			t.Fatalf("the typed subscription saw %d events, want 1", len(got))
		}
		e := got[0]
		if e.ID != receipt.ID || e.ID.Version() != 7 || e.Type != "order.placed" || e.Payload.Number != 7 || e.Subscription != "typed" ||
			e.Attempt != 1 || e.MaxAttempts != 4 || e.PublishedAt.IsZero() || e.Metadata["trace"] != "2" || e.Metadata["tenant"] != "x" {
			t.Errorf("the event is %+v", e)
		}
		if got, want := namespace.All(), []string{"placed", "paid"}; !slices.Equal(got, want) {
			t.Errorf("the namespace saw %v, want %v", got, want)
		}
		want := []string{`order.placed{"order_id":"A","number":7,"weight":0}`, `order.paid{"order_id":"A"}`, `user.created{"name":"Ada"}`}
		if got := everything.All(); !slices.Equal(got, want) {
			t.Errorf("the pattern saw %v, want %v", got, want)
		}
	})
}

func (env *Env) TestABadPublishIsRefusedAndStoresNothing(t *testing.T) {
	unknown := runtime.Define(runtime.Spec[UserCreated]{Name: "user.gone", Settings: Within(1, Exact())})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		publish func(f *Fixture) error
		check   func(err error) bool
		message string
	}{
		"text that is not UTF-8": {
			func(f *Fixture) error {
				_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "\xff"})
				return err
			},
			Is[*runtime.InvalidPayloadError], "the payload is not a valid order.placed: order_id: is not valid UTF-8",
		},
		"a number JSON has no form for": {
			func(f *Fixture) error {
				_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Weight: math.NaN()})
				return err
			},
			Is[*runtime.InvalidPayloadError], "NaN",
		},
		"one bad payload in a batch": {
			func(f *Fixture) error {
				_, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, []OrderPlaced{{OrderID: "A"}, {OrderID: "\xff"}})
				return err
			},
			Is[*runtime.InvalidPayloadError], "payload 1 of the batch",
		},
		"a payload over the limit": {
			func(f *Fixture) error {
				_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: strings.Repeat("x", 2000)})
				return err
			},
			Is[*runtime.PayloadTooLargeError], "the limit is 1000",
		},
		"metadata over the limit": {
			func(f *Fixture) error {
				_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{}, runtime.WithMetadata(map[string]string{"k": strings.Repeat("x", 2000)}))
				return err
			},
			Is[*runtime.PayloadTooLargeError], "metadata",
		},
		"metadata that is not UTF-8": {
			func(f *Fixture) error {
				_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{}, runtime.WithMetadata(map[string]string{"k": "\xff"}))
				return err
			},
			Is[*runtime.InvalidPayloadError], `metadata["k"]`,
		},
		"an event type of another catalogue": {
			func(f *Fixture) error {
				_, err := runtime.Publish(t.Context(), f.Bus, unknown, UserCreated{})
				return err
			},
			Is[*runtime.UnknownTypeError], "user.gone is not in the catalogue",
		},
		"a context that has ended": {
			func(f *Fixture) error {
				_, err := runtime.Publish(cancelled, f.Bus, PlacedType, OrderPlaced{})
				return err
			},
			func(err error) bool { return errors.Is(err, context.Canceled) }, "canceled",
		},
		"a bus that is shut down": {
			func(f *Fixture) error {
				f.Stop()
				_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{})
				return err
			},
			func(err error) bool { return errors.Is(err, runtime.ErrShutdown) }, "shutting down",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := env.Open(t, runtime.WithPayloadLimit(1000))
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

func Is[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}

func (env *Env) TestABatchIsStoredInOrderWithOneReceiptEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[int]
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(e.Payload.Number)
			return nil
		})
		f.MustStart()
		batch := make([]OrderPlaced, 2500) // more than one page
		for i := range batch {
			batch[i].Number = i + 1
		}
		receipts, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, batch)
		Must(t, err)
		f.Idle()
		if got := seen.All(); !slices.Equal(got, Numbers(1, 2500)) {
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

func (env *Env) TestABatchThatIsTooLargeAsAWholeStoresNothing(t *testing.T) {
	defer func(before int) { engine.MaxBatch = before }(engine.MaxBatch)
	batch := make([]OrderPlaced, 10)
	one, err := json.Marshal(batch[0])
	Must(t, err)
	f := env.Open(t)
	engine.MaxBatch = len(batch) * len(one)
	_, err = runtime.PublishBatch(t.Context(), f.Bus, PlacedType, batch)
	Must(t, err)
	engine.MaxBatch--
	for how, publish := range map[string]func() error{
		"at once": func() error {
			_, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, batch)
			return err
		},
		"in a transaction": func() error {
			return runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error {
				_, err := runtime.PublishBatch(t.Context(), tx, PlacedType, batch)
				return err
			})
		},
	} {
		var large *runtime.PayloadTooLargeError
		if err := publish(); errors.Is(err, errors.ErrUnsupported) {
			continue
		} else if !errors.As(err, &large) || large.What != "batch" || large.Size != engine.MaxBatch+1 || large.Limit != engine.MaxBatch {
			t.Errorf("%s: got %v, want a PayloadTooLargeError of the batch", how, err)
		}
	}
	if n := f.peek().stored(); n != len(batch) {
		t.Errorf("%d events are stored, want the %d that fit", n, len(batch))
	}
}

func (env *Env) TestAnEmptyBatchStoresNothing(t *testing.T) {
	f := env.Open(t)
	receipts, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, nil)
	if receipts != nil || err != nil {
		t.Errorf("got %v, %v", receipts, err)
	}
}

func (env *Env) TestConcurrentPublishersLoseAndDuplicateNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[int]
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(e.Payload.Number)
			return nil
		})
		f.MustStart()
		const publishers, each = 32, 50
		var running sync.WaitGroup
		for p := range publishers {
			running.Go(func() {
				for i := range each {
					_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: p*each + i + 1})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		running.Wait()
		f.Idle()
		got := seen.All()
		slices.Sort(got)
		if !slices.Equal(got, Numbers(1, publishers*each)) {
			t.Errorf("handled %d events, want each of %d once", len(got), publishers*each)
		}
	})
}

func (env *Env) TestEventsPublishedByAHandlerAreStoredWithItsSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var late error
		var lateContext context.Context
		var staged error
		f.Handle("parent", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			receipt, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: e.Payload.OrderID})
			if err != nil {
				return err
			}
			_, staged = receipt.Wait(ctx)
			if len(f.peek().events("order.paid")) != 0 {
				t.Error("the child is visible before the handler has succeeded")
			}
			lateContext = ctx
			if e.Attempt < 3 {
				return ErrBoom
			}
			return nil
		})
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if !errors.Is(staged, runtime.ErrStaged) {
			t.Errorf("waiting for a child inside the handler: %v, want ErrStaged", staged)
		}
		if n := len(f.peek().events("order.paid")); n != 1 {
			t.Errorf("%d children after three attempts, want 1", n)
		}
		if _, late = runtime.Publish(lateContext, f.Bus, PaidType, OrderPaid{}); !errors.Is(late, runtime.ErrAttemptOver) {
			t.Errorf("publishing after the handler has returned: %v, want ErrAttemptOver", late)
		}
		if n := len(f.peek().events("order.paid")); n != 1 {
			t.Errorf("%d children, want 1", n)
		}
	})
}
