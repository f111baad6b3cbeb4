package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// concurrently returns types whose settings have these concurrencies, and a catalogue of them.
// The first declares the subscription "declared" with a concurrency of its own.
func concurrently(placed, paid, declared int) (*runtime.EventType[OrderPlaced], *runtime.EventType[OrderPaid], *runtime.Catalogue) {
	settings := func(n int) declare.Settings {
		s := Within(30*time.Second, Exact())
		s.Concurrency = n
		return s
	}
	one := runtime.Define(runtime.Spec[OrderPlaced]{
		Name: "order.placed", Settings: settings(placed), PartitionBy: func(p OrderPlaced) string { return p.OrderID },
		Subscriptions: []declare.Subscription{{Name: "declared", Settings: settings(declared)}},
	})
	two := runtime.Define(runtime.Spec[OrderPaid]{Name: "order.paid", Settings: settings(paid)})
	return one, two, runtime.NewCatalogue(one, two)
}

// peak counts how many handlers run at once.
type peak struct {
	mu        sync.Mutex
	now, most int
}

func (p *peak) handle() error {
	p.mu.Lock()
	p.now++
	p.most = max(p.most, p.now)
	p.mu.Unlock()
	time.Sleep(time.Second)
	p.mu.Lock()
	p.now--
	p.mu.Unlock()
	return nil
}

func (p *peak) of() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

func (env *Env) TestTheCatalogueSaysHowManyHandlersRunAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		placed, paid, declared int
		subscribe              string // name of the subscription, or a pattern
		opts                   []runtime.SubscribeOption
		want                   int
	}{
		"nothing is set":                         {0, 0, 0, "plain", nil, 1},
		"the event type":                         {5, 1, 1, "plain", nil, 5},
		"the declared subscription":              {5, 1, 3, "declared", nil, 3},
		"an option":                              {5, 1, 1, "plain", []runtime.SubscribeOption{runtime.WithConcurrency(2)}, 2},
		"an option of one":                       {5, 1, 1, "plain", []runtime.SubscribeOption{runtime.WithConcurrency(1)}, 1},
		"a pattern: the smallest":                {5, 3, 1, "order.*", nil, 3},
		"a pattern over a type that is ordered":  {5, 0, 1, "order.*", nil, 1},
		"a pattern with an option":               {5, 1, 1, "order.*", []runtime.SubscribeOption{runtime.WithConcurrency(4)}, 4},
		"a group: the smallest":                  {5, 3, 1, "group", nil, 3},
		"a group with an option of one member":   {5, 3, 1, "group", []runtime.SubscribeOption{runtime.WithConcurrency(2)}, 2},
		"a group with an option larger than all": {1, 3, 1, "group", []runtime.SubscribeOption{runtime.WithConcurrency(6)}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				placed, paid, catalogue := concurrently(test.placed, test.paid, test.declared)
				f := env.ReopenWith(t, env.Target(t), catalogue)
				var p peak
				var err error
				switch test.subscribe {
				case "order.*":
					_, err = runtime.SubscribePattern(f.Bus, "order.*", "all", func(context.Context, runtime.Event[runtime.Raw]) error { return p.handle() }, test.opts...)
				case "group":
					_, err = runtime.Subscribe(f.Bus, placed, "first", func(context.Context, runtime.Event[OrderPlaced]) error { return p.handle() },
						append(test.opts, runtime.InGroup("both"))...)
					Must(t, err)
					_, err = runtime.Subscribe(f.Bus, paid, "second", func(context.Context, runtime.Event[OrderPaid]) error { return p.handle() }, runtime.InGroup("both"))
				default:
					_, err = runtime.Subscribe(f.Bus, placed, test.subscribe, func(context.Context, runtime.Event[OrderPlaced]) error { return p.handle() }, test.opts...)
				}
				Must(t, err)
				f.MustStart()
				for n := range 24 {
					_, err := runtime.Publish(t.Context(), f.Bus, placed, OrderPlaced{OrderID: fmt.Sprint(n)})
					Must(t, err)
				}
				f.Idle()
				if got := p.of(); got != test.want {
					t.Errorf("%d handlers ran at once, want %d", got, test.want)
				}
				if got := f.Stats().Subscriptions[0].Concurrency; got != test.want {
					t.Errorf("Stats says %d, want %d", got, test.want)
				}
			})
		})
	}
}

func (env *Env) TestConcurrencyOfTheCatalogueKeepsTheOrderOfEachKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		placed, _, catalogue := concurrently(8, 1, 1)
		f := env.ReopenWith(t, env.Target(t), catalogue)
		var seen [3]Journal[int]
		_, err := runtime.Subscribe(f.Bus, placed, "reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			time.Sleep(time.Duration(e.Payload.Number*7%5) * time.Millisecond)
			seen[e.Payload.OrderID[0]-'A'].Add(e.Payload.Number)
			return nil
		})
		Must(t, err)
		f.MustStart()
		for n := range 300 {
			_, err := runtime.Publish(t.Context(), f.Bus, placed, OrderPlaced{OrderID: string(rune('A' + n%3)), Number: n / 3})
			Must(t, err)
		}
		f.Idle()
		for key := range seen {
			if got := seen[key].All(); !slices.Equal(got, Numbers(0, 99)) {
				t.Errorf("key %d was handled in the order %v", key, got)
			}
		}
	})
}

func (env *Env) TestATunedConcurrencyNeedsARestartAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		placed, _, catalogue := concurrently(2, 1, 1)
		f := env.ReopenWith(t, env.Target(t), catalogue)
		tune := func(n int) {
			t.Helper()
			settings := placed.Any().Settings()
			settings.Concurrency = n
			Must(t, f.Tune(runtime.Tuning{Types: map[string]declare.Settings{"order.placed": settings}}))
		}
		var p peak
		_, err := runtime.Subscribe(f.Bus, placed, "reader", func(context.Context, runtime.Event[OrderPlaced]) error { return p.handle() })
		Must(t, err)
		own, err := runtime.Subscribe(f.Bus, placed, "own", func(context.Context, runtime.Event[OrderPlaced]) error { return nil }, runtime.WithConcurrency(7))
		Must(t, err)
		tune(3) // before the start it applies
		f.MustStart()
		warnings := func() (texts []string) {
			for _, line := range f.Log.Level(t, "WARN") {
				texts = append(texts, fmt.Sprint(line["msg"], " ", line["subscription_id"], " ", line["concurrency"], "->", line["tuned"]))
			}
			return texts
		}
		want := []string{"a tuned concurrency needs a restart reader 3->6", "a tuned concurrency needs a restart reader 3->5"}
		for _, step := range []struct{ tuned, next int }{{3, 0}, {6, 6}, {6, 6}, {5, 5}, {3, 0}} {
			tune(step.tuned)
			if got := f.Stats().Subscriptions[0]; got.Concurrency != 3 || got.NextConcurrency != step.next {
				t.Errorf("tuned to %d, Stats says %d, then %d; want 3, then %d", step.tuned, got.Concurrency, got.NextConcurrency, step.next)
			}
		}
		if got := warnings(); !slices.Equal(got, want) {
			t.Errorf("the log warns %q, want %q", got, want)
		}
		for n := range 24 {
			_, err := runtime.Publish(t.Context(), f.Bus, placed, OrderPlaced{OrderID: fmt.Sprint(n)})
			Must(t, err)
		}
		f.Idle()
		if got := p.of(); got != 3 {
			t.Errorf("%d handlers ran at once, want 3", got)
		}
		// A subscription that begins to deliver now has it.
		tune(6)
		Must(t, own.Unsubscribe(t.Context()))
		var late peak
		_, err = runtime.Subscribe(f.Bus, placed, "late", func(context.Context, runtime.Event[OrderPlaced]) error { return late.handle() }, runtime.FromBeginning())
		Must(t, err)
		f.Idle()
		if got := late.of(); got != 6 {
			t.Errorf("%d handlers of the new subscription ran at once, want 6", got)
		}
	})
}
