package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// handledLog has handled more events than a replay reads at once.
func handledLog(t *testing.T) (g *workerLog, seqs []int64) {
	t.Helper()
	g = openWithWorker(t)
	records := make([]engine.Record, 2*replayWindow+100)
	for i := range records {
		records[i] = engine.Record{ID: uuid.Must(uuid.NewV7()), Type: "job.queued", Payload: fmt.Appendf(nil, `{"n":%d}`, i), CreatedAt: time.Now()}
	}
	must(t, g.Append(t.Context(), records))
	for len(seqs) < len(records) {
		seqs = append(seqs, g.settle(engine.Disposition{Kind: engine.Done})...)
	}
	return g, seqs
}

// Whoever publishes waits for what a replay writes, and not for what it reads: a step that
// finds nothing takes no lock.
func TestAReplayLooksForEventsWithoutALock(t *testing.T) {
	g, seqs := handledLog(t)
	inspection := inspectFile(t, g.path)
	steps, matched, err := inspection.Sweep(t.Context(), engine.SweepSpec{
		Kind: engine.SweepReplay, Subscription: "worker", Filter: engine.Filter{Filter: event.Filter{Text: fmt.Sprintf(`{"n":%d}`, len(seqs)-1)}},
	})
	if err != nil || matched != 1 {
		t.Fatalf("%d events match, %v", matched, err)
	}
	must(t, inspection.change(t.Context(), "discard an event of", func(c *database.Conn) error {
		return tables.Discard(c, tables.RowKey{Subscription: 1, Seq: seqs[len(seqs)-1]}, "a mistake")
	}))
	other, err := database.Connect(g.path, "", sqlite3.OPEN_READWRITE)
	must(t, err)
	defer other.Close()
	must(t, other.Exec("BEGIN IMMEDIATE"))
	if keys, err := steps.Step(t.Context(), 100, false); err != nil || len(keys) > 0 {
		t.Errorf("while another connection writes: replayed %v, %v", keys, err)
	}
	must(t, other.Exec("COMMIT"))
}

// Between the look and the transaction that writes, other things happen to the events.
func TestAReplayGivesOnlyWhatIsStillHandled(t *testing.T) {
	g, seqs := handledLog(t)
	steps, matched, err := inspectFile(t, g.path).Sweep(t.Context(), engine.SweepSpec{Kind: engine.SweepReplay, Subscription: "worker"})
	if err != nil || matched != len(seqs) {
		t.Fatalf("%d events match, %v", matched, err)
	}
	r := steps.(*replay)
	found, end, err := r.find(t.Context(), 5)
	if err != nil || len(found) != 5 || end != seqs[4] {
		t.Fatalf("found %v up to %d, %v", found, end, err)
	}
	must(t, g.writer.do(t.Context(), func(c *database.Conn) error {
		return c.ExecScript(fmt.Sprintf(`
			DELETE FROM busgen_log WHERE seq = %d;
			UPDATE busgen_log SET id = x'00' WHERE seq = %d;
			INSERT INTO busgen_deliveries (subscription, seq, state, failures, due_at) VALUES (1, %d, 'waiting', 0, 9e15);
			INSERT INTO busgen_discarded (subscription, seq, reason, at) VALUES (1, %d, 'a mistake', 0)`, seqs[0], seqs[1], seqs[2], seqs[3]))
	}))
	keys, err := r.give(t.Context(), found)
	if err != nil || len(keys) != 1 || keys[0].EventID != found[4].id {
		t.Errorf("gave %v, %v, want event %s", keys, err, found[4].id)
	}
}

// A step goes on until it has found something: no events are the end.
func TestAReplayOfFewEventsFindsThemAll(t *testing.T) {
	g, seqs := handledLog(t)
	filter := engine.Filter{Filter: event.Filter{Text: `99}`}}
	steps, matched, err := inspectFile(t, g.path).Sweep(t.Context(), engine.SweepSpec{Kind: engine.SweepReplay, Subscription: "worker", Filter: filter})
	want := len(seqs) / 100
	if err != nil || matched != want {
		t.Fatalf("%d events match, %v, want %d", matched, err, want)
	}
	total := 0
	for keys := []event.Key{{}}; len(keys) > 0; total += len(keys) {
		keys, err = steps.Step(t.Context(), 7, false)
		must(t, err)
	}
	if total != want {
		t.Errorf("replayed %d, want %d", total, want)
	}
}
