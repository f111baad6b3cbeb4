package sqlite

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// far returns a log with a consumer that is that many events of so many bytes behind, none of which is in memory, and their ids.
func far(t *testing.T, behind, size int) (*Log, *consumer, []uuid.UUID) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events.db")
	open := func() (*Log, *consumer) {
		log, err := Open(path, Options{})
		must(t, err)
		_, err = log.TakeOver(t.Context())
		must(t, err)
		c, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: "ship", Pattern: "order.*"})
		must(t, err)
		return log, c.(*consumer)
	}
	log, _ := open()
	var ids []uuid.UUID
	for range behind / 1000 {
		records := make([]engine.Record, 1000)
		for i := range records {
			records[i] = engine.Record{ID: uuid.New(), Type: "order.placed", Payload: []byte(`"` + strings.Repeat("x", size-2) + `"`), CreatedAt: time.Now()}
			ids = append(ids, records[i].ID)
		}
		must(t, log.Append(t.Context(), records))
	}
	must(t, log.Close())
	log, c := open()
	t.Cleanup(func() { must(t, log.Close()) })
	return log, c, ids
}

// pagesAhead returns what a consumer has read ahead, or nil.
func pagesAhead(c *consumer) *ahead {
	c.polling.Lock()
	defer c.polling.Unlock()
	return c.ahead
}

func TestWhateverHappensToABacklogEachEventIsPolledOnceAndInOrder(t *testing.T) {
	short.Visit(t, "it simulates disks")
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			const events = 12_000
			log, c, ids := far(t, events, []int{2, 3000}[seed%2])
			outOfTurn, seen, readAhead, last := map[int64]bool{}, map[int64]bool{}, 0, int64(0)
			for len(seen) < events {
				polled, _, err := c.Poll(nil, 128+r.IntN(300))
				must(t, err)
				for _, d := range polled {
					if seen[d.Seq] || !outOfTurn[d.Seq] && d.Seq <= last {
						t.Fatalf("event %d is polled again, or after event %d", d.Seq, last)
					}
					if seen[d.Seq] = true; !outOfTurn[d.Seq] {
						last = d.Seq
					}
				}
				if len(polled) == 0 {
					t.Fatalf("%d events were polled, want %d", len(seen), events)
				}
				if pagesAhead(c) != nil {
					readAhead++
				}
				synctest.Wait() // it is read
				switch seq := c.next + r.Int64N(1500); {
				case seq > events || outOfTurn[seq]:
				case r.IntN(5) == 0: // it is a row now, which is polled first
					outOfTurn[seq] = true
					must(t, c.writer.do(t.Context(), func(conn *database.Conn) error {
						return conn.Exec("INSERT INTO busgen_deliveries (subscription, seq, state, failures, due_at) VALUES (?, ?, 'waiting', 0, 1)", c.id, seq)
					}))
					c.recheck()
				case r.IntN(5) == 0:
					outOfTurn[seq] = true
					_, err := log.Cancel(t.Context(), engine.Cancellation{Event: ids[seq-1], Reason: engine.ReasonCancelled})
					must(t, err)
				case r.IntN(10) == 0:
					time.Sleep(2 * freshFor) // the handler is slow
				}
			}
			if readAhead < 10 || len(outOfTurn) == 0 {
				t.Errorf("%d pages were read ahead, %d events were out of turn: the test shows nothing", readAhead, len(outOfTurn))
			}
		})
	}
}

// The connection that reads has the next page to read meanwhile. As long as nobody writes, what was read ahead is handed
// over without it.
func TestWhatIsReadAheadIsHandedOverWhileTheConnectionIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c, _ := far(t, 4000, 2)
		if c.ground.head == nil {
			t.Skip("here the index cannot be mapped")
		}
		for range 2 {
			synctest.Wait() // what opening has left to the writer is written
			_, _, err := c.Poll(nil, 200)
			must(t, err)
		}
		synctest.Wait()
		<-c.ground.reader.turn
		events := 0
		go func() {
			for range 3 {
				polled, _, err := c.Poll(nil, 200)
				must(t, err)
				events += len(polled)
			}
		}()
		synctest.Wait()
		if events != 600 {
			t.Errorf("%d events are handed over, want 600 of the page that was read ahead", events)
		}
		c.ground.reader.turn <- struct{}{}
	})
}

// What an operator erases must not go to a handler for much longer.
func TestWhatIsReadAheadIsReadAgainAfterAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c, _ := far(t, 3000, 2)
		for range 2 {
			_, _, err := c.Poll(nil, 200)
			must(t, err)
		}
		synctest.Wait()
		if pagesAhead(c) == nil {
			t.Fatal("nothing was read ahead")
		}
		must(t, c.writer.do(t.Context(), func(conn *database.Conn) error {
			return conn.Exec("UPDATE busgen_log SET payload = ?", []byte(`"erased"`))
		}))
		time.Sleep(freshFor)
		synctest.Wait()
		if pagesAhead(c) != nil {
			t.Error("what nobody has used is still in memory")
		}
		polled, _, err := c.Poll(nil, 200)
		must(t, err)
		for _, d := range polled {
			if string(d.Payload) != `"erased"` {
				t.Fatalf("event %d has %s", d.Seq, d.Payload)
			}
		}
	})
}

func TestASlowHandlerHasNothingReadAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c, _ := far(t, 3000, 2)
		for i := range 5 {
			_, _, err := c.Poll(nil, 200)
			must(t, err)
			if pagesAhead(c) != nil {
				t.Fatal(fmt.Sprint("page ", i, " is followed by one that is read ahead"))
			}
			time.Sleep(freshFor)
		}
	})
}

func TestLargeEventsAreReadAheadOnlyAsFarAsMemoryMayBeUsed(t *testing.T) {
	short.Visit(t, "it simulates disks")
	synctest.Test(t, func(t *testing.T) {
		const size = 50_000
		_, c, _ := far(t, 1000, size)
		for range 3 {
			_, _, err := c.Poll(nil, 20)
			must(t, err)
		}
		synctest.Wait()
		one := pagesAhead(c)
		if one == nil || one.after == nil {
			t.Fatal("two pages are to be read ahead")
		}
		for _, page := range []int{20 + len(one.events), len(one.after.events)} { // 20 are handed over
			if page*size > bytesAhead+size {
				t.Errorf("%d events of %d bytes are read ahead", page, size)
			}
		}
	})
}
