package conformance

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/retry"
)

// Dedupe keys of what handlers publish with their contexts.

// payOnce publishes order.paid for an order, with a key.
func (f *Fixture) payOnce(ctx context.Context, key, order string, opts ...runtime.PublishOption) (*runtime.Receipt, error) {
	return runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: order}, append(opts, runtime.WithDedupeKey(key))...)
}

// mustPayOnce is payOnce without errors, and says whether the event is a duplicate.
func (f *Fixture) mustPayOnce(ctx context.Context, key, order string, duplicate bool) *runtime.Receipt {
	f.T.Helper()
	r, err := f.payOnce(ctx, key, order)
	if err != nil {
		f.T.Errorf("key %s, order %s: %v", key, order, err)
		return &runtime.Receipt{}
	}
	if r.Duplicate != duplicate {
		f.T.Errorf("key %s, order %s: the receipt says Duplicate %v", key, order, r.Duplicate)
	}
	return r
}

// paidFor subscribes to order.paid, and notes the orders.
func (f *Fixture) paidFor() *Journal[string] {
	f.T.Helper()
	orders := &Journal[string]{}
	_, err := runtime.Subscribe(f.Bus, PaidType, "paid", func(_ context.Context, e runtime.Event[OrderPaid]) error {
		orders.Add(e.Payload.OrderID)
		return nil
	})
	Must(f.T, err)
	return orders
}

// wantPaid waits, and compares the orders that were paid.
func (f *Fixture) wantPaid(orders *Journal[string], want ...string) {
	f.T.Helper()
	f.Idle()
	if got := orders.All(); !slices.Equal(got, want) {
		f.T.Errorf("paid were %q, want %q", got, want)
	}
}

// wantPublished compares what is counted of order.paid.
func (f *Fixture) wantPublished(published, duplicates uint64) {
	f.T.Helper()
	for _, s := range f.Stats().Types {
		if s.Type == "order.paid" && (s.Published != published || s.Duplicates != duplicates) {
			f.T.Errorf("%d are counted as published and %d as duplicates, want %d and %d", s.Published, s.Duplicates, published, duplicates)
		}
	}
}

// isConflict says whether the error is about a key, and the event that has it.
func isConflict(err error, key string, first *runtime.Receipt) bool {
	var conflict *event.ConflictError
	return errors.As(err, &conflict) && conflict.Key == key && conflict.First == first.ID && conflict.EventType == "order.paid"
}

func (env *Env) TestAKeyInAHandlerIsLookedUpWhenTheHandlerPublishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		orders := f.paidFor()
		stored, err := f.payOnce(t.Context(), "stored", "1")
		Must(t, err)
		f.Handle("parent", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			again := f.mustPayOnce(ctx, "stored", "1", true)
			if again.ID != stored.ID {
				t.Errorf("the receipt of a duplicate is that of %v, want %v", again.ID, stored.ID)
			}
			if outcome, err := again.Wait(ctx); err != nil || len(outcome.Deliveries) != 1 || outcome.ID != stored.ID {
				t.Errorf("waiting for a duplicate of a stored event: %+v, %v", outcome, err)
			}
			if _, err := f.payOnce(ctx, "stored", "2"); !isConflict(err, "stored", stored) {
				t.Errorf("another payload than that of a stored event: %v", err)
			}
			staged := f.mustPayOnce(ctx, "own", "3", false)
			again = f.mustPayOnce(ctx, "own", "3", true)
			if again.ID != staged.ID {
				t.Errorf("the receipt of a duplicate of a staged event is that of %v, want %v", again.ID, staged.ID)
			}
			if _, err := again.Wait(ctx); !errors.Is(err, runtime.ErrStaged) {
				t.Errorf("waiting for a duplicate of a staged event: %v", err)
			}
			if _, err := f.payOnce(ctx, "own", "4"); !isConflict(err, "own", staged) {
				t.Errorf("another payload than that of a staged event: %v", err)
			}
			batch := []OrderPaid{{"5"}, {"6"}}
			for round := range 2 {
				receipts, err := runtime.PublishBatch(ctx, f.Bus, PaidType, batch, runtime.WithDedupeKey("batch"))
				Must(t, err)
				for _, r := range receipts {
					if r.Duplicate != (round == 1) {
						t.Errorf("round %d of a batch: Duplicate %v", round, r.Duplicate)
					}
				}
			}
			// The first of these is new. It is not stored, because the second one is refused.
			if _, err := runtime.PublishBatch(ctx, f.Bus, PaidType, []OrderPaid{{"5"}, {"7"}}, runtime.WithDedupeKey("batch")); !Is[*event.ConflictError](err) {
				t.Errorf("another batch with the key: %v", err)
			}
			return nil
		})
		f.MustStart()
		f.Publish(1)
		f.wantPaid(orders, "1", "3", "5", "6")
		f.wantPublished(4, 4)
		if again := f.mustPayOnce(t.Context(), "own", "3", true); again.ID == stored.ID {
			t.Error("the keys are mixed up")
		}
	})
}

func (env *Env) TestABatchInAHandlerThatIsRefusedLeavesNoKeyBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		orders := f.paidFor()
		f.Handle("parent", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			f.mustPayOnce(ctx, "k#1", "1", false)
			if _, err := runtime.PublishBatch(ctx, f.Bus, PaidType, []OrderPaid{{"0"}, {"2"}}, runtime.WithDedupeKey("k")); !Is[*event.ConflictError](err) {
				t.Errorf("a batch of which one is in conflict: %v", err)
			}
			f.mustPayOnce(ctx, "k#0", "other", false)
			return nil
		})
		f.MustStart()
		f.Publish(1)
		f.wantPaid(orders, "1", "other")
	})
}

func (env *Env) TestAKeyOfAHandlerIsRememberedWithItsSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithDedupeWindow(time.Hour))
		orders := f.paidFor()
		f.Handle("parent", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			f.mustPayOnce(ctx, "k", "1", false)
			if e.Attempt == 1 {
				return ErrBoom // nothing remains of the key
			}
			return nil
		}, runtime.WithRetry(retry.BaseDelay(10*time.Second)))
		f.MustStart()
		f.Publish(1)
		f.wantPaid(orders, "1")
		f.wantPublished(1, 0)
		f.mustPayOnce(t.Context(), "k", "1", true)
		if _, err := f.payOnce(t.Context(), "k", "2"); !Is[*event.ConflictError](err) {
			t.Errorf("another payload: %v", err)
		}
		f.Stop()

		f = env.Reopen(t, f.Path, runtime.WithDedupeWindow(time.Hour))
		f.mustPayOnce(t.Context(), "k", "1", true)
		time.Sleep(time.Hour)
		f.mustPayOnce(t.Context(), "k", "2", false)
	})
}

func (env *Env) TestARetryFindsTheKeyThatAnotherHasStoredSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		orders := f.paidFor()
		f.Handle("parent", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			f.mustPayOnce(ctx, "k", "1", e.Attempt > 1)
			if e.Attempt == 1 {
				return ErrBoom
			}
			return nil
		}, runtime.WithRetry(retry.BaseDelay(10*time.Second)))
		f.MustStart()
		f.Publish(1)
		time.Sleep(time.Second)
		f.mustPayOnce(t.Context(), "k", "1", false)
		f.wantPaid(orders, "1")
		f.wantPublished(1, 1)
	})
}

func (env *Env) TestOfTwoHandlersWithOneKeyTheFirstToSucceedIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		orders := f.paidFor()
		for name, wait := range map[string]time.Duration{"quick": time.Second, "slow": 2 * time.Second} {
			f.Handle(name, func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				f.mustPayOnce(ctx, "k", "1", false)
				_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: "also by " + name})
				time.Sleep(wait) // until both have published
				return err
			})
		}
		f.MustStart()
		f.Publish(1)
		f.wantPaid(orders, "1", "also by quick", "also by slow")
		f.wantPublished(3, 1)
		for _, level := range []string{"ERROR", "WARN"} {
			if lines := f.Log.Level(t, level); len(lines) > 0 {
				t.Errorf("logged: %v", lines)
			}
		}
	})
}

func (env *Env) TestAnEventOfAHandlerWhoseKeyIsTakenByAnotherPayloadIsDroppedAndLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		orders := f.paidFor()
		var parent, dropped, first *runtime.Receipt
		f.Handle("parent", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			dropped = f.mustPayOnce(ctx, "k", "of the handler", false)
			first = f.mustPayOnce(t.Context(), "k", "of another", false)
			f.mustPayOnce(ctx, "other", "beside it", false)
			return nil
		})
		f.MustStart()
		parent = f.Publish(1)[0]
		f.wantPaid(orders, "of another", "beside it")
		f.wantPublished(2, 0)
		if outcome, err := parent.Wait(t.Context()); err != nil || outcome.Deliveries[0].Failures != 0 {
			t.Errorf("the parent: %+v, %v", outcome, err)
		}
		lines := f.Log.Level(t, "ERROR")
		if len(lines) != 1 {
			t.Fatalf("logged: %v", lines)
		}
		for key, want := range map[string]string{
			"event_id": dropped.ID.String(), "first_event_id": first.ID.String(), "parent_id": parent.ID.String(),
			"event_type": "order.paid", "dedupe_key": "k", "published_by": "parent",
		} {
			if lines[0][key] != want {
				t.Errorf("%s is logged as %v, want %s", key, lines[0][key], want)
			}
		}
	})
}

func (env *Env) TestAnImmediateEventTakesTheKeyOfAStagedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		orders := f.paidFor()
		f.Handle("parent", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			f.mustPayOnce(ctx, "k", "1", false)
			now, err := f.payOnce(ctx, "k", "1", runtime.Immediately())
			Must(t, err)
			if again := f.mustPayOnce(ctx, "k", "1", true); again.ID != now.ID || now.Duplicate {
				t.Errorf("the event that is stored at once: %+v, and its duplicate: %+v", now, again)
			}
			return nil
		})
		f.MustStart()
		f.Publish(1)
		f.wantPaid(orders, "1")
	})
}

func (env *Env) TestTheMembersOfAGroupShareTheirKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		orders := f.paidFor()
		var first *runtime.Receipt
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			first = f.mustPayOnce(ctx, "k", "1", false)
			return nil
		}, runtime.InGroup("group"))
		f.Handle("two", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if again := f.mustPayOnce(ctx, "k", "1", true); again.ID != first.ID {
				t.Errorf("the duplicate is %v, want %v", again.ID, first.ID)
			}
			if _, err := f.payOnce(ctx, "k", "2"); !isConflict(err, "k", first) {
				t.Errorf("another payload than that of the member before: %v", err)
			}
			if e.Attempt == 1 {
				return ErrBoom // the first member has succeeded all the same
			}
			return nil
		}, runtime.InGroup("group"))
		f.MustStart()
		f.Publish(1)
		f.wantPaid(orders, "1")
		f.wantPublished(1, 1)
	})
}

func (env *Env) TestTheItemsOfABatchWithOneKeyPublishOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		orders := f.paidFor()
		f.Batches("batch", func(ctx context.Context, events []runtime.Event[OrderPlaced]) error {
			var failed runtime.BatchError
			for i, e := range events {
				// The item that fails is the first with the key. It is not stored, so another one must be.
				if e.Payload.Number == 1 && e.Attempt == 1 {
					failed.Set(i, ErrBoom)
				}
				f.mustPayOnce(runtime.ItemContext(ctx, i), "item", "1", e.Attempt > 1)
			}
			f.mustPayOnce(ctx, "whole", "2", false)
			f.mustPayOnce(ctx, "whole", "2", true)
			if events[0].Attempt == 1 {
				return failed.Err()
			}
			return nil
		}, runtime.WithBatch(3, time.Minute))
		f.MustStart()
		f.Publish(1, 2, 3)
		f.wantPaid(orders, "1", "2")
	})
}

func (env *Env) TestAnEphemeralHandlerCanGiveKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		orders := f.paidFor()
		f.MustStart()
		f.Handle("", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			f.mustPayOnce(ctx, "k", "1", e.Payload.Number > 1)
			if e.Payload.Number == 1 {
				f.mustPayOnce(ctx, "k", "1", true)
				f.mustPayOnce(ctx, "taken", "of the handler", false)
				f.mustPayOnce(t.Context(), "taken", "of another", false)
				f.mustPayOnce(ctx, "same", "same", false)
				f.mustPayOnce(t.Context(), "same", "same", false)
			}
			if e.Attempt > 1 {
				t.Error("the handler has failed")
			}
			return nil
		}, runtime.Ephemeral())
		f.Publish(1)
		within()
		f.Publish(2)
		within()
		f.wantPaid(orders, "of another", "same", "1")
		f.wantPublished(3, 3)
		if lines := f.Log.Level(t, "ERROR"); len(lines) != 1 || lines[0]["dedupe_key"] != "taken" {
			t.Errorf("logged: %v", lines)
		}
	})
}

func (env *Env) TestTheKeyOfALoserIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		orders := f.paidFor()
		for name, order := range map[string]string{"loser": "lost", "winner": "won"} {
			_, err := runtime.SubscribeAnswer(f.Bus, UserType, name, func(ctx context.Context, _ runtime.Event[UserCreated]) (int, error) {
				f.mustPayOnce(ctx, "k", order, false)
				if name == "winner" {
					time.Sleep(time.Second)
					return 1, nil
				}
				<-ctx.Done()
				return 0, nil
			})
			Must(t, err)
		}
		f.MustStart()
		_, err := runtime.Request[int](t.Context(), f.Bus, UserType, UserCreated{})
		Must(t, err)
		f.wantPaid(orders, "won")
		if lines := f.Log.Level(t, "ERROR"); len(lines) > 0 {
			t.Errorf("logged: %v", lines)
		}
	})
}

func (env *Env) TestAnAttemptThatIsOverGivesNoKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		orders := f.paidFor()
		late := make(chan error, 1)
		f.Handle("parent", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			go func() {
				time.Sleep(time.Minute)
				_, err := f.payOnce(ctx, "k", "1")
				late <- err
			}()
			return nil
		})
		f.MustStart()
		f.Publish(1)
		if err := <-late; !errors.Is(err, runtime.ErrAttemptOver) {
			t.Errorf("after the attempt: %v", err)
		}
		f.wantPaid(orders)
		f.mustPayOnce(t.Context(), "k", "2", false)
	})
}

func (env *Env) TestAHandlerThatIsReplayedPublishesWithItsKeyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		orders := f.paidFor()
		var calls Journal[bool]
		f.Handle("parent", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			r, err := f.payOnce(ctx, "k", "1")
			if err != nil {
				return err
			}
			calls.Add(r.Duplicate)
			return nil
		})
		f.MustStart()
		parent := f.Publish(1)[0]
		f.Idle()
		_, err := f.Replay(t.Context(), "parent", event.ReplayFilter{Events: []uuid.UUID{parent.ID}})
		Must(t, err)
		f.Idle()
		f.wantPaid(orders, "1")
		if got := calls.All(); !slices.Equal(got, []bool{false, true}) {
			t.Errorf("the receipts say Duplicate %v", got)
		}
	})
}
