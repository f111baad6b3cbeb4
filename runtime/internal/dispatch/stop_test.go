package dispatch

import (
	"log/slog"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/limit"
)

// idle is a consumer without deliveries.
type idle struct{ engine.Consumer }

func (idle) Notify(func(), func() bool) {}

// The worker did not end in time, and parks a delivery when the subscription has long ended.
func TestADeliveryThatIsParkedAfterItsSubscriptionHasEndedIsNotInLine(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	set := limit.New(limit.Config{Wall: time.Now, Logger: logger}, declare.Limit{Name: "mail", AtOnce: 1})
	s := New(idle{}, Config{Logger: logger, Limits: set, Alone: &Alone{Logger: logger}, Waits: &Waits{}})
	if err := s.Stop(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	w := s.limits.owner.NewWaiter([]limit.Use{{Limit: set.Limit("mail")}}, 0, 0)
	s.queue.Park(queue.Item{Delivery: &engine.Delivery{Record: &engine.Record{Seq: 1}}, Limits: &queue.Limited{Waiter: w}})
	if n := s.limits.owner.Len(); n > 0 {
		t.Errorf("%d are in line", n)
	}
}
