package conformance

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// What a dedupe key compares, and until when it is used.

// tagged is a payload with a set, which writes itself in another order each time.
type tagged struct {
	Tags set `json:"tags"`
}

func (tagged) Validate() error { return nil }

type set map[string]struct{}

func (s set) MarshalJSON() ([]byte, error) { return json.Marshal(slices.Collect(maps.Keys(s))) }

func (s *set) UnmarshalJSON(data []byte) error {
	var list []string
	err := json.Unmarshal(data, &list)
	*s = set{}
	for _, one := range list {
		(*s)[one] = struct{}{}
	}
	return err
}

var taggedType = runtime.Define(runtime.Spec[tagged]{Name: "thing.tagged", Settings: Within(30*time.Second, Exact())})

func setOf(tags ...string) tagged {
	s := set{}
	for _, tag := range tags {
		s[tag] = struct{}{}
	}
	return tagged{s}
}

func (env *Env) TestAKeyComparesValuesNotHowTheyAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(PlacedType, taggedType))
		same, other := setOf("a", "b", "c", "d", "e", "f"), setOf("a", "b", "c", "d", "e")
		publish := func(ctx context.Context, where string, value tagged, conflicts bool) {
			for range 20 {
				_, err := runtime.Publish(ctx, f.Bus, taggedType, value, runtime.WithDedupeKey("k"))
				if conflicts != Is[*event.ConflictError](err) || err != nil && !conflicts {
					t.Errorf("%s: %v", where, err)
					return
				}
			}
		}
		f.Handle("parent", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			publish(ctx, "in a handler", same, false)
			publish(ctx, "another one in a handler", other, true)
			return nil
		})
		publish(t.Context(), "outside", same, false)
		publish(t.Context(), "another one", other, true)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		batch, err := runtime.PublishBatch(t.Context(), f.Bus, taggedType, []tagged{same, other}, runtime.WithDedupeKey("batch"))
		Must(t, err)
		for range 20 {
			again, err := runtime.PublishBatch(t.Context(), f.Bus, taggedType, []tagged{same, other}, runtime.WithDedupeKey("batch"))
			Must(t, err)
			if !again[0].Duplicate || !again[1].Duplicate || again[1].ID != batch[1].ID {
				t.Fatalf("the batch came again: %+v, %+v", again[0], again[1])
			}
		}
		if n := len(f.peek().events()); n != 4 { // one, the order and the batch
			t.Errorf("the log has %d events, want 4", n)
		}
	})
}

func (env *Env) TestAKeyIsFreeAfterTheCancelOfItsEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		orders := f.paidFor()
		f.MustStart()
		first, err := f.payOnce(t.Context(), "k", "1", runtime.WithDelay(time.Hour))
		Must(t, err)
		f.mustPayOnce(t.Context(), "k", "1", true)
		if _, err := f.payOnce(t.Context(), "k", "2"); !isConflict(err, "k", first) {
			t.Errorf("another payload before the cancel: %v", err)
		}
		Must(t, first.Cancel(t.Context()))
		second := f.mustPayOnce(t.Context(), "k", "2", false)
		if t.Failed() {
			return // there may be no second
		}
		f.mustPayOnce(t.Context(), "k", "2", true)
		if _, err := f.payOnce(t.Context(), "k", "1"); !isConflict(err, "k", second) {
			t.Errorf("the payload that was cancelled, after another one has the key: %v", err)
		}
		f.wantPaid(orders, "2")

		// One that was handled cannot be cancelled, and keeps its key.
		if err := second.Cancel(t.Context()); !Is[*event.NotOpenError](err) {
			t.Errorf("the cancel of an event that was handled: %v", err)
		}
		f.mustPayOnce(t.Context(), "k", "2", true)

		// A handler finds a key that is free, too.
		third, err := f.payOnce(t.Context(), "free", "3", runtime.WithDelay(time.Hour))
		Must(t, err)
		Must(t, third.Cancel(t.Context()))
		f.Handle("parent", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			f.mustPayOnce(ctx, "free", "4", false)
			return nil
		})
		f.Publish(1)
		f.wantPaid(orders, "2", "4")
		f.mustPayOnce(t.Context(), "free", "4", true)
	})
}

// freed publishes with a key what becomes a dead letter, ends that, and publishes the corrected payload with the key.
func (env *Env) freed(t *testing.T, end func(ctx context.Context, file *inspect.File, key event.Key) error) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		_, err := runtime.Subscribe(f.Bus, PaidType, "paid", func(_ context.Context, e runtime.Event[OrderPaid]) error {
			switch e.Payload.OrderID {
			case "wrong":
				return runtime.Permanent(ErrBoom)
			case "unwanted":
				return runtime.Discard("unwanted")
			}
			return nil
		})
		Must(t, err)
		f.MustStart()
		file, err := env.OpenFile(t.Context(), f.Path, inspect.WithEditing(Catalogue.Check))
		Must(t, err)
		defer file.Close()
		first := f.mustPayOnce(t.Context(), "k", "wrong", false)
		f.Idle()
		if _, err := f.payOnce(t.Context(), "k", "right"); !isConflict(err, "k", first) {
			t.Errorf("the key of a dead letter: %v", err)
		}
		Must(t, end(t.Context(), file, event.Key{EventID: first.ID, Subscription: "paid"}))
		f.Idle()
		f.mustPayOnce(t.Context(), "k", "right", false)
		f.mustPayOnce(t.Context(), "k", "right", true)

		// What a handler discards, it has handled.
		first = f.mustPayOnce(t.Context(), "by its handler", "unwanted", false)
		f.Idle()
		if _, err := f.payOnce(t.Context(), "by its handler", "right"); !isConflict(err, "by its handler", first) {
			t.Errorf("after its handler has discarded it: %v", err)
		}
	})
}

func (env *Env) TestAKeyIsFreeAfterItsDeadLetterIsDiscarded(t *testing.T) {
	env.freed(t, func(ctx context.Context, file *inspect.File, _ event.Key) error {
		_, err := file.DiscardDeadLetters(ctx, inspect.Selection{}, "wrong")
		return err
	})
}

func (env *Env) TestAKeyIsFreeAfterItsDeadLetterIsEdited(t *testing.T) {
	env.freed(t, func(ctx context.Context, file *inspect.File, key event.Key) error {
		_, err := file.Edit(ctx, key, []byte(`{"order_id":"edited"}`))
		return err
	})
}
