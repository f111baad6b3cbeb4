package buslog

import (
	"testing"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A reader that has ended may still have messages in its hands. If those counted, the ones before
// them that its successor brings would be passed over.
func TestMessagesOfAReaderThatHasEndedDoNotCount(t *testing.T) {
	l := newTestLog()
	l.following.reader = 2
	l.arrived(1, []stream.Stored{{Subject: "bus.k.x", Seq: 100}})
	l.arrived(2, []stream.Stored{{Subject: "bus.k.x", Seq: 50}})
	if l.received != 50 || l.come.Load() != 50 {
		t.Errorf("message %d is the last one that has arrived, want 50", l.received)
	}
}
