package conformance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
)

// captured is the payload of payment.captured, whose dedupe key is a field.
type captured struct {
	PaymentID string `json:"payment_id"`
	Amount    int    `json:"amount"`
	Trap      Trap   `json:"trap"`
}

func (captured) Validate() error { return nil }

func capturedType(schedules ...declare.Schedule) *runtime.EventType[captured] {
	return runtime.Define(runtime.Spec[captured]{
		Name: "payment.captured", Settings: Within(30*time.Second, Exact()), Schedules: schedules,
		DedupeBy: func(p captured) string {
			p.Trap.spring("key")
			return p.PaymentID
		},
	})
}

// payments is a bus for payment.captured.
type payments struct {
	*Fixture
	typ *runtime.EventType[captured]
}

func (env *Env) openPayments(t *testing.T, opts ...runtime.Option) payments {
	t.Helper()
	typ := capturedType()
	return payments{env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(typ, PlacedType, PaidType, UserType), opts...), typ}
}

// capture publishes a payment and says whether it is a duplicate.
func (p payments) capture(id string, amount int, duplicate bool, opts ...runtime.PublishOption) *runtime.Receipt {
	p.T.Helper()
	r, err := runtime.Publish(p.T.Context(), p.Bus, p.typ, captured{PaymentID: id, Amount: amount}, opts...)
	Must(p.T, err)
	if r.Duplicate != duplicate {
		p.T.Errorf("payment %.40q of %d: the receipt says Duplicate %v", id, amount, r.Duplicate)
	}
	return r
}

func (env *Env) TestAnEventTypeGivesItsEventsTheKeyOfAField(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := env.openPayments(t, runtime.WithDedupeWindow(time.Hour))
		first := p.capture("a", 1, false)
		if again := p.capture("a", 1, true); again.ID != first.ID {
			t.Errorf("the duplicate is %v, want %v", again.ID, first.ID)
		}
		p.capture("b", 1, false)
		_, err := runtime.Publish(t.Context(), p.Bus, p.typ, captured{PaymentID: "a", Amount: 2})
		if conflict, ok := errors.AsType[*event.ConflictError](err); !ok || conflict.First != first.ID || conflict.Key != "a" {
			t.Errorf("another payload: %v", err)
		}
		// The key of the caller takes the place of the field's.
		p.capture("a", 2, false, runtime.WithDedupeKey("own"))
		p.capture("a", 2, true, runtime.WithDedupeKey("own"))
		p.capture("c", 1, false, runtime.WithDedupeKey("d"))
		p.capture("c", 2, false)
		p.capture("b", 1, true, runtime.WithDedupeKey("b")) // it is the same key
		p.Stop()

		p.Fixture = env.ReopenWith(t, p.Path, runtime.NewCatalogue(p.typ), runtime.WithDedupeWindow(time.Hour))
		p.capture("a", 1, true)
		time.Sleep(time.Hour)
		p.capture("a", 3, false)
	})
}

func (env *Env) TestAnEmptyFieldIsNoKeyAndALongOneIs(t *testing.T) {
	p := env.openPayments(t)
	for _, none := range []string{"", uuid.Nil.String()} {
		p.capture(none, 1, false)
		p.capture(none, 1, false)
		p.capture(none, 2, false)
	}
	long := strings.Repeat("x", 201)
	p.capture(long, 1, false)
	p.capture(long, 1, true)
	p.capture(long+"y", 1, false)
	p.capture(long[:200], 2, false)
	p.capture(long[:200], 2, true)
	if _, err := runtime.Publish(t.Context(), p.Bus, p.typ, captured{PaymentID: long, Amount: 2}); !Is[*event.ConflictError](err) {
		t.Errorf("another payload with a long key: %v", err)
	}
}

func (env *Env) TestEachEventOfABatchHasTheKeyOfItsField(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := env.openPayments(t)
		var handled Journal[string]
		_, err := runtime.Subscribe(p.Bus, p.typ, "all", func(_ context.Context, e runtime.Event[captured]) error {
			handled.Add(e.Payload.PaymentID)
			return nil
		})
		Must(t, err)
		p.MustStart()
		first := p.capture("a", 1, false)
		batch := []captured{{PaymentID: "b"}, {PaymentID: "a", Amount: 1}, {PaymentID: "c"}, {PaymentID: "b"}, {}, {}}
		receipts, err := runtime.PublishBatch(t.Context(), p.Bus, p.typ, batch)
		Must(t, err)
		for i, want := range []bool{false, true, false, true, false, false} {
			if receipts[i].Duplicate != want {
				t.Errorf("event %d: the receipt says Duplicate %v", i, receipts[i].Duplicate)
			}
			if outcome, err := receipts[i].Wait(t.Context()); err != nil || len(outcome.Deliveries) != 1 || outcome.ID != receipts[i].ID {
				t.Errorf("event %d: the outcome is %+v, %v", i, outcome, err)
			}
		}
		if receipts[1].ID != first.ID || receipts[3].ID != receipts[0].ID {
			t.Errorf("the duplicates are %v and %v, want %v and %v", receipts[1].ID, receipts[3].ID, first.ID, receipts[0].ID)
		}
		_, err = runtime.PublishBatch(t.Context(), p.Bus, p.typ, []captured{{PaymentID: "d"}, {PaymentID: "d", Amount: 1}})
		if !Is[*event.ConflictError](err) {
			t.Errorf("a batch that is in conflict with itself: %v", err)
		}
		p.capture("d", 2, false) // nothing of that batch is stored
		p.Idle()
		if got, want := handled.All(), []string{"a", "b", "c", "", "", "d"}; !slices.Equal(got, want) {
			t.Errorf("handled %q, want %q", got, want)
		}
	})
}

func (env *Env) TestWhatAHandlerPublishesHasTheKeyOfItsField(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := env.openPayments(t)
		first := p.capture("a", 1, false)
		p.Handle("parent", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			r, err := runtime.Publish(ctx, p.Bus, p.typ, captured{PaymentID: "a", Amount: 1})
			if err != nil || !r.Duplicate || r.ID != first.ID {
				t.Errorf("the receipt is %+v, %v", r, err)
			}
			if _, err := runtime.Publish(ctx, p.Bus, p.typ, captured{PaymentID: "a", Amount: 2}); !Is[*event.ConflictError](err) {
				t.Errorf("another payload: %v", err)
			}
			receipts, err := runtime.PublishBatch(ctx, p.Bus, p.typ, []captured{{PaymentID: "b"}, {PaymentID: "b"}})
			if err != nil || receipts[0].Duplicate || !receipts[1].Duplicate || receipts[1].ID != receipts[0].ID {
				t.Errorf("a batch: %+v, %v", receipts, err)
			}
			return nil
		})
		p.MustStart()
		p.Publish(1)
		p.Idle()
		p.capture("b", 0, true)
	})
}

func (env *Env) TestPublishMiddlewareSeesTheKeyOfAField(t *testing.T) {
	var keys Journal[string]
	p := env.openPayments(t, runtime.WithPublishMiddleware(func(_ context.Context, p *runtime.Publication) error {
		keys.Add(p.DedupeKey)
		return nil
	}))
	p.capture("a", 1, false)
	p.capture("a", 1, false, runtime.WithDedupeKey("own"))
	p.capture("", 1, false)
	if got, want := keys.All(), []string{"a", "own", ""}; !slices.Equal(got, want) {
		t.Errorf("the keys are %q, want %q", got, want)
	}
}

// An event that was handled before is not answered again, so a question has no key.
func (env *Env) TestAQuestionHasNoKeyOfAField(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := env.openPayments(t)
		_, err := runtime.SubscribeAnswer(p.Bus, p.typ, "answers", func(_ context.Context, e runtime.Event[captured]) (int, error) {
			return e.Payload.Amount, nil
		})
		Must(t, err)
		p.MustStart()
		p.capture("a", 1, false)
		for amount := range 2 {
			answer, err := runtime.Request[int](t.Context(), p.Bus, p.typ, captured{PaymentID: "a", Amount: amount})
			if err != nil || answer != amount {
				t.Errorf("the answer is %d, %v", answer, err)
			}
			answers, err := runtime.Collect[int](t.Context(), p.Bus, p.typ, captured{PaymentID: "b", Amount: amount})
			if err != nil || len(answers) != 1 || answers[0].Value != amount {
				t.Errorf("the answers are %v, %v", answers, err)
			}
		}
		p.capture("b", 2, false)
		if _, err := runtime.Request[int](t.Context(), p.Bus, p.typ, captured{}, runtime.WithDedupeKey("k")); !Is[*runtime.OptionError](err) {
			t.Errorf("a question with a key: %v", err)
		}
	})
}

func (env *Env) TestAScheduleHasNoKeyOfAField(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		typ := capturedType(declare.Schedule{Name: "hourly", Every: time.Hour, Payload: `{"payment_id":"a","amount":1,"trap":""}`})
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(typ))
		var handled atomic.Int32
		_, err := runtime.Subscribe(f.Bus, typ, "all", func(context.Context, runtime.Event[captured]) error {
			handled.Add(1)
			return nil
		})
		Must(t, err)
		f.MustStart()
		time.Sleep(3*time.Hour + time.Minute)
		synctest.Wait()
		if n := handled.Load(); n != 3 {
			t.Errorf("%d events are handled, want 3", n)
		}
		if r, err := runtime.Publish(t.Context(), f.Bus, typ, captured{PaymentID: "a", Amount: 2}); err != nil || r.Duplicate {
			t.Errorf("the key of a schedule's event: %+v, %v", r, err)
		}
	})
}

func (env *Env) TestAReplayARedriveAndANoticeHaveNoKeyOfAField(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := env.openPayments(t)
		var failing atomic.Bool
		var handled, notices atomic.Int32
		failing.Store(true)
		_, err := runtime.Subscribe(p.Bus, p.typ, "all", func(context.Context, runtime.Event[captured]) error {
			handled.Add(1)
			if failing.Load() {
				return runtime.Permanent(ErrBoom)
			}
			return nil
		})
		Must(t, err)
		_, err = runtime.SubscribeDead(p.Bus, p.typ, "notices", func(context.Context, runtime.Event[runtime.DeadLetter[captured]]) error {
			notices.Add(1)
			return nil
		})
		Must(t, err)
		p.MustStart()
		p.capture("a", 1, false)
		p.Idle()
		failing.Store(false)
		env.Redrive(t, p.Path, env.Letter(t, p.Path).Key)
		within()
		_, err = p.Replay(t.Context(), "all", event.ReplayFilter{})
		Must(t, err)
		p.Idle()
		if h, n := handled.Load(), notices.Load(); h != 3 || n != 1 {
			t.Errorf("the event was handled %d times and announced %d times, want 3 and 1", h, n)
		}
		p.capture("a", 1, true)
	})
}

// The publisher gets a panic as an error. Nothing is stored, also of a batch.
func (env *Env) TestCodeOfAKeyThatPanicsOrEndsItsGoroutineStoresNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := env.openPayments(t)
		p.MustStart()
		for _, trap := range []Trap{"panic in key", "nil dereference in key", "unprintable panic in key"} {
			_, err := runtime.PublishBatch(t.Context(), p.Bus, p.typ, []captured{{PaymentID: "a"}, {PaymentID: "b", Trap: trap}})
			invalid, ok := errors.AsType[*runtime.InvalidPayloadError](err)
			if !ok || invalid.Index != 1 || !Is[*runtime.PanicError](err) || !strings.Contains(err.Error(), "dedupe key") {
				t.Errorf("%s: %v", trap, err)
			}
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			runtime.PublishBatch(t.Context(), p.Bus, p.typ, []captured{{PaymentID: "a"}, {PaymentID: "b", Trap: "goexit in key"}})
			t.Error("the goroutine goes on")
		}()
		<-ended
		p.Handle("parent", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			if _, err := runtime.Publish(ctx, p.Bus, p.typ, captured{PaymentID: "a", Trap: "panic in key"}); !Is[*runtime.InvalidPayloadError](err) {
				t.Errorf("in a handler: %v", err)
			}
			return nil
		})
		p.Publish(1)
		p.Idle()
		if n := p.peek().stored(); n != 1 {
			t.Errorf("%d events are stored, want 1", n)
		}
		p.capture("a", 7, false)
	})
}
