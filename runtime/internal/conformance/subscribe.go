package conformance

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

func (env *Env) TestABadSubscriptionIsRefused(t *testing.T) {
	ok := func(context.Context, runtime.Event[OrderPlaced]) error { return nil }
	raw := func(context.Context, runtime.Event[runtime.Raw]) error { return nil }
	unknown := runtime.Define(runtime.Spec[UserCreated]{Name: "user.gone", Settings: Within(time.Second, Exact())})
	for name, test := range map[string]struct {
		subscribe func(f *Fixture) (*runtime.Subscription, error)
		message   string
	}{
		"without a name": {func(f *Fixture) (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, "", ok)
		}, "needs a name"},
		"with spaces around the name": {func(f *Fixture) (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, " x", ok)
		}, "needs a name"},
		"with a name that cannot be printed": {func(f *Fixture) (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, "a\x00b", ok)
		}, "cannot be printed"},
		"with a very long name": {func(f *Fixture) (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, strings.Repeat("x", 201), ok)
		}, "the limit is 200"},
		"with a name that is taken": {func(f *Fixture) (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, "taken", ok)
		}, "there is one of this name already"},
		"without a handler": {func(f *Fixture) (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, "x", nil)
		}, "the handler is nil"},
		"to a type of another catalogue": {func(f *Fixture) (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, unknown, "x", func(context.Context, runtime.Event[UserCreated]) error { return nil })
		}, "user.gone is not in the catalogue"},
		"to a pattern that is not one": {func(f *Fixture) (*runtime.Subscription, error) {
			return runtime.SubscribePattern(f.Bus, "order.pl*", "x", raw)
		}, "order.pl*"},
		"to a pattern that matches nothing": {func(f *Fixture) (*runtime.Subscription, error) {
			return runtime.SubscribePattern(f.Bus, "ordr.*", "x", raw)
		}, "no event type of the catalogue matches ordr.*"},
		"with a timeout of nothing": {func(f *Fixture) (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, "x", ok, runtime.WithTimeout(0))
		}, "not positive"},
		"with no workers": {func(f *Fixture) (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, "x", ok, runtime.WithConcurrency(0))
		}, "1 to 1024"},
		"with a policy that cannot be": {func(f *Fixture) (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, "x", ok, runtime.WithRetry(retry.MaxAttempts(0)))
		}, "order.placed"},
	} {
		t.Run(name, func(t *testing.T) {
			f := env.Open(t)
			f.Handle("taken", ok)
			s, err := test.subscribe(f)
			if s != nil || err == nil || !strings.Contains(err.Error(), test.message) {
				t.Errorf("got %v, want one that says %q", err, test.message)
			}
			if got := f.peek().subscriptions(); len(got) != 1 {
				t.Errorf("the file has the subscriptions %q, want the one that is taken", got)
			}
		})
	}
}

func (env *Env) TestABadOptionIsRefused(t *testing.T) {
	for _, opt := range []runtime.Option{runtime.WithLogger(nil), runtime.WithPayloadLimit(0), runtime.WithPayloadLimit(64<<20 + 1), runtime.WithShutdownTimeout(0), runtime.WithDedupeWindow(0), runtime.WithDurability(7), runtime.WithRetention(0), runtime.WithMaxPending(0, runtime.Block), runtime.WithMaxPending(1, 9)} {
		if _, err := env.OpenBus(t.Context(), t.TempDir()+"/x.db", Catalogue, opt); err == nil || !strings.Contains(err.Error(), "x.db: With") {
			t.Errorf("Open returned %v", err)
		}
	}
	if _, err := env.OpenBus(t.Context(), t.TempDir()+"/x.db", nil); err == nil {
		t.Error("a bus without a catalogue was opened")
	}
}
