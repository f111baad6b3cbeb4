package sqlite

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// A worker may have taken a delivery, and not begun it, when its event is cancelled.
func TestACancelledDeliveryThatWasPolledIsNotBegun(t *testing.T) {
	log, err := Open(filepath.Join(t.TempDir(), "events.db"), Options{})
	must(t, err)
	defer log.Close()
	_, err = log.TakeOver(t.Context())
	must(t, err)
	consumer, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: "ship", Pattern: "order.*"})
	must(t, err)
	records := []engine.Record{{ID: uuid.New(), Type: "order.placed", Payload: []byte("{}"), CreatedAt: time.Now()}}
	must(t, log.Append(t.Context(), records))
	polled, _, err := consumer.Poll(nil, 1)
	must(t, err)
	cancelled, err := log.Cancel(t.Context(), engine.Cancellation{Event: records[0].ID, Reason: engine.ReasonCancelled})
	if err != nil || len(cancelled) != 1 {
		t.Fatalf("cancelled for %v, %v", cancelled, err)
	}
	if n, _, _ := consumer.Begin([]*engine.Delivery{polled[0]}, []int{0}, time.Now()); n > 0 {
		t.Error("an attempt begins after the cancel")
	}
	if reason, ok := consumer.Cancelled(polled[0].Seq); !ok || reason != "cancelled" {
		t.Errorf("it is cancelled: %v, %q", ok, reason)
	}
}

// Another process has cancelled a delayed event, which makes its deliveries due. This one
// polls them, for another reason, before it has looked at what is cancelled.
func TestACancelledDeliveryThatIsPolledBeforeItsMarkIsNotBegun(t *testing.T) {
	log, err := Open(filepath.Join(t.TempDir(), "events.db"), Options{})
	must(t, err)
	defer log.Close()
	_, err = log.TakeOver(t.Context())
	must(t, err)
	polling, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: "ship", Pattern: "order.*"})
	must(t, err)
	now := time.Now()
	records := []engine.Record{{ID: uuid.New(), Type: "order.placed", Payload: []byte("{}"), CreatedAt: now, Due: now.Add(time.Hour)}}
	must(t, log.Append(t.Context(), records))
	for name, poll := range map[string]func() []*engine.Delivery{
		"in its turn": func() []*engine.Delivery {
			polled, _, err := polling.Poll(nil, 1)
			must(t, err)
			return polled
		},
		"out of turn": func() []*engine.Delivery {
			polled, _, err := polling.PollEvent(records[0].Seq)
			must(t, err)
			return []*engine.Delivery{polled}
		},
	} {
		c := polling.(*consumer)
		must(t, log.writer.do(t.Context(), func(conn *database.Conn) error {
			return cancelDelivery(conn, tables.RowKey{Subscription: c.id, Seq: records[0].Seq}, "not wanted", true)
		}))
		c.recheck()
		polled := poll()
		if len(polled) != 1 || polled[0] == nil {
			t.Fatalf("%s: polled %v", name, polled)
		}
		if n, _, cancelled := polling.Begin([]*engine.Delivery{polled[0]}, []int{0}, time.Now()); n > 0 || !cancelled {
			t.Errorf("%s: an attempt begins although the event is cancelled", name)
		}
		if reason, ok := polling.Cancelled(polled[0].Seq); !ok || reason != "not wanted" {
			t.Errorf("%s: it is cancelled: %v, %q", name, ok, reason)
		}
		polling.Settle(engine.Settled{Delivery: polled[0], Disposition: engine.Disposition{Kind: engine.Release}}, nil)
		must(t, log.Flush(t.Context()))
	}
}

// The process that dispatches hangs.
func TestACancelWithoutAnAnswerSaysThatItIsNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		log, err := Open(path, Options{})
		must(t, err)
		defer log.Close()
		_, err = log.Consumer(t.Context(), engine.ConsumerSpec{Name: "ship", Pattern: "order.*"})
		must(t, err)
		records := []engine.Record{{ID: uuid.New(), Type: "order.placed", Payload: []byte("{}"), CreatedAt: time.Now()}}
		must(t, log.Append(t.Context(), records))
		owner, err := claims.Open(path, "")
		must(t, err)
		defer owner.Close()
		must(t, owner.Own())
		var unanswered *event.UnansweredError
		_, err = log.Cancel(t.Context(), engine.Cancellation{Event: records[0].ID, Reason: engine.ReasonCancelled})
		if !errors.As(err, &unanswered) || unanswered.ID != records[0].ID || unanswered.Waited < engine.CancelPatience {
			t.Errorf("the error is %v", err)
		}
		must(t, owner.Abandon())
		cancelled, err := log.Cancel(t.Context(), engine.Cancellation{Event: records[0].ID, Reason: engine.ReasonCancelled})
		if err != nil || len(cancelled) != 1 {
			t.Errorf("without an owner: %v, %v", cancelled, err)
		}
	})
}

// An operator discards a delivery of a paused subscription and resumes it before this process
// has looked. Whoever is told of the resume begins at once.
func TestADiscardIsKnownBeforeTheResumeThatFollowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		log, err := Open(path, Options{})
		must(t, err)
		defer log.Close()
		_, err = log.TakeOver(t.Context())
		must(t, err)
		consumer, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: "ship", Pattern: "order.*"})
		must(t, err)
		inspection := inspectFile(t, path)
		pause := engine.Pause{Kind: engine.PauseSubscription, Target: "ship"}
		must(t, log.Pause(t.Context(), pause))
		records := []engine.Record{{ID: uuid.New(), Type: "order.placed", Payload: []byte("{}"), CreatedAt: time.Now()}}
		must(t, log.Append(t.Context(), records))
		polled, _, err := consumer.Poll(nil, 1)
		must(t, err)
		resumed := 0
		must(t, log.WatchPauses(t.Context(), func(paused []engine.Pause) {
			if len(paused) > 0 {
				return
			}
			resumed++
			if _, ok := consumer.Cancelled(polled[0].Seq); !ok {
				t.Error("the subscription is resumed, and the discard is not known")
			}
		}))
		_, err = inspection.Cancel(t.Context(), engine.Cancellation{Event: records[0].ID, Reason: "not wanted", Unasked: true})
		must(t, err)
		err = inspection.Resume(t.Context(), pause)
		must(t, err)
		time.Sleep(time.Minute)
		synctest.Wait()
		if resumed != 1 {
			t.Errorf("resumed %d times", resumed)
		}
	})
}
