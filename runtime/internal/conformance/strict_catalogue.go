package conformance

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

// strictly returns types with a strict order or without, and a catalogue of them. The first has a partition key,
// and declares the subscription "declared".
func strictly(placed, paid, declared bool) (*runtime.EventType[OrderPlaced], *runtime.EventType[OrderPaid], *runtime.Catalogue) {
	settings := func(strict bool) declare.Settings {
		s := Within(30*time.Second, Exact(retry.MaxAttempts(2)))
		s.StrictOrder = strict
		return s
	}
	one := runtime.Define(runtime.Spec[OrderPlaced]{
		Name: "order.placed", Settings: settings(placed), PartitionBy: func(p OrderPlaced) string { return p.OrderID },
		Subscriptions: []declare.Subscription{{Name: "declared", Settings: settings(declared)}},
	})
	two := runtime.Define(runtime.Spec[OrderPaid]{Name: "order.paid", Settings: settings(paid)})
	return one, two, runtime.NewCatalogue(one, two)
}

func (env *Env) TestTheCatalogueSaysWhichSubscriptionsHaveAStrictOrder(t *testing.T) {
	with, without := runtime.WithStrictOrder(), runtime.WithoutStrictOrder()
	for name, test := range map[string]struct {
		placed, paid, declared bool
		subscribe              string // name of the subscription, or a pattern
		opts                   []runtime.SubscribeOption
		want                   bool
	}{
		"nothing is set":                            {false, false, false, "plain", nil, false},
		"the event type":                            {true, false, false, "plain", nil, true},
		"the declared subscription":                 {false, false, true, "declared", nil, true},
		"the declared subscription has none":        {true, true, false, "declared", nil, false},
		"an option":                                 {false, false, false, "declared", []runtime.SubscribeOption{with}, true},
		"an option against it":                      {true, true, true, "declared", []runtime.SubscribeOption{without}, false},
		"the last option":                           {false, false, false, "plain", []runtime.SubscribeOption{with, without}, false},
		"a pattern: one of its types has it":        {false, true, false, "order.*", nil, true},
		"a pattern with an option against it":       {true, true, true, "order.*", []runtime.SubscribeOption{without}, false},
		"a group: a type of one member has it":      {false, true, false, "group", nil, true},
		"a group with an option of one member":      {false, false, false, "group", []runtime.SubscribeOption{with}, true},
		"a group with an option against it":         {true, false, false, "group", []runtime.SubscribeOption{without}, false},
		"a group, of which the other member has it": {true, true, false, "group", []runtime.SubscribeOption{without}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				placed, paid, catalogue := strictly(test.placed, test.paid, test.declared)
				f := env.ReopenWith(t, env.Target(t), catalogue)
				var order Journal[int]
				handle := func(n, attempt int) error {
					order.Add(n)
					if n == 1 && attempt == 1 {
						return ErrBoom
					}
					return nil
				}
				typed := func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					return handle(e.Payload.Number, e.Attempt)
				}
				var err error
				switch test.subscribe {
				case "order.*":
					_, err = runtime.SubscribeNamespace(f.Bus, "order.*", "all", func(_ context.Context, e runtime.Event[runtime.Payload]) error {
						return handle(e.Payload.(OrderPlaced).Number, e.Attempt)
					}, test.opts...)
				case "group":
					_, err = runtime.Subscribe(f.Bus, placed, "first", typed, append(test.opts, runtime.InGroup("both"))...)
					Must(t, err)
					_, err = runtime.Subscribe(f.Bus, paid, "second", func(context.Context, runtime.Event[OrderPaid]) error { return nil }, runtime.InGroup("both"))
				default:
					_, err = runtime.Subscribe(f.Bus, placed, test.subscribe, typed, test.opts...)
				}
				Must(t, err)
				if got := f.Stats().Subscriptions[0].StrictOrder; got != test.want {
					t.Errorf("before the start Stats says %v, want %v", got, test.want)
				}
				f.MustStart()
				for n := 1; n <= 2; n++ {
					_, err := runtime.Publish(t.Context(), f.Bus, placed, OrderPlaced{OrderID: "A", Number: n})
					Must(t, err)
				}
				f.Idle()
				want := []int{1, 2, 1}
				if test.want {
					want = []int{1, 1, 2}
				}
				if got := order.All(); !slices.Equal(got, want) {
					t.Errorf("the order is %v, want %v", got, want)
				}
				if got := f.Stats().Subscriptions[0].StrictOrder; got != test.want {
					t.Errorf("Stats says %v, want %v", got, test.want)
				}
			})
		})
	}
}

// Notices have no key, so one that fails would hold back all others.
func (env *Env) TestAStrictOrderOfTheCatalogueIsNotThatOfDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		placed, _, catalogue := strictly(true, true, true)
		f := env.ReopenWith(t, env.Target(t), catalogue)
		var order Journal[int]
		_, err := runtime.Subscribe(f.Bus, placed, "broken", func(context.Context, runtime.Event[OrderPlaced]) error { return runtime.Permanent(ErrBoom) })
		Must(t, err)
		_, err = runtime.SubscribeDead(f.Bus, placed, "alert", func(_ context.Context, e runtime.Event[runtime.DeadLetter[OrderPlaced]]) error {
			order.Add(e.Payload.Event.Payload.Number)
			if e.Payload.Event.Payload.Number == 1 && e.Attempt == 1 {
				return ErrBoom
			}
			return nil
		})
		Must(t, err)
		f.MustStart()
		for n := 1; n <= 2; n++ {
			_, err := runtime.Publish(t.Context(), f.Bus, placed, OrderPlaced{OrderID: fmt.Sprint(n), Number: n})
			Must(t, err)
		}
		f.Idle()
		if got, want := order.All(), []int{1, 2, 1}; !slices.Equal(got, want) {
			t.Errorf("the order is %v, want %v", got, want)
		}
	})
}

func (env *Env) TestBatchesWithAStrictOrderOfTheCatalogueNeedAPartitionKey(t *testing.T) {
	_, paid, catalogue := strictly(true, true, true)
	f := env.ReopenWith(t, env.Target(t), catalogue)
	nothing := func(context.Context, []runtime.Event[OrderPaid]) error { return nil }
	if _, err := runtime.SubscribeBatch(f.Bus, paid, "batches", nothing); err == nil {
		t.Error("a batch subscription in strict order without a key is made")
	}
	_, err := runtime.SubscribeBatch(f.Bus, paid, "batches", nothing, runtime.WithoutStrictOrder())
	Must(t, err)
	settings := paid.Any().Settings()
	Must(t, f.Tune(runtime.Tuning{Types: map[string]declare.Settings{"order.paid": settings}}))
}

func (env *Env) TestATunedStrictOrderNeedsARestartAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		placed, _, catalogue := strictly(false, false, false)
		f := env.ReopenWith(t, env.Target(t), catalogue)
		tune := func(strict bool) {
			t.Helper()
			settings := placed.Any().Settings()
			settings.StrictOrder = strict
			Must(t, f.Tune(runtime.Tuning{Types: map[string]declare.Settings{"order.placed": settings}}))
		}
		_, err := runtime.Subscribe(f.Bus, placed, "reader", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		Must(t, err)
		_, err = runtime.Subscribe(f.Bus, placed, "own", func(context.Context, runtime.Event[OrderPlaced]) error { return nil }, runtime.WithoutStrictOrder())
		Must(t, err)
		tune(true) // before the start it applies
		f.MustStart()
		next := func() string {
			s := f.Stats().Subscriptions[0]
			if s.NextStrictOrder == nil {
				return fmt.Sprint(s.StrictOrder)
			}
			return fmt.Sprint(s.StrictOrder, "->", *s.NextStrictOrder)
		}
		for _, step := range []struct {
			tuned bool
			want  string
		}{{true, "true"}, {false, "true->false"}, {false, "true->false"}, {true, "true"}} {
			tune(step.tuned)
			if got := next(); got != step.want {
				t.Errorf("tuned to %v, Stats says %s, want %s", step.tuned, got, step.want)
			}
		}
		var warnings []string
		for _, line := range f.Log.Level(t, "WARN") {
			warnings = append(warnings, fmt.Sprint(line["msg"], " ", line["subscription_id"], " ", line["strict_order"], "->", line["tuned"]))
		}
		if want := []string{"a tuned strict order needs a restart reader true->false"}; !slices.Equal(warnings, want) {
			t.Errorf("the log warns %q, want %q", warnings, want)
		}
		// A subscription that begins to deliver now has what is tuned.
		tune(false)
		_, err = runtime.Subscribe(f.Bus, placed, "late", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		Must(t, err)
		if late := f.Stats().Subscriptions[2]; late.Name != "late" || late.StrictOrder || late.NextStrictOrder != nil {
			t.Errorf("the late one: %v, next %v", late.StrictOrder, late.NextStrictOrder)
		}
	})
}
