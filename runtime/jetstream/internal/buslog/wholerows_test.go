package buslog

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// How much of what many rows hold is in memory.
func TestRowsDoNotHoldTheirPayloadsAndAttemptsInMemory(t *testing.T) {
	const rows, most = 20_000, 1200
	l := &Log{}
	l.subs = map[string]*sub{}
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for seq := range int64(rows) {
		r := newRow(&engine.Record{
			Seq: seq + 1, ID: uuid.New(), Type: "order.placed", Payload: bytes.Repeat([]byte("x"), 4096), Metadata: bytes.Repeat([]byte("m"), 512), CreatedAt: time.Now(), Key: fmt.Sprint(seq),
		})
		for range 3 {
			r.Attempts = append(r.Attempts, event.FailedAttempt{Kind: event.KindPanic, Error: "boom", Stack: strings.Repeat("s", 2048)})
		}
		if r.Due = time.Now().Add(time.Hour); seq%2 == 0 {
			r.State, r.Reason, r.Progress = ledger.Dead, event.ReasonMaxAttempts, strings.Repeat("p", 1024)
		}
		data := r.encode()
		if err := l.apply(stream.Stored{Subject: fmt.Sprint("bus.d.sub.", seq+1), Seq: seq + 1, Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	each := (heap() - before) / rows
	t.Log(each, "bytes for each row")
	if each > most {
		t.Errorf("each row is %d bytes of memory, want at most %d", each, most)
	}
	if len(l.subs["sub"].rows) != rows {
		t.Errorf("there are %d rows", len(l.subs["sub"].rows))
	}
}
