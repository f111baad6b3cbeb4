package sqlite

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

func TestTheOutcomeOfAnEditedEventIsThatOfItsSubscriptionAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := openWithWorker(t)
		must(t, g.Declare(t.Context(), nil, []engine.ConsumerSpec{{Name: "away", Pattern: "*"}}))
		old := g.publish("job.queued")
		g.settle(engine.Disposition{Kind: engine.Dead, Reason: event.ReasonPermanent, Fingerprint: "f"})
		id := uuid.Must(uuid.NewV7())
		must(t, inspectFile(t, g.path).EditDeadLetter(t.Context(), event.Key{EventID: old.ID, Subscription: "worker"}, id, []byte("[]")))
		time.Sleep(2 * pollDelay) // notices
		// Its cursor is still before the event.
		polled, _, err := g.consumer.Poll(nil, 10)
		must(t, err)
		if len(polled) != 1 || polled[0].Seq != old.Seq+1 {
			t.Fatalf("polled %v, want the edited event", polled)
		}
		g.consumer.Settle(engine.Settled{Delivery: polled[0], Disposition: engine.Disposition{Kind: engine.Done}}, nil)
		must(t, g.Flush(t.Context()))
		// "away" has yet to handle the old event, and knows nothing of the new one.
		outcome, err := g.Outcome(t.Context(), old.Seq+1)
		must(t, err)
		if len(outcome) != 1 || outcome[0].Subscription != "worker" || outcome[0].State != event.StateDone {
			t.Errorf("the outcome is %+v", outcome)
		}
		lags, err := g.Subscriptions(t.Context(), 100)
		must(t, err)
		for _, lag := range lags {
			if want := map[string]int{"worker": 0, "away": 1}[lag.Name]; lag.Backlog != want {
				t.Errorf("%s has a backlog of %d, want %d", lag.Name, lag.Backlog, want)
			}
		}
		if n, err := g.Pending(t.Context(), 100); n != 1 || err != nil {
			t.Errorf("%d are pending (%v), want 1", n, err)
		}
	})
}

func TestImportingOldEventsDoesNotPruneYoungOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := openWithWorker(t)
		for range 3 {
			g.publish("job.queued")
		}
		g.settle(engine.Disposition{Kind: engine.Done})
		inspection := inspectFile(t, g.path)
		var old []event.DeadLetter
		for range 20 {
			old = append(old, event.DeadLetter{
				Key: event.Key{EventID: uuid.Must(uuid.NewV7()), Subscription: "worker"}, DeadAt: time.Now(),
				Type: "job.queued", Payload: []byte("{}"), PublishedAt: time.Now().AddDate(-1, 0, 0), Reason: event.ReasonPermanent,
			})
		}
		adding, err := inspection.ImportDeadLetters()
		must(t, err)
		_, _, err = adding.Add(t.Context(), old)
		must(t, err)
		g.publish("job.queued") // the newest is never deleted
		g.settle(engine.Disposition{Kind: engine.Done})
		n, err := g.Prune(t.Context(), time.Now().AddDate(0, 0, -7))
		if n != 0 || err != nil {
			t.Errorf("pruned %d (%v), want none: the old ones are dead and the others young", n, err)
		}
		sweep, _, err := inspection.Sweep(t.Context(), engine.SweepSpec{Kind: engine.SweepDiscard, Reason: "old"})
		must(t, err)
		_, err = sweep.Step(t.Context(), 100, false)
		must(t, err)
		if n, err = g.Prune(t.Context(), time.Now().AddDate(0, 0, -7)); n != 20 || err != nil {
			t.Errorf("pruned %d (%v), want those that were imported and discarded", n, err)
		}
		left, err := g.read1("SELECT (SELECT count(*) FROM busgen_log) + (SELECT count(*) FROM busgen_origins) * 100 + (SELECT count(*) FROM busgen_discarded) * 100")
		if left != 4 || err != nil {
			t.Errorf("events and what belongs to them: %d (%v), want the four young events only", left, err)
		}
	})
}

// read1 returns one number of the file.
func (g *workerLog) read1(sql string) (n int64, err error) {
	err = g.read(func(c *database.Conn) (err error) {
		n, err = c.Int64(sql)
		return err
	})
	return n, err
}
