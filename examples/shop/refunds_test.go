package main

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/busgen/busgen/examples/generated/eventstest"
	"github.com/busgen/busgen/runtime/runtimetest"
)

// If a note cannot be sent it is not written again, and the next one of its order waits.
func TestCreditNotesOfAnOrderAreWrittenOnceAndSentInTheirOrder(t *testing.T) {
	eventstest.Run(t, func(t *testing.T, kit *runtimetest.Kit) {
		kit.Setup(makeTables)
		s := &shop{bus: kit.Bus, books: &books{}}
		if err := s.subscribe(); err != nil {
			t.Fatal(err)
		}
		refund, other := eventstest.SamplePaymentRefunded(), eventstest.SamplePaymentRefunded()
		refund.OrderID, other.OrderID = uuid.New(), uuid.New()
		for _, reference := range []string{"1", "2", "3"} {
			refund.Reference = reference
			kit.Publish(refund)
		}
		kit.Publish(other)
		kit.Deliver()
		if written, sent := s.notes.of(refund.OrderID); !slices.Equal(written, []string{"1"}) || len(sent) != 0 {
			t.Errorf("after one attempt: written %q, sent %q", written, sent)
		}
		if written, _ := s.notes.of(other.OrderID); len(written) != 1 {
			t.Errorf("another order waits, too: %q", written)
		}
		kit.Drain()
		want := []string{"1", "2", "3"}
		if written, sent := s.notes.of(refund.OrderID); !slices.Equal(written, want) || !slices.Equal(sent, want) {
			t.Errorf("written %q, sent %q", written, sent)
		}
	})
}

func (c *creditNotes) of(order uuid.UUID) (written, sent []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.written[order]), slices.Clone(c.sent[order])
}
