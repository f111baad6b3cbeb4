package sqlite

import (
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// workerLog is a log with a consumer whose deliveries are settled by the test.
type workerLog struct {
	*Log
	t        *testing.T
	consumer engine.Consumer
}

func openWithWorker(t *testing.T) *workerLog {
	t.Helper()
	log, err := Open(filepath.Join(t.TempDir(), "events.db"), Options{})
	must(t, err)
	t.Cleanup(func() { log.Close() })
	must(t, log.Declare(t.Context(), typesNamed("job.queued", "task.queued"), nil))
	consumer, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: "worker", Pattern: "*"})
	must(t, err)
	_, err = log.TakeOver(t.Context())
	must(t, err)
	return &workerLog{log, t, consumer}
}

// publish appends one event.
func (g *workerLog) publish(eventType string) engine.Record {
	g.t.Helper()
	records := []engine.Record{{ID: uuid.Must(uuid.NewV7()), Type: eventType, Payload: []byte("{}"), CreatedAt: time.Now()}}
	must(g.t, g.Append(g.t.Context(), records))
	return records[0]
}

// settle gives every delivery that can be polled the same disposition, and returns
// their places in the log.
func (g *workerLog) settle(v engine.Disposition) (seqs []int64) {
	g.t.Helper()
	deliveries, _, err := g.consumer.Poll(nil, 100)
	must(g.t, err)
	for _, d := range deliveries {
		seqs = append(seqs, d.Seq)
		g.consumer.Settle(engine.Settled{Delivery: d, Disposition: v}, nil)
	}
	must(g.t, g.Flush(g.t.Context()))
	return seqs
}

// deadLetter publishes an event and makes it a dead letter.
func (g *workerLog) deadLetter(eventType, reason, kind string) int64 {
	g.t.Helper()
	seq := g.publish(eventType).Seq
	g.settle(engine.Disposition{
		Kind: engine.Dead, Reason: reason, Fingerprint: "f",
		Attempt: &event.FailedAttempt{Kind: kind, Started: time.Now(), Ended: time.Now(), Error: "broken"},
	})
	return seq
}

func TestARedriveTakesWhatItsSpecChooses(t *testing.T) {
	short.Skip(t, "all choices are crossed")
	for name, test := range map[string]struct {
		change func(s *engine.RedriveSpec)
		want   []int64
	}{
		"of any age":                 {func(s *engine.RedriveSpec) {}, []int64{1, 4, 5}},
		"of an age":                  {func(s *engine.RedriveSpec) { s.DeadBefore = s.DeadBefore.Add(-time.Hour) }, []int64{1}},
		"a reason":                   {func(s *engine.RedriveSpec) { s.Reasons = []string{"crash"} }, []int64{2}},
		"a kind of the last attempt": {func(s *engine.RedriveSpec) { s.Reasons = []string{"timeout"} }, []int64{1, 4}},
		"several":                    {func(s *engine.RedriveSpec) { s.Reasons = []string{"timeout", "crash"} }, []int64{1, 2, 4}},
		"none of the reasons":        {func(s *engine.RedriveSpec) { s.Reasons = []string{"decode"} }, nil},
		"not more than the limit":    {func(s *engine.RedriveSpec) { s.Limit = 2 }, []int64{1, 4}},
		"another type":               {func(s *engine.RedriveSpec) { s.Type = "task.queued" }, []int64{3}},
		"another subscription":       {func(s *engine.RedriveSpec) { s.Subscription = "nobody" }, nil},
		"never":                      {func(s *engine.RedriveSpec) { s.Max = 0 }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := openWithWorker(t)
				g.deadLetter("job.queued", event.ReasonMaxAttempts, event.KindTimeout)
				g.deadLetter("job.queued", event.ReasonCrash, event.KindCrash)
				g.deadLetter("task.queued", event.ReasonMaxAttempts, event.KindTimeout)
				time.Sleep(time.Hour)
				g.deadLetter("job.queued", event.ReasonMaxAttempts, event.KindTimeout)
				g.publish("job.queued") // times out, and then fails
				g.settle(engine.Disposition{Kind: engine.Retry, Due: time.Now(), Attempt: &event.FailedAttempt{Kind: event.KindTimeout, Ended: time.Now()}})
				g.settle(engine.Disposition{
					Kind: engine.Dead, Reason: event.ReasonMaxAttempts, Attempt: &event.FailedAttempt{Kind: event.KindError, Ended: time.Now()},
				})
				must(t, g.writer.do(t.Context(), func(c *database.Conn) error { // as takeOver does
					return c.Exec("UPDATE busgen_deliveries SET suspect = 1 WHERE reason = 'crash'")
				}))
				spec := engine.RedriveSpec{Subscription: "worker", Type: "job.queued", DeadBefore: time.Now(), Max: 1, Limit: 100}
				test.change(&spec)
				n, err := g.Redrive(t.Context(), spec)
				must(t, err)
				if got := g.settle(engine.Disposition{Kind: engine.Done}); !slices.Equal(got, test.want) || n != len(got) {
					t.Errorf("%d were redriven, %v; want %v", n, got, test.want)
				}
			})
		})
	}
}

func TestADeadLetterIsRedrivenAsOftenAsAllowedAndAgainAfterARetryByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := openWithWorker(t)
		g.deadLetter("job.queued", event.ReasonMaxAttempts, event.KindError)
		spec := engine.RedriveSpec{Subscription: "worker", Type: "job.queued", Max: 2, Limit: 10}
		redrives := func() (n int) {
			for range 5 {
				spec.DeadBefore = time.Now()
				one, err := g.Redrive(t.Context(), spec)
				must(t, err)
				n += one
				g.settle(engine.Disposition{Kind: engine.Dead, Reason: event.ReasonMaxAttempts, Fingerprint: "f"})
			}
			return n
		}
		if n := redrives(); n != 2 {
			t.Errorf("it was redriven %d times, want 2", n)
		}
		inspection := inspectFile(t, g.path)
		sweep, _, err := inspection.Sweep(t.Context(), engine.SweepSpec{Kind: engine.SweepRetry})
		must(t, err)
		_, err = sweep.Step(t.Context(), 10, false)
		must(t, err)
		time.Sleep(2 * pollDelay) // notices
		g.settle(engine.Disposition{Kind: engine.Dead, Reason: event.ReasonMaxAttempts, Fingerprint: "f"})
		if n := redrives(); n != 2 {
			t.Errorf("after a retry by hand it was redriven %d times, want 2", n)
		}
		entries, _, err := inspection.Audit(t.Context(), event.AuditFilter{}, event.Page{Limit: 10})
		must(t, err)
		if len(entries) != 5 || entries[0].Actor != "busgen" || entries[0].Action != "redrive" || entries[0].Subscription != "worker" || entries[0].Count != 1 {
			t.Errorf("the audit is %+v", entries)
		}
	})
}
