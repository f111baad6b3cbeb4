package buslog

import (
	"testing"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Who may publish to the stream of a bus can store anything under any of its subjects. No record stops whoever reads
// it, and what comes after it counts.
func FuzzRecordsOfSomebodyElse(f *testing.F) {
	for _, m := range [][2]string{
		{"n", `{"format":1,"subscriptions":[{"id":"b","name":"second","pattern":"*"}],"types":[{"id":1,"name":"x"}]}`},
		{"c.a", `{"n":4,"owner":"other","next":9}`}, {"c.a.300", `{"n":4}`}, {"d.a.3", `{"seq":3,"state":"dead"}`}, {"d.a.3", `{"seq":-3,"state":"?","waitlist":"x"}`},
		{"r.a.3", `{"reason":"x"}`}, {"o", `{"members":{"x":{}}}`}, {"s.x", `{}`}, {"l", `{}`}, {"l.00", `[]`}, {"t", `{}`}, {"v", `{}`}, {"q", `null`}, {"m", `{}`},
		{"p", `{"before":9}`}, {"b.x", `{}`}, {"h", `{}`}, {"i", `{}`}, {"k.x", `{}`}, {"a.x", `{"ID":5}`}, {"e.00.order.placed", `{}`}, {"e.made.x", `{`}, {"z", ``},
	} {
		f.Add(m[0], []byte(m[1]))
	}
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		l := newTestLog(t)
		l.arrived(0, []stream.Stored{{Subject: "bus.n", Seq: 1, Data: []byte(`{"format":1,"subscriptions":[{"id":"a","name":"first","pattern":"*"}]}`)}})
		l.arrived(0, []stream.Stored{{Subject: "bus." + subject, Seq: 2, Data: data}})
		l.arrived(0, []stream.Stored{{Subject: "bus.n", Seq: 3, Data: []byte(`{"format":1,"subscriptions":[{"id":"c","name":"third","pattern":"*"}]}`)}})
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.closed && l.registry.known("third") == nil {
			t.Errorf("after %q in %q the registry does not arrive", data, subject)
		}
	})
}
