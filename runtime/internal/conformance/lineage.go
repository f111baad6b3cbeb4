package conformance

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// pay makes a subscription publish a payment for each order, with options.
func (f *Fixture) pay(name string, opts ...runtime.PublishOption) {
	f.T.Helper()
	_, err := runtime.Subscribe(f.Bus, PlacedType, name, func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
		_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{}, opts...)
		return err
	})
	Must(f.T, err)
}

// paid collects the payments that a bus delivers.
func (f *Fixture) paid() chan runtime.Event[OrderPaid] {
	f.T.Helper()
	paid := make(chan runtime.Event[OrderPaid], 100)
	_, err := runtime.Subscribe(f.Bus, PaidType, "paid", func(_ context.Context, e runtime.Event[OrderPaid]) error {
		paid <- e
		return nil
	})
	Must(f.T, err)
	return paid
}

func (env *Env) TestAnEventKnowsItsParentAndWhoPublishedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.pay("biller")
		paid := f.paid()
		f.MustStart()
		root, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 1})
		Must(t, err)
		child := <-paid
		if child.ParentID != root.ID || child.PublishedBy != "biller" || child.Hops != 1 || child.CorrelationID != root.ID.String() {
			t.Errorf("the child is %+v", child)
		}
		if want := map[string]string{event.CorrelationKey: root.ID.String()}; !maps.Equal(child.Metadata, want) {
			t.Errorf("its metadata is %v, want %v", child.Metadata, want)
		}
		f.Idle()
		stored := f.peek().events("order.placed", "order.paid")
		if e := stored[0]; e.ParentID != uuid.Nil || e.PublishedBy != "" || e.Hops != 0 || e.CorrelationID != "" || e.Metadata != nil {
			t.Errorf("the root is stored as %+v", e)
		}
		if e := stored[1]; e.ParentID != root.ID || e.PublishedBy != "biller" || e.Hops != 1 || e.CorrelationID != root.ID.String() {
			t.Errorf("the child is stored as %+v", e)
		}
	})
}

func (env *Env) TestInAGroupTheMemberIsThePublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		for _, name := range []string{"first", "second"} {
			_, err := runtime.Subscribe(f.Bus, PlacedType, name, func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{})
				return err
			}, runtime.InGroup("team"))
			Must(t, err)
		}
		paid := f.paid()
		f.MustStart()
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 1})
		Must(t, err)
		if one, two := <-paid, <-paid; one.PublishedBy != "first" || two.PublishedBy != "second" {
			t.Errorf("published by %q and %q", one.PublishedBy, two.PublishedBy)
		}
	})
}

func (env *Env) TestAChildInheritsCorrelationAndTrace(t *testing.T) {
	const (
		trace, state = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "congo=t61rcWkgMzE"
		other        = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	)
	tests := map[string]struct {
		root, given, want map[string]string
	}{
		"all of them": {
			root: map[string]string{"correlation_id": "job-7", "traceparent": trace, "tracestate": state, "tenant": "acme"},
			want: map[string]string{"correlation_id": "job-7", "traceparent": trace, "tracestate": state},
		},
		"not what the child has": {
			root:  map[string]string{"correlation_id": "job-7", "traceparent": trace, "tracestate": state},
			given: map[string]string{"correlation_id": "job-8", "tracestate": "rojo=1"},
			want:  map[string]string{"correlation_id": "job-8", "traceparent": trace, "tracestate": "rojo=1"},
		},
		"no state of another trace": {
			root:  map[string]string{"correlation_id": "job-7", "traceparent": trace, "tracestate": state},
			given: map[string]string{"traceparent": other},
			want:  map[string]string{"correlation_id": "job-7", "traceparent": other},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				f.pay("biller", runtime.WithMetadata(test.given))
				paid := f.paid()
				f.MustStart()
				_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 1}, runtime.WithMetadata(test.root))
				Must(t, err)
				if child := <-paid; !maps.Equal(child.Metadata, test.want) || child.CorrelationID != test.want["correlation_id"] {
					t.Errorf("the metadata is %v, want %v", child.Metadata, test.want)
				}
			})
		})
	}
}

func (env *Env) TestTheKeysOfTheLineageAreTheBussOwn(t *testing.T) {
	f := env.Open(t)
	for _, key := range []string{"parent_id", "published_by", "hops"} {
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 1}, runtime.WithMetadata(map[string]string{"tenant": "acme", key: "7"}))
		var option *runtime.OptionError
		if !errors.As(err, &option) || option.Option != "WithMetadata" || !strings.Contains(option.Problem, `"`+key+`"`) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if n := f.peek().stored(); n != 0 {
		t.Errorf("%d events are stored", n)
	}
}

func (env *Env) TestTheLineageIsNotPartOfTheMetadataLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithPayloadLimit(40))
		f.pay("biller")
		paid := f.paid()
		f.MustStart()
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 1})
		Must(t, err)
		f.Idle()
		if len(paid) != 1 {
			t.Errorf("%d payments", len(paid))
		}
	})
}

// A handler can pass the metadata of its event on.
func (env *Env) TestMetadataCanBePassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.pay("biller")
		_, err := runtime.Subscribe(f.Bus, PaidType, "again", func(ctx context.Context, e runtime.Event[OrderPaid]) error {
			if e.Hops > 1 {
				return nil
			}
			_, err := runtime.Publish(ctx, f.Bus, PaidType, e.Payload, runtime.WithMetadata(e.Metadata))
			return err
		})
		Must(t, err)
		f.MustStart()
		root, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 1}, runtime.WithCorrelationID("job-7"))
		Must(t, err)
		f.Idle()
		stored := f.peek().events("order.paid")
		if len(stored) != 2 || stored[0].ParentID != root.ID || stored[1].ParentID != stored[0].ID || stored[1].Hops != 2 ||
			stored[1].CorrelationID != "job-7" || stored[1].PublishedBy != "again" {
			t.Errorf("stored are %+v", stored)
		}
	})
}

func (env *Env) TestAHandlerThatPublishesItsOwnTypeEndsAtTheHopLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithHopLimit(3))
		_, err := runtime.Subscribe(f.Bus, PlacedType, "echo", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Hops > 10 {
				return nil // without a limit it would go on for ever
			}
			_, err := runtime.Publish(ctx, f.Bus, PlacedType, e.Payload)
			var limit *runtime.HopLimitError
			if errors.As(err, &limit) && (limit.Parent != e.ID || limit.Hops != 4 || limit.Limit != 3 || limit.EventType != "order.placed" || limit.ParentType != "order.placed") {
				t.Errorf("the error is %+v", limit)
			}
			return err
		})
		Must(t, err)
		f.MustStart()
		_, err = runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 1})
		Must(t, err)
		f.Idle()
		if n := f.peek().stored(); n != 4 {
			t.Errorf("%d events are stored, want 4", n)
		}
		letters, _, err := f.peek().file.DeadLetters(t.Context(), event.Filter{}, event.Page{})
		Must(t, err)
		if len(letters) != 1 || letters[0].Reason != "permanent" || len(letters[0].Attempts) != 1 ||
			!strings.Contains(letters[0].LastAttempt().Error, "order.placed was not published: event "+letters[0].EventID.String()+" of type order.placed is 3 hops") ||
			!strings.Contains(letters[0].LastAttempt().Error, "WithHopLimit") {
			t.Errorf("the dead letters are %+v", letters)
		}
	})
}

func (env *Env) TestTheHopLimitIs64AndAtLeast1(t *testing.T) {
	for _, n := range []int{0, -1} {
		if _, err := env.OpenBus(t.Context(), env.Target(t), Catalogue, runtime.WithHopLimit(n)); err == nil || !strings.Contains(err.Error(), "WithHopLimit") {
			t.Errorf("%d: %v", n, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		_, err := runtime.Subscribe(f.Bus, PlacedType, "echo", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			_, err := runtime.Publish(ctx, f.Bus, PlacedType, e.Payload)
			return err
		})
		Must(t, err)
		f.MustStart()
		_, err = runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 1})
		Must(t, err)
		f.Idle()
		if n := f.peek().stored(); n != 65 {
			t.Errorf("%d events are stored, want 65", n)
		}
	})
}

// A dead-letter notice is a child of the event that died, so that what its handlers
// publish belongs to the same tree.
func (env *Env) TestADeadLetterNoticeIsAChildOfItsEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		_, err := runtime.Subscribe(f.Bus, PlacedType, "breaks", func(context.Context, runtime.Event[OrderPlaced]) error {
			return runtime.Permanent(errors.New("broken"))
		})
		Must(t, err)
		_, err = runtime.SubscribeDead(f.Bus, PlacedType, "alarm", func(ctx context.Context, e runtime.Event[runtime.DeadLetter[OrderPlaced]]) error {
			if own := e.Payload.Event; own.Hops != 0 || own.ParentID != uuid.Nil || own.CorrelationID != "" || own.Metadata["tenant"] != "acme" {
				t.Errorf("the dead event is %+v", own)
			}
			if e.ParentID != e.Payload.Event.ID || e.PublishedBy != "breaks" || e.Hops != 1 || e.Metadata["tenant"] != "acme" {
				t.Errorf("the notice is %+v", e)
			}
			_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{})
			return err
		})
		Must(t, err)
		paid := f.paid()
		f.MustStart()
		root, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 1}, runtime.WithMetadata(map[string]string{"tenant": "acme"}))
		Must(t, err)
		child := <-paid
		if child.CorrelationID != root.ID.String() || child.Hops != 2 || child.PublishedBy != "alarm" {
			t.Errorf("the child is %+v", child)
		}
		f.Idle()
		notices, _, err := f.peek().file.Events(t.Context(), event.Filter{ChildOf: root.ID}, event.Page{})
		Must(t, err)
		if len(notices) != 1 || notices[0].Type != "$dead.order.placed" || notices[0].ID != child.ParentID {
			t.Errorf("the children of the root are %+v", notices)
		}
	})
}

func (env *Env) TestChildrenAreListedNewestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.pay("first")
		f.pay("second", runtime.WithDelay(time.Second))
		f.MustStart()
		roots := make([]uuid.UUID, 2)
		for i := range roots {
			receipt, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: i})
			Must(t, err)
			roots[i] = receipt.ID
			f.Idle()
		}
		file := f.peek().file
		for i, root := range roots {
			children, next, err := file.Events(t.Context(), event.Filter{ChildOf: root}, event.Page{})
			Must(t, err)
			if len(children) != 2 || next != "" || children[0].Seq <= children[1].Seq || children[0].ParentID != root || children[1].ParentID != root {
				t.Errorf("the children of root %d are %+v (next %q)", i, children, next)
			}
			one, next, err := file.Events(t.Context(), event.Filter{ChildOf: root}, event.Page{Limit: 1})
			Must(t, err)
			if len(one) != 1 || next == "" || one[0].ID != children[0].ID {
				t.Errorf("the first page is %+v (next %q)", one, next)
			}
			two, _, err := file.Events(t.Context(), event.Filter{ChildOf: root}, event.Page{Limit: 1, After: next})
			Must(t, err)
			if len(two) != 1 || two[0].ID != children[1].ID {
				t.Errorf("the second page is %+v", two)
			}
			none, _, err := file.Events(t.Context(), event.Filter{ChildOf: children[0].ID}, event.Page{})
			Must(t, err)
			typed, _, err := file.Events(t.Context(), event.Filter{ChildOf: root, Types: []string{"order.placed"}}, event.Page{})
			Must(t, err)
			if len(none)+len(typed) != 0 {
				t.Errorf("%+v and %+v are no such children", none, typed)
			}
		}
		if !slices.IsSortedFunc(f.peek().events(), func(a, b event.Event) int { return int(a.Seq - b.Seq) }) {
			t.Error("Seq is not the order of events")
		}
		if _, _, err := file.DeadLetters(t.Context(), event.Filter{ChildOf: roots[0]}, event.Page{}); err == nil || !strings.Contains(err.Error(), "ChildOf") {
			t.Errorf("dead letters by parent: %v", err)
		}
	})
}

// The keys of metadata are free, but for the bus's own: one with a quote makes no child
// of an event, and hides none.
func (env *Env) TestAMetadataKeyWithAQuoteMakesNoChildAndHidesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		other := f.Publish(1)[0].ID
		forged := runtime.WithMetadata(map[string]string{`a"parent_id`: other.String(), `b,"parent_id`: other.String(), `c,`: `"parent_id":"` + other.String()})
		f.pay("biller", forged)
		f.MustStart()
		parent, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 2}, forged)
		Must(t, err)
		f.Idle()
		for id, want := range map[uuid.UUID]int{parent.ID: 1, other: 0} {
			tree, err := runtime.Tree(t.Context(), f.Bus, id)
			Must(t, err)
			if len(tree.Children) != want {
				t.Errorf("event %s has %d children, want %d", id, len(tree.Children), want)
			}
			for _, one := range tree.Children {
				if one.ParentID != id {
					t.Errorf("event %s has the child %s, whose parent is %s", id, one.ID, one.ParentID)
				}
			}
		}
	})
}
