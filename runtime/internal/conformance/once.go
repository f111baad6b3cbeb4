package conformance

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// onceLog is a log to which events are brought that it may have.
type onceLog struct {
	engine.Log
	t *testing.T
}

func (env *Env) openOnce(t *testing.T, target string) onceLog {
	t.Helper()
	log, err := env.Storage.Open(t.Context(), target, engine.Options{Logger: slog.New(slog.DiscardHandler), Program: "brings"})
	Must(t, err)
	Must(t, log.Declare(t.Context(), []engine.TypeSpec{{Name: "order.paid"}}, nil))
	t.Cleanup(func() { Must(t, log.CloseWithin(context.Background())) })
	return onceLog{log, t}
}

// paidOnce returns records of order.paid with Once. Those with a key have the name of the order as their idempotency key.
func paidOnce(keyed bool, orders ...string) []engine.Record {
	records := make([]engine.Record, len(orders))
	for i, order := range orders {
		id := uuid.NewSHA1(uuid.Nil, []byte(order))
		records[i] = engine.Record{ID: id, Once: &id, Type: "order.paid", Payload: []byte(`{"order_id":"` + order + `"}`), CreatedAt: engine.Now()}
		if keyed {
			records[i].Dedupe = &engine.Dedupe{Key: order, Expires: time.Now().Add(time.Hour)}
		}
	}
	return records
}

// append stores records, and compares which of them were known.
func (l onceLog) append(records []engine.Record, known ...bool) []engine.Record {
	l.t.Helper()
	Must(l.t, l.Append(l.t.Context(), records))
	got := make([]bool, len(records))
	for i := range records {
		got[i] = records[i].Duplicate
		if records[i].ID != *records[i].Once || records[i].Seq == 0 {
			l.t.Errorf("record %d is event %s at %d, want %s", i, records[i].ID, records[i].Seq, records[i].Once)
		}
	}
	if !slices.Equal(got, known) {
		l.t.Errorf("known were %v, want %v", got, known)
	}
	return records
}

// What brings events from elsewhere, and dies before it has noted that, brings them again.
func (env *Env) TestAnEventThatIsKnownIsNotStoredAgain(t *testing.T) {
	for name, keyed := range map[string]bool{"without keys": false, "with idempotency keys": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				orders := f.paidFor()
				f.MustStart()
				log := env.openOnce(t, f.Path)
				first := log.append(paidOnce(keyed, "1", "2", "3"), false, false, false)
				again := log.append(paidOnce(keyed, "1", "2", "3"), true, true, true)
				for i := range first {
					if first[i].Seq != again[i].Seq {
						t.Errorf("event %d is at %d, and is found at %d", i, first[i].Seq, again[i].Seq)
					}
				}
				log.append(paidOnce(keyed, "4", "2", "5", "4"), false, true, false, true)
				f.wantPaid(orders, "1", "2", "3", "4", "5")

				log = env.openOnce(t, f.Path) // another process, after some time
				time.Sleep(5 * time.Minute)
				log.append(paidOnce(keyed, "5", "6"), true, false)
				f.wantPaid(orders, "1", "2", "3", "4", "5", "6")
			})
		})
	}
	t.Run("beside the key of another event", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := env.Open(t)
			orders := f.paidFor()
			f.MustStart()
			_, err := f.payOnce(t.Context(), "1", "1")
			Must(t, err)
			log := env.openOnce(t, f.Path)
			records := paidOnce(true, "1", "2")
			Must(t, log.Append(t.Context(), records))
			if !records[0].Duplicate || records[1].Duplicate {
				t.Errorf("the first record has the key of another event, and the second is new: %+v", records)
			}
			_, err = f.payOnce(t.Context(), "3", "other")
			Must(t, err)
			if err := log.Append(t.Context(), paidOnce(true, "4", "3")); !Is[*event.ConflictError](err) {
				t.Errorf("a key with another payload: %v", err)
			}
			log.append(paidOnce(true, "4"), false) // nothing of it was stored
			f.wantPaid(orders, "1", "2", "other", "4")
		})
	})
	t.Run("and delayed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := env.Open(t)
			orders := f.paidFor()
			f.MustStart()
			log := env.openOnce(t, f.Path)
			delayed := func() []engine.Record {
				records := paidOnce(false, "1", "2")
				records[0].Due = engine.Stored(time.Now().Add(time.Minute))
				return records
			}
			log.append(delayed(), false, false)
			log.append(delayed(), true, true)
			_, err := runtime.Publish(t.Context(), f.Bus, PaidType, OrderPaid{OrderID: "3"})
			Must(t, err)
			time.Sleep(2 * time.Minute)
			f.wantPaid(orders, "2", "3", "1")
		})
	})
}
