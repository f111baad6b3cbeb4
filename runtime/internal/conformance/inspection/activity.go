package inspection

import (
	"reflect"
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

// soon is how long it takes until others see that a breaker has changed.
const soon = 101 * time.Millisecond

// withBreaker has the built-in circuit breaker, and no second attempt.
var withBreaker = []runtime.SubscribeOption{runtime.WithBreaker(breaker.On()), runtime.WithRetry(retry.MaxAttempts(1))}

func (f *Fixture) Breakers() []event.Breaker {
	f.t.Helper()
	breakers, err := f.File.Breakers(f.t.Context())
	Must(f.t, err)
	return breakers
}

func (f *Fixture) Running() []event.Running {
	f.t.Helper()
	running, err := f.File.Running(f.t.Context())
	Must(f.t, err)
	return running
}

// Order publishes one.
func (f *Fixture) Order(number int) {
	f.t.Helper()
	_, err := runtime.Publish(f.t.Context(), f.Bus, PlacedType, Order{Number: number})
	Must(f.t, err)
}

// Opened returns a bus with a printer whose breaker has just opened, and the time of
// that.
func (env *Env) Opened(t *testing.T, broken *atomic.Bool, printed *Handled, opts ...runtime.SubscribeOption) (*Fixture, time.Time) {
	t.Helper()
	f := env.Open(t)
	broken.Store(true)
	f.Subscribe("printer", func(number, attempt int) error {
		if broken.Load() {
			return ErrBroken
		}
		return printed.Handle(number, attempt)
	}, append(opts, withBreaker...)...)
	f.Subscribe("ledger", Fine, withBreaker...)
	f.MustStart()
	at := time.Now()
	for n := range 6 {
		f.Order(n)
	}
	time.Sleep(soon)
	return f, at.UTC()
}

func (env *Env) TestAnOpenBreakerIsSeenFromOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		var printed Handled
		f, at := env.Opened(t, &broken, &printed)
		want := event.Breaker{
			Subscription: "printer", State: "open", Since: at, Until: at.Add(30 * time.Second),
			Failures: 4, Deliveries: 4, LastError: ErrBroken.Error(),
		}
		if got := f.Breakers(); len(got) != 1 || got[0] != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		status, err := f.File.Status(t.Context())
		Must(t, err)
		if len(status.Breakers) != 1 || status.Breakers[0] != want {
			t.Errorf("the status has %+v", status.Breakers)
		}
		time.Sleep(30 * time.Second) // a probe has failed
		want.Until, want.Failures, want.Deliveries = want.Until.Add(30*time.Second), 5, 5
		if got := f.Breakers(); len(got) != 1 || got[0] != want {
			t.Errorf("after a probe got %+v, want %+v", got, want)
		}
		broken.Store(false)
		time.Sleep(30 * time.Second)
		if got := f.Breakers(); len(got) != 0 || len(printed.All()) != 1 {
			t.Errorf("after one that went well there are %+v, and %v were printed", got, printed.All())
		}
	})
}

func (env *Env) TestWhatParkedDeliveriesWaitForIsSeenFromOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "odd", AtOnce: 1}))
		f.Subscribe("printer", func(int, int) error { time.Sleep(4 * time.Second); return nil },
			runtime.WithConcurrency(2), runtime.WithLimits(declare.LimitUse{Limit: "odd", By: "odd"}))
		f.MustStart()
		var orders []Order
		for n := range 500 {
			orders = append(orders, Order{Number: 2*n + 1})
		}
		at := time.Now()
		_, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, orders)
		Must(t, err)
		time.Sleep(10*time.Second + time.Second/2)
		waitlists, err := f.File.Waitlists(t.Context())
		Must(t, err)
		want := event.Waitlist{Subscription: "printer", Kind: event.WaitlistLimit, Limit: "odd", Key: "true"}
		if len(waitlists) != 1 || waitlists[0].Waiting < 300 || waitlists[0].Waiting > 490 || waitlists[0].Since.Before(at) {
			t.Fatalf("%d waitlists: %+v, want %+v", len(waitlists), waitlists, want)
		}
		if waitlists[0].Waiting, waitlists[0].Since = 0, (time.Time{}); waitlists[0] != want {
			t.Errorf("got %+v, want %+v", waitlists[0], want)
		}
		status, err := f.File.Status(t.Context())
		Must(t, err)
		if s := status.Subscriptions[0]; len(status.Waitlists) != 1 || s.Held != 0 || s.Waiting < 300 {
			t.Errorf("the status has %+v, and %+v", status.Waitlists, s)
		}
		running, err := f.File.Running(t.Context())
		Must(t, err)
		if held := waitlists[0].HeldBy(running); len(held) != 1 || held[0].Subscription != "printer" || !held[0].Started.After(at) {
			t.Errorf("the limit is held by %+v, and these are running: %+v", held, running)
		}
		last, _, err := f.File.Events(t.Context(), event.Filter{}, event.Page{Limit: 1})
		Must(t, err)
		shown, err := f.File.Event(t.Context(), last[0].ID)
		Must(t, err)
		if d := shown.Deliveries[0]; d.State != event.StateWaiting || d.WaitsFor != "limit odd true" || !d.Due.IsZero() {
			t.Errorf("the last event is %+v", d)
		}
	})
}

func (env *Env) TestHandlersThatRunForLongAreSeenFromOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Subscribe("printer", func(number, _ int) error {
			switch number {
			case 1:
				time.Sleep(500 * time.Millisecond)
			case 2:
				time.Sleep(5 * time.Second)
			case 3:
				time.Sleep(time.Minute) // and ignores its deadline
			}
			return nil
		}, runtime.WithTimeout(10*time.Second), runtime.WithConcurrency(2), runtime.WithRetry(retry.MaxAttempts(1)))
		f.MustStart()
		time.Sleep(500 * time.Millisecond)
		f.Order(1)
		time.Sleep(900 * time.Millisecond)
		if got := f.Running(); len(got) != 0 {
			t.Errorf("a handler of half a second: %+v", got)
		}
		began := time.Now().UTC()
		receipt, err := runtime.Publish(t.Context(), f.Bus, PlacedType, Order{Number: 3})
		Must(t, err)
		time.Sleep(200 * time.Millisecond)
		f.Order(2)
		time.Sleep(2500 * time.Millisecond)
		want := event.Running{
			Subscription: "printer", Event: receipt.ID, Type: "order.placed", Attempt: 1, Started: began, Deadline: began.Add(10 * time.Second),
		}
		got := f.Running()
		if len(got) != 2 || got[1].Worker == got[0].Worker || got[1].Started.Sub(began) != 200*time.Millisecond {
			t.Fatalf("two handlers are at work: %+v", got)
		}
		want.Worker = got[0].Worker
		if !reflect.DeepEqual(got[0], want) {
			t.Errorf("got %+v, want %+v", got[0], want)
		}
		time.Sleep(10 * time.Second)
		want.Abandoned = true
		if got := f.Running(); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("left behind is %+v, want %+v", got, want)
		}
		status, err := f.File.Status(t.Context())
		Must(t, err)
		if len(status.Running) != 1 || status.Subscriptions[0].Dead != 1 {
			t.Errorf("the status is %+v", status)
		}
		time.Sleep(time.Minute)
		if got := f.Running(); len(got) != 0 {
			t.Errorf("after it has returned: %+v", got)
		}
	})
}
