package sqlite

import (
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// Settling is ignored for a delivery that is settled already, and for one whose consumer
// another one has replaced.
func TestSettlingWhatIsNotTheConsumersIsIgnored(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, _ *simfs.FS) {
		open := func() (engine.Consumer, *engine.Delivery) {
			c, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: "billing", Pattern: "a.b", FromBeginning: true})
			must(t, err)
			polled, _, err := c.Poll(nil, 10)
			must(t, err)
			if len(polled) != 1 {
				t.Fatalf("polled %d deliveries, want 1", len(polled))
			}
			return c, polled[0]
		}
		retry := engine.Disposition{
			Kind: engine.Retry, Due: time.Now().Add(time.Hour),
			Attempt: &event.FailedAttempt{Kind: event.KindError, Error: "broken", Started: time.Now(), Ended: time.Now()},
		}
		first, d := open()
		second, again := open()
		if n, _, _ := first.Begin([]*engine.Delivery{d}, []int{0}, time.Now()); n > 0 {
			t.Error("the first consumer may begin a delivery that the second has")
		}
		first.Settle(engine.Settled{Delivery: d, Disposition: engine.Disposition{Kind: engine.Done}}, nil)
		if n, _, _ := second.Begin([]*engine.Delivery{again}, []int{0}, time.Now()); n == 0 {
			t.Error("the second consumer may not begin its delivery")
		}
		second.Settle(engine.Settled{Delivery: again, Disposition: retry}, nil)
		second.Settle(engine.Settled{Delivery: again, Disposition: retry}, nil)
		must(t, log.Flush(t.Context()))
		must(t, log.read(func(c *database.Conn) error {
			n, err := c.Int64("SELECT count(*) FROM busgen_attempts JOIN busgen_deliveries USING (seq, subscription) WHERE state = 'waiting'")
			if n != 1 {
				t.Errorf("there are %d failed attempts of an open delivery, want 1", n)
			}
			return err
		}))
	})
}
