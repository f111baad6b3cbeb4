package sqlite

import (
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
)

// grouped runs f with a log on a disk in memory.
func grouped(t *testing.T, f func(t *testing.T, log *Log, disk *simfs.FS)) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		disk := simfs.New(folder, nil)
		defer disk.Unregister()
		log, err := Open(filepath.Join(folder, "events.db"), Options{VFS: disk.Name()})
		must(t, err)
		defer log.Close()
		appendOne(t, log)
		f(t, log, disk)
	})
}

func appendOne(t *testing.T, log *Log) {
	record := engine.Record{ID: uuid.Must(uuid.NewV7()), Type: "a.b", Payload: []byte("{}"), CreatedAt: time.Now()}
	if err := log.Append(t.Context(), []engine.Record{record}); err != nil {
		t.Error(err)
	}
}

func TestPublishersThatWaitForASyncShareTheNextOne(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, disk *simfs.FS) {
		before := disk.Count(simfs.Sync)
		release := disk.Hold()
		var publishers sync.WaitGroup
		for range 100 {
			publishers.Go(func() { appendOne(t, log) })
			synctest.Wait() // it waits for the first one's sync, or is the first
		}
		release()
		publishers.Wait()
		if n := disk.Count(simfs.Sync) - before; n != 2 {
			t.Errorf("100 publishers, of whom 99 waited for the first, came to %d syncs, want 2", n)
		}
	})
}

// Without waiting for those of the last transaction, every other sync would be for one or two of them only. They begin
// together: which of them are written together at first is up to the scheduler, and two halves of the same size stay halves.
func TestPublishersThatPublishAgainAndAgainShareEverySync(t *testing.T) {
	const publishers, each = 32, 20
	grouped(t, func(t *testing.T, log *Log, disk *simfs.FS) {
		disk.Slow(10 * time.Millisecond)
		before := disk.Count(simfs.Sync)
		release := disk.Hold()
		var all sync.WaitGroup
		for range publishers {
			all.Go(func() {
				for range each {
					appendOne(t, log)
				}
			})
			synctest.Wait() // it waits for the first one's sync, or is the first
		}
		release()
		all.Wait()
		// One for each time that all have published, and a few until they are in step.
		if n := disk.Count(simfs.Sync) - before; n < each || n > each+each/2 {
			t.Errorf("%d publishers of %d events each came to %d syncs, want about %d", publishers, each, n, each)
		}
	})
}
