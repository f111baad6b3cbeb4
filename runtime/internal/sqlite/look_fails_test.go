package sqlite

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
)

// Whichever read of a look fails, what another process has published is noticed by the next one, and nobody has to write
// again for that.
func TestALookThatFailsHalfWayIsRepeated(t *testing.T) {
	failed := 0
	for nth := 1; nth <= 12; nth++ {
		synctest.Test(t, func(t *testing.T) {
			folder := t.TempDir()
			disk := simfs.New(folder, nil)
			open := func() *Log {
				log, err := Open(filepath.Join(folder, "events.db"), Options{VFS: disk.Name()})
				must(t, err)
				must(t, log.Declare(t.Context(), []engine.TypeSpec{{Name: "order.placed", Version: 1}}, nil))
				t.Cleanup(func() { must(t, log.Close()) })
				return log
			}
			log, other := open(), open()
			_, err := log.TakeOver(t.Context())
			must(t, err)
			c, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: "ship", Pattern: "order.*"})
			must(t, err)
			var woken atomic.Bool
			c.Notify(func() { woken.Store(true) }, nil)
			time.Sleep(time.Second)
			woken.Store(false)
			must(t, other.Append(t.Context(), []engine.Record{{ID: uuid.New(), Type: "order.placed", Payload: []byte(`{}`), CreatedAt: time.Now()}}))
			disk.Fail(simfs.Fault{Op: simfs.Read, Nth: nth, Err: sqlite3.IOERR_READ, Limit: 1})
			time.Sleep(10 * pollDelay)
			failed += disk.Failures()
			disk.Heal()
			if polled, _, err := c.Poll(nil, 10); err != nil || len(polled) != 1 || !woken.Load() {
				t.Errorf("after read %d has failed %d events were noticed (%v), want 1; whoever polls was woken: %v", nth, len(polled), err, woken.Load())
			}
		})
	}
	if failed < 3 {
		t.Errorf("%d reads have failed: the test shows nothing", failed)
	}
}
