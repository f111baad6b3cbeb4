package sqlite

import (
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// A row of cancelled may outlive its delivery, if another process has written it at the
// moment at which the delivery was settled. It must not end what comes later.
func TestADeliveryThatBeginsAnewIsNotCancelled(t *testing.T) {
	dead := engine.Disposition{Kind: engine.Dead, Reason: event.ReasonPermanent, Attempt: &event.FailedAttempt{Kind: event.KindError, Error: "boom", Ended: time.Now()}}
	sweep := func(g *workerLog, spec engine.SweepSpec) {
		steps, _, err := inspectFile(g.t, g.path).Sweep(g.t.Context(), spec)
		must(g.t, err)
		keys, err := steps.Step(g.t.Context(), 10, false)
		if err != nil || len(keys) != 1 {
			g.t.Fatalf("changed %v, %v", keys, err)
		}
	}
	for name, one := range map[string]struct {
		settled engine.Disposition
		again   func(g *workerLog, r engine.Record)
	}{
		"replay": {engine.Disposition{Kind: engine.Done}, func(g *workerLog, r engine.Record) {
			sweep(g, engine.SweepSpec{Kind: engine.SweepReplay, Subscription: "worker"})
		}},
		"retry": {dead, func(g *workerLog, r engine.Record) { sweep(g, engine.SweepSpec{Kind: engine.SweepRetry}) }},
		"redrive": {dead, func(g *workerLog, r engine.Record) {
			spec := engine.RedriveSpec{Subscription: "worker", Type: r.Type, DeadBefore: time.Now(), Max: 1, Limit: 10}
			if n, err := g.Redrive(g.t.Context(), spec); n != 1 || err != nil {
				g.t.Fatalf("redriven %d, %v", n, err)
			}
		}},
		"undiscard": {engine.Disposition{Kind: engine.Discard, Reason: "a mistake"}, func(g *workerLog, r engine.Record) {
			undone, err := inspectFile(g.t, g.path).Undiscard(g.t.Context(), event.Undo{Event: r.ID})
			if err != nil || undone.Due != 1 {
				g.t.Fatalf("undone %+v, %v", undone, err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := openWithWorker(t)
			r := g.publish("job.queued")
			seq := g.settle(one.settled)[0]
			must(t, g.writer.do(t.Context(), func(c *database.Conn) error {
				return c.Exec("INSERT INTO busgen_cancelled (seq, subscription, reason, at) VALUES (?, 1, 'stale', 0)", seq)
			}))
			one.again(g, r)
			must(t, g.writer.do(t.Context(), func(c *database.Conn) error {
				_, _, err := g.readCancelled(c)
				return err
			}))
			if reason, ok := g.consumer.Cancelled(seq); ok {
				t.Errorf("it is cancelled again: %s", reason)
			}
		})
	}
}

// Between the look for dead letters and the transaction that revives them, an operator may
// retry one and then cancel it. That cancel is for the open delivery, and holds.
func TestARedriveLeavesTheCancelOfAnOpenDelivery(t *testing.T) {
	g := openWithWorker(t)
	r := g.publish("job.queued")
	seq := g.settle(engine.Disposition{Kind: engine.Retry, Due: time.Now().Add(time.Hour)})[0]
	spec := engine.RedriveSpec{Subscription: "worker", Type: r.Type, DeadBefore: time.Now(), Max: 1, Limit: 10}
	must(t, g.writer.do(t.Context(), func(c *database.Conn) error {
		if err := cancelDelivery(c, tables.RowKey{Subscription: 1, Seq: seq}, "a mistake", false); err != nil {
			return err
		}
		if n, err := redrive(c, spec, []tables.RowKey{{Subscription: 1, Seq: seq}}); n != 0 || err != nil {
			t.Errorf("redriven %d, %v, want none", n, err)
		}
		n, err := c.Int64("SELECT count(*) FROM busgen_cancelled WHERE seq = ? AND subscription = 1 AND reason = 'a mistake'", seq)
		if n != 1 {
			t.Error("the cancel is forgotten")
		}
		return err
	}))
}

// The process that dispatches learns of a cancel, and settles the delivery for it. If another
// process undoes the cancel before that is written, the delivery is due, as that has said.
func TestACancelThatIsUndoneBeforeItsDiscardIsWrittenStaysUndone(t *testing.T) {
	for name, discard := range map[string]struct {
		engine.Disposition
		undone bool
	}{
		"for the cancel": {engine.Disposition{Kind: engine.Discard, Reason: "a mistake", Cancelled: true}, true},
		"for the cancel, after an attempt": {engine.Disposition{
			Kind: engine.Discard, Reason: "a mistake", Cancelled: true,
			Attempt: &event.FailedAttempt{Kind: event.KindError, Error: "boom", Ended: time.Now()},
		}, true},
		"by the handler": {engine.Disposition{Kind: engine.Discard, Reason: "no need"}, false},
	} {
		for _, undo := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				g := openWithWorker(t)
				r := g.publish("job.queued")
				deliveries, _, err := g.consumer.Poll(nil, 1)
				if err != nil || len(deliveries) != 1 {
					t.Fatalf("polled %v, %v", deliveries, err)
				}
				file := inspectFile(t, g.path)
				_, err = file.Cancel(t.Context(), engine.Cancellation{Event: r.ID, Reason: "a mistake", Unasked: true})
				must(t, err)
				must(t, g.writer.do(t.Context(), func(c *database.Conn) error {
					_, _, err := g.readCancelled(c)
					return err
				}))
				if _, ok := g.consumer.Cancelled(r.Seq); !ok {
					t.Fatal("it is not cancelled")
				}
				if undo {
					undone, err := file.Undiscard(t.Context(), event.Undo{Event: r.ID})
					if err != nil || undone.Due != 1 {
						t.Fatalf("undone %+v, %v", undone, err)
					}
				}
				g.consumer.Settle(engine.Settled{Delivery: deliveries[0], Disposition: discard.Disposition}, nil)
				must(t, g.Flush(t.Context()))
				again, _, err := g.consumer.Poll(nil, 1)
				want := 0
				if undo && discard.undone {
					want = 1
				}
				if err != nil || len(again) != want {
					t.Errorf("undone %t: polled %d again, %v, want %d", undo, len(again), err, want)
				}
				if len(again) == 1 && again[0].Failures != 0 {
					t.Errorf("it begins with %d failures", again[0].Failures)
				}
			})
		}
	}
}
