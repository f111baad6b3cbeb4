package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/cloudevents"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/observe"
)

// noteWithHeaders is an event type that requires a tenant, and may have other headers.
func noteWithHeaders(schedules ...declare.Schedule) *runtime.EventType[note] {
	return runtime.Define(runtime.Spec[note]{Name: "note.taken", Settings: declare.DefaultSettings(), Schedules: schedules, Headers: []declare.Header{
		{Name: "tenant", Type: "string", Required: true, Option: "WithTenant"},
		{Name: "request_id", Type: "uuid", Option: "WithRequestID"},
		{Name: "due", Type: "date"},
	}})
}

// withTenant is what generated code has.
func withTenant(tenant string) runtime.PublishOption { return runtime.WithHeader("tenant", tenant) }

func withText(key, value string) runtime.PublishOption {
	return runtime.WithMetadata(map[string]string{key: value})
}

// publishers are the ways to publish a note.
func publishers(noteType *runtime.EventType[note]) map[string]func(ctx context.Context, to *runtime.Bus, opts ...runtime.PublishOption) error {
	return map[string]func(ctx context.Context, to *runtime.Bus, opts ...runtime.PublishOption) error{
		"Publish": func(ctx context.Context, to *runtime.Bus, opts ...runtime.PublishOption) error {
			_, err := runtime.Publish(ctx, to, noteType, note{1}, opts...)
			return err
		},
		"PublishBatch": func(ctx context.Context, to *runtime.Bus, opts ...runtime.PublishOption) error {
			_, err := runtime.PublishBatch(ctx, to, noteType, []note{{1}}, opts...)
			return err
		},
		"later": func(ctx context.Context, to *runtime.Bus, opts ...runtime.PublishOption) error {
			_, err := runtime.Publish(ctx, to, noteType, note{1}, append(opts, runtime.WithDelay(time.Second))...)
			return err
		},
	}
}

func (env *Env) TestHeadersAreCheckedHoweverAnEventIsPublished(t *testing.T) {
	noteType := noteWithHeaders()
	id := uuid.New()
	cases := map[string]struct {
		opts []runtime.PublishOption
		want string // of the error; empty for none
	}{
		"none":               {nil, "this note.taken has no header tenant, which is required: give Publish the option WithTenant"},
		"another":            {[]runtime.PublishOption{runtime.WithHeader("request_id", id)}, "no header tenant"},
		"an empty one":       {[]runtime.PublishOption{withTenant("")}, "has a header tenant that is no string: it is empty: use the option WithTenant"},
		"no UUID":            {[]runtime.PublishOption{withTenant("acme"), withText("request_id", "7")}, `has a header request_id that is no uuid: "7" is not a UUID: use the option WithRequestID`},
		"a UUID in braces":   {[]runtime.PublishOption{withTenant("acme"), withText("request_id", "{"+id.String()+"}")}, "is not a UUID"},
		"no date":            {[]runtime.PublishOption{withTenant("acme"), runtime.WithHeader("due", runtime.Date{Year: 2026, Month: 2, Day: 30})}, `this note.taken has a header due that is no date: 2026-02-30 is not a day of the calendar: use the option WithHeader("due", …)`},
		"a date of another":  {[]runtime.PublishOption{withTenant("acme"), runtime.WithHeader("due", 7)}, "is no date"},
		"the bus's own":      {[]runtime.PublishOption{withTenant("acme"), runtime.WithHeader("parent_id", id)}, "is written by the bus itself"},
		"the required one":   {[]runtime.PublishOption{withTenant("acme")}, ""},
		"as a text":          {[]runtime.PublishOption{withText("tenant", "acme"), withText("undeclared", "\n")}, ""},
		"the later one wins": {[]runtime.PublishOption{withText("request_id", "7"), withTenant("acme"), runtime.WithHeader("request_id", id)}, ""},
	}
	synctest.Test(t, func(t *testing.T) {
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(noteType, PlacedType))
		_, err := runtime.Subscribe(f.Bus, noteType, "reader", func(_ context.Context, e runtime.Event[note]) error {
			if tenant, err := runtime.HeaderOf[string](e.Metadata, "tenant"); tenant != "acme" || err != nil {
				t.Errorf("the tenant is %q, %v", tenant, err)
			}
			if got, err := runtime.HeaderOf[uuid.UUID](e.Metadata, "request_id"); got != id && !errors.Is(err, runtime.ErrNoHeader) {
				t.Errorf("the request is %v, %v", got, err)
			}
			return nil
		})
		Must(t, err)
		var outcomes Journal[error]
		f.Handle("publisher", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			for _, publish := range publishers(noteType) {
				outcomes.Add(publish(ctx, f.Bus, cases[e.Payload.OrderID].opts...))
			}
			return nil
		})
		f.MustStart()
		check := func(what, want string, err error) {
			var wrong *runtime.HeaderError
			switch {
			case want == "" && err != nil:
				t.Errorf("%s: %v", what, err)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s: got %v, want %s", what, err, want)
			case want != "" && !strings.Contains(want, "by the bus itself") && (!errors.As(err, &wrong) || wrong.EventType != "note.taken" || wrong.Header == "" || wrong.Type == ""):
				t.Errorf("%s: got %#v", what, err)
			}
		}
		stored := 0
		for name, one := range cases {
			for way, publish := range publishers(noteType) {
				check(way+" "+name, one.want, publish(t.Context(), f.Bus, one.opts...))
			}
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: name})
			Must(t, err)
			f.Idle()
			for _, err := range outcomes.All()[3*stored:] {
				check("in a handler: "+name, one.want, err)
			}
			stored++
		}
		f.Idle()
		notes := len(f.peek().events("note.taken"))
		if want := 3 * 6; notes != want {
			t.Errorf("%d notes are stored, want %d", notes, want)
		}
	})
}

func (env *Env) TestPublishMiddlewareAndObserversCanSetHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noteType := noteWithHeaders()
		var by string
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(noteType), runtime.WithPublishMiddleware(func(_ context.Context, p *runtime.Publication) error {
			if by != "" {
				p.Metadata["tenant"] = by
			}
			if by == "wrong" {
				p.Metadata["due"] = "tomorrow"
			}
			return nil
		}))
		f.MustStart()
		for _, one := range []struct{ by, want string }{{"", "no header tenant"}, {"acme", ""}, {"wrong", "that is no date"}} {
			by = one.by
			_, err := runtime.Publish(t.Context(), f.Bus, noteType, note{1})
			if one.want == "" && err != nil || one.want != "" && (!Is[*runtime.HeaderError](err) || !strings.Contains(err.Error(), one.want)) {
				t.Errorf("%q: %v", one.by, err)
			}
		}

		observed := map[string]string{"due": "tomorrow", "tenant": "of the observer"}
		g := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(noteType), runtime.WithObserver(observe.Observer{
			Publishing: func(context.Context, observe.PublishingInfo) observe.Publishing {
				return observe.Publishing{Metadata: observed}
			},
		}))
		g.MustStart()
		_, err := runtime.Publish(t.Context(), g.Bus, noteType, note{1}, withTenant("acme"))
		Must(t, err) // what an observer adds fails no event
		delete(observed, "due")
		_, err = runtime.Publish(t.Context(), g.Bus, noteType, note{2})
		Must(t, err)
		var all []string
		for _, e := range g.peek().events("note.taken") {
			all = append(all, string(e.Metadata))
		}
		if got, want := fmt.Sprint(all), `[{"tenant":"acme"} {"tenant":"of the observer"}]`; got != want {
			t.Errorf("stored is %s, want %s", got, want)
		}
	})
}

func (env *Env) TestJSONFromOutsideNeedsItsHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(noteWithHeaders()))
		f.MustStart()
		one := runtime.JSONEvent{Type: "note.taken", Payload: []byte(`{"n":1}`)}
		good := one
		good.Metadata = map[string]string{"tenant": "acme"}
		_, err := runtime.PublishJSON(t.Context(), f.Bus, []runtime.JSONEvent{good, one})
		if item, ok := errors.AsType[*runtime.ItemError](err); !ok || item.Index != 1 || !Is[*runtime.HeaderError](err) {
			t.Errorf("got %v", err)
		}
		status, problem := receives(cloudevents.Receive(f.Bus), "", sent("1", "note.taken", `{"n":1}`, `,"tenant":"acme"`))
		if text := fmt.Sprint(problem); status != 422 || !strings.Contains(text, "header") || !strings.Contains(text, "tenant") {
			t.Errorf("a CloudEvent is refused with %d, %s", status, text)
		}
		if stored := f.peek().stored(); stored != 0 {
			t.Errorf("%d events are stored", stored)
		}
	})
}

func (env *Env) TestNoScheduleIsOpenedWithoutTheHeadersOfItsEvent(t *testing.T) {
	noteType := noteWithHeaders(declare.Schedule{Name: "hourly", Every: time.Hour, Payload: `{"n":1}`})
	bus, err := env.OpenBus(t.Context(), env.Target(t), runtime.NewCatalogue(noteType))
	if err == nil {
		bus.Shutdown(context.Background())
	}
	if !Is[*runtime.HeaderError](err) || !strings.Contains(err.Error(), "schedule hourly") || !strings.Contains(err.Error(), "tenant") {
		t.Errorf("got %v", err)
	}
}
