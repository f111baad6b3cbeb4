package buslog

import (
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A reader that has ended may still have messages in its hands. If those counted, the ones before
// them that its successor brings would be passed over.
func TestMessagesOfAReaderThatHasEndedDoNotCount(t *testing.T) {
	l := newTestLog(t)
	l.following.reader = 2
	l.arrived(1, []stream.Stored{{Subject: "bus.k.x", Seq: 100}})
	l.arrived(2, []stream.Stored{{Subject: "bus.k.x", Seq: 50}})
	if l.received != 50 || l.come.Load() != 50 {
		t.Errorf("message %d is the last one that has arrived, want 50", l.received)
	}
}

// A change of the registry is in a batch with an entry of the audit, which such a process is not sent.
func TestAProcessThatOnlyPublishesDoesNotWaitForTheRestOfABatch(t *testing.T) {
	l := newTestLog(t)
	l.arrived(0, []stream.Stored{{
		Subject: "bus.n", Seq: 7, Data: []byte(`{"format":1,"subscriptions":[{"id":"a","name":"first","pattern":"*"}]}`),
		Header: nats.Header{"Nats-Batch-Id": {"x"}, "Nats-Batch-Sequence": {"1"}},
	}})
	if l.registry.known("first") == nil {
		t.Error("the registry has arrived, and is not known")
	}
	l.followsAll.Store(true)
	l.arrived(0, []stream.Stored{{
		Subject: "bus.n", Seq: 8, Data: []byte(`{"format":1}`), Header: nats.Header{"Nats-Batch-Id": {"y"}, "Nats-Batch-Sequence": {"1"}},
	}})
	if l.registry.known("first") == nil {
		t.Error("half of a batch is known to a process that is sent all of it")
	}
}

// A try to read all records that has failed may have read a row that is deleted before the next one.
func TestWhoReadsTheRecordsAnewHasNoneOfThoseItReadBefore(t *testing.T) {
	l := newTestLog(t)
	l.registry = registry{Format: 2, Subs: []subscription{{ID: "a", Name: "first", Pattern: "*"}}}
	l.registryChanged()
	first := l.subs["a"]
	for seq, m := range []stream.Stored{
		{Subject: "bus.d.a.3", Data: []byte(`{"seq":3,"state":"dead"}`)},
		{Subject: "bus.c.a", Data: []byte(`{"n":4,"owner":"other","next":9}`)},
		{Subject: "bus.d.removed.3", Data: []byte(`{"seq":3,"state":"waiting"}`)},
		{Subject: "bus.a.5", Data: []byte(`{"ID":5}`)},
	} {
		m.Seq = int64(10 + seq)
		if err := l.apply(m); err != nil {
			t.Fatal(err)
		}
	}
	if len(first.rows) != 1 || first.parts[whole].Owner != "other" || len(l.subs) != 2 {
		t.Fatalf("%+v is what was read", first)
	}
	l.startOver()
	if len(first.rows) > 0 || first.parts[whole].N != 0 || len(l.subs) != 1 || l.lastEntry != 0 {
		t.Errorf("%+v is left of what was read", first)
	}
	if l.subs["a"] != first || first.Name != "first" {
		t.Errorf("the subscription is %+v", first)
	}
}
