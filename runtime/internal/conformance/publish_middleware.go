package conformance

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
)

type tenantKey struct{}

// stamped writes the tenant of the context, and the number of an order.
func stamped(ctx context.Context, p *runtime.Publication) error {
	if tenant, ok := ctx.Value(tenantKey{}).(string); ok {
		p.Metadata["tenant"] = tenant
	}
	if order, ok := p.Payload.(OrderPlaced); ok {
		p.Metadata["number"] = fmt.Sprint(order.Number)
	}
	delete(p.Metadata, "secret")
	return nil
}

func (env *Env) TestPublishMiddlewareWritesMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := func(_ context.Context, p *runtime.Publication) error {
			p.Metadata["after"] = p.Metadata["number"]
			return nil
		}
		f := env.Open(t, runtime.WithPublishMiddleware(stamped), runtime.WithPublishMiddleware(after))
		answer(f, "carrier", says("yes", 0))
		f.Handle("publisher", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number != 1 {
				return nil
			}
			ctx = context.WithValue(ctx, tenantKey{}, "of the handler")
			_, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 10})
			Must(t, err)
			_, err = runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 11}, runtime.Immediately())
			return err
		})
		f.MustStart()
		ctx := context.WithValue(t.Context(), tenantKey{}, "acme")
		given := runtime.WithMetadata(map[string]string{"secret": "s", "kept": "k"})
		_, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 1}, given, runtime.WithCorrelationID("c"), runtime.WithPriority(runtime.PriorityHigh))
		Must(t, err)
		_, err = runtime.PublishBatch(ctx, f.Bus, PlacedType, []OrderPlaced{{OrderID: "A", Number: 2}, {OrderID: "A", Number: 3}}, given)
		Must(t, err)
		_, err = runtime.Request[string](t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 4})
		Must(t, err)
		f.Idle()
		parent := ""
		var got []string
		for _, e := range f.peek().events("order.placed") {
			if strings.Contains(string(e.Payload), `"number":1,`) {
				parent = e.ID.String()
			}
			got = append(got, string(e.Metadata))
		}
		child := `"correlation_id":"c","hops":"1","number":"%d","parent_id":"` + parent + `","published_by":"publisher","tenant":"of the handler"}`
		want := []string{
			`{"after":"1","busgen.priority":"high","correlation_id":"c","kept":"k","number":"1","tenant":"acme"}`,
			`{"after":"2","kept":"k","number":"2","tenant":"acme"}`,
			`{"after":"3","kept":"k","number":"3","tenant":"acme"}`,
			`{"after":"4","number":"4"}`,
			fmt.Sprintf(`{"after":"10",`+child, 10),
			fmt.Sprintf(`{"after":"11",`+child, 11),
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("the metadata is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func (env *Env) TestPublishMiddlewareSeesWhatIsToBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen Journal[runtime.Publication]
		f := env.Open(t, runtime.WithPublishMiddleware(func(_ context.Context, p *runtime.Publication) error {
			seen.Add(*p)
			p.Type, p.Payload, p.ID, p.Due = "nonsense", nil, uuid.Nil, time.Time{} // to no avail
			return nil
		}))
		f.Handle("publisher", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: "child"})
			return err
		})
		f.MustStart()
		due := time.Now().Add(time.Hour)
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "\xff"})
		if !Is[*runtime.InvalidPayloadError](err) || len(seen.All()) > 0 {
			t.Errorf("an invalid payload is refused with %v, after middleware has seen %v", err, seen.All())
		}
		receipts, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, []OrderPlaced{{OrderID: "A", Number: 1}, {OrderID: "A", Number: 2}},
			runtime.WithDedupeKey("key"), runtime.WithPublishAt(due))
		Must(t, err)
		f.Idle()
		all := seen.All()
		if len(all) != 4 {
			t.Fatalf("it has seen %d events, want 4", len(all))
		}
		for i, p := range all[:2] {
			if p.ID != receipts[i].ID || p.Type != "order.placed" || p.Version != 1 || p.Payload != any(OrderPlaced{OrderID: "A", Number: i + 1}) ||
				!p.Due.Equal(due) || p.DedupeKey != fmt.Sprintf("key#%d", i) || p.ParentID != uuid.Nil || p.Staged || p.Metadata == nil {
				t.Errorf("event %d is %+v", i, p)
			}
		}
		if p := all[2]; p.Type != "order.paid" || p.ParentID != receipts[0].ID || !p.Staged {
			t.Errorf("the child is %+v", p)
		}
		if stored := f.peek().stored(); stored != 4 {
			t.Errorf("%d events are stored, want 4", stored)
		}
	})
}

func (env *Env) TestAPublishMiddlewareRefusesEvents(t *testing.T) {
	for name, test := range map[string]struct {
		middleware runtime.PublishMiddleware
		is         func(err error) bool
		text       string
	}{
		"an error": {func(context.Context, *runtime.Publication) error { return fmt.Errorf("no: %w", ErrBoom) },
			func(err error) bool { return errors.Is(err, ErrBoom) && Is[*runtime.RefusedError](err) }, "refused by a publish middleware: no: boom"},
		"a nil error": {func(context.Context, *runtime.Publication) error { return (*brokenError)(nil) },
			Is[*runtime.RefusedError], "refused by a publish middleware"},
		"a panic": {func(context.Context, *runtime.Publication) error { panic("oops") },
			func(err error) bool { return Is[*runtime.RefusedError](err) && Is[*runtime.PanicError](err) }, "panic: oops"},
		"an unprintable panic": {func(context.Context, *runtime.Publication) error { panic(unprintable{}) },
			Is[*runtime.PanicError], "whose methods panic"},
		"the bus's own key": {func(_ context.Context, p *runtime.Publication) error { p.Metadata["parent_id"] = "x"; return nil },
			Is[*runtime.OptionError], `WithPublishMiddleware: the key "parent_id" is written by the bus itself`},
		"no text": {func(_ context.Context, p *runtime.Publication) error { p.Metadata["k"] = "\xff"; return nil },
			Is[*runtime.InvalidPayloadError], "metadata"},
		"too much": {func(_ context.Context, p *runtime.Publication) error {
			p.Metadata["k"] = strings.Repeat("x", 2<<20)
			return nil
		},
			Is[*runtime.PayloadTooLargeError], "metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t, runtime.WithPublishMiddleware(func(ctx context.Context, p *runtime.Publication) error {
					if order, ok := p.Payload.(OrderPlaced); ok && order.Number != 2 {
						return nil
					}
					return test.middleware(ctx, p)
				}))
				wanted := func(what string, err error) {
					t.Helper()
					if err == nil || !test.is(err) || !strings.Contains(err.Error(), test.text) {
						t.Errorf("%s: %v, want %s", what, err, test.text)
					}
				}
				f.Handle("publisher", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
					_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{})
					wanted("in a handler", err)
					return nil
				})
				f.MustStart()
				_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 2})
				wanted("Publish", err)
				_, err = runtime.PublishBatch(t.Context(), f.Bus, PlacedType, []OrderPlaced{{OrderID: "A", Number: 1}, {OrderID: "A", Number: 2}})
				wanted("PublishBatch", err)
				if refused, ok := errors.AsType[*runtime.RefusedError](err); ok && (refused.Index != 1 || !strings.Contains(err.Error(), "event 1 of the batch, of type order.placed")) {
					t.Errorf("%v does not say which event", err)
				}
				if stored := f.peek().stored(); stored != 0 {
					t.Errorf("%d events are stored", stored)
				}
				f.Publish(1)
				f.Idle()
				if stored := f.peek().stored(); stored != 1 {
					t.Errorf("%d events are stored, want the one that nobody has refused", stored)
				}
			})
		})
	}
}

func (env *Env) TestAPublishMiddlewareThatEndsItsGoroutineStoresNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithPublishMiddleware(func(_ context.Context, p *runtime.Publication) error {
			if p.Payload.(OrderPlaced).Number == 1 {
				goruntime.Goexit()
			}
			return nil
		}))
		f.MustStart()
		go runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 1})
		synctest.Wait()
		f.Publish(2)
		f.Idle()
		if stored := f.peek().stored(); stored != 1 {
			t.Errorf("%d events are stored, want the other one", stored)
		}
	})
	if _, err := env.OpenBus(t.Context(), env.Target(t), Catalogue, runtime.WithPublishMiddleware(nil)); err == nil || !strings.Contains(err.Error(), "WithPublishMiddleware: middleware 1 is nil") {
		t.Errorf("a nil middleware: %v", err)
	}
}

func (env *Env) TestDeadLetterNoticesDoNotPassPublishMiddleware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen Journal[string]
		f := env.Open(t, runtime.WithPublishMiddleware(func(_ context.Context, p *runtime.Publication) error {
			seen.Add(p.Type)
			return nil
		}))
		var letters Journal[string]
		f.Handle("failing", func(context.Context, runtime.Event[OrderPlaced]) error { return runtime.Permanent(ErrBoom) })
		_, err := runtime.SubscribeDead(f.Bus, PlacedType, "undertaker", func(_ context.Context, e runtime.Event[runtime.DeadLetter[OrderPlaced]]) error {
			letters.Add(e.Payload.LastError)
			return nil
		})
		Must(t, err)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if got := seen.All(); len(letters.All()) != 1 || !slices.Equal(got, []string{"order.placed"}) {
			t.Errorf("%d notices were handled, and the middleware has seen %q", len(letters.All()), got)
		}
	})
}
