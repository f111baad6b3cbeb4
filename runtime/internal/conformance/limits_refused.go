package conformance

import (
	"context"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// Limits that do not exist, and uses that make no sense, are refused before anything is
// done.

func (env *Env) TestASubscriptionIsRefusedLimitsThatItCannotUse(t *testing.T) {
	f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
	one := func(context.Context, runtime.Event[OrderPlaced]) error { return nil }
	many := func(context.Context, []runtime.Event[OrderPlaced]) error { return nil }
	dead := func(context.Context, runtime.Event[runtime.DeadLetter[OrderPlaced]]) error { return nil }
	subscribe := func(opt runtime.SubscribeOption) error {
		_, err := runtime.Subscribe(f.Bus, PlacedType, "mailer", one, opt)
		return err
	}
	batch := func(opt runtime.SubscribeOption) error {
		_, err := runtime.SubscribeBatch(f.Bus, PlacedType, "mailer", many, opt)
		return err
	}
	deadLetters := func(opt runtime.SubscribeOption) error {
		_, err := runtime.SubscribeDead(f.Bus, PlacedType, "mailer", dead, opt)
		return err
	}
	for _, c := range []struct {
		subscribe func(runtime.SubscribeOption) error
		uses      []declare.LimitUse
		want      string
	}{
		{subscribe, []declare.LimitUse{{Limit: "mall"}}, `there is no limit "mall"; did you mean "mail"?`},
		{subscribe, []declare.LimitUse{{Limit: "stripe"}}, `there is no limit "stripe": declare it`},
		{subscribe, []declare.LimitUse{{Limit: "mail", By: "number"}}, `order.placed has no function for this path (it has order_id)`},
		{subscribe, []declare.LimitUse{{Limit: "mail"}, {Limit: "mail"}}, `the limit "mail" is there twice`},
		{subscribe, []declare.LimitUse{{}}, `a limit needs a name`},
		{batch, []declare.LimitUse{{Limit: "mail", By: "order_id"}}, `a batch has events of several values`},
		{deadLetters, []declare.LimitUse{{Limit: "mail", By: "order_id"}}, `a dead-letter notice`},
	} {
		err := c.subscribe(runtime.WithLimits(c.uses...))
		if !Is[*runtime.SubscribeError](err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.uses, err, c.want)
		}
	}
	Must(t, subscribe(runtime.WithLimits(declare.LimitUse{Limit: "mail", By: "order_id"})))
}

func (env *Env) TestABusIsRefusedACatalogueWhoseLimitsItDoesNotHave(t *testing.T) {
	settings := declare.DefaultSettings()
	settings.Limits = []declare.LimitUse{{Limit: "mail"}}
	catalogue := func(spec runtime.Spec[UserCreated]) *runtime.Catalogue {
		spec.Name = "user.created"
		return runtime.NewCatalogue(runtime.Define(spec)).WithLimits(declare.Limit{Name: "mails", AtOnce: 1})
	}
	ofType := catalogue(runtime.Spec[UserCreated]{Settings: settings})
	ofSubscription := catalogue(runtime.Spec[UserCreated]{
		Settings: declare.DefaultSettings(), Subscriptions: []declare.Subscription{{Name: "mailer", Settings: settings}},
	})
	for of, c := range map[string]*runtime.Catalogue{"event type user.created": ofType, `subscription "mailer"`: ofSubscription} {
		_, err := env.OpenBus(t.Context(), env.Target(t), c)
		if want := of + `: there is no limit "mail"; did you mean "mails"?`; !Is[*runtime.UnknownLimitError](err) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		f := env.ReopenWith(t, env.Target(t), c, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
		f.Stop()
	}
	_, err := env.OpenBus(t.Context(), env.Target(t), Catalogue, runtime.WithLimit(declare.Limit{Name: "mail"}))
	if want := `WithLimit("mail"): neither AtOnce nor Rate is set`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
