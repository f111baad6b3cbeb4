package sqlite

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
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

// Their rows are inserted together, but for those of events that need more than a row, or are large.
func TestPublishersThatShareASyncKnowTheirEvents(t *testing.T) {
	sorts := map[string]func(r *engine.Record, i int){
		"plain":      func(*engine.Record, int) {},
		"of another": func(r *engine.Record, i int) { r.Type = "c.d" },
		"delayed":    func(r *engine.Record, _ int) { r.Due = r.CreatedAt.Add(time.Hour) },
		"with a key": func(r *engine.Record, i int) {
			r.Dedupe = &engine.Dedupe{Key: "one", Expires: r.CreatedAt.Add(time.Hour)}
		},
		"with metadata":  func(r *engine.Record, _ int) { r.Metadata = []byte(`{"k":"v"}`) },
		"of a large one": func(r *engine.Record, _ int) { r.Payload = fmt.Appendf(nil, "%q", strings.Repeat("x", heldSize)) },
	}
	grouped(t, func(t *testing.T, log *Log, disk *simfs.FS) {
		release := disk.Hold()
		var publishers sync.WaitGroup
		batches := make(map[string][][]engine.Record)
		for i := range 40 {
			for sort, change := range sorts {
				batch := make([]engine.Record, 1+i%3)
				for k := range batch {
					batch[k] = engine.Record{ID: uuid.Must(uuid.NewV7()), Type: "a.b", Payload: fmt.Appendf(nil, "%d", i), CreatedAt: time.Now()}
					change(&batch[k], i)
				}
				if sort == "with a key" {
					batch = batch[:1]
				}
				batches[sort] = append(batches[sort], batch)
				publishers.Go(func() {
					if err := log.Append(t.Context(), batch); err != nil && !isConflict(err) {
						t.Errorf("%s: %v", sort, err)
					}
				})
			}
			synctest.Wait() // they wait for the first one's sync, or are the first
		}
		release()
		publishers.Wait()
		for sort, all := range batches {
			for _, batch := range all {
				for k, r := range batch {
					if sort == "with a key" && r.Seq == 0 {
						continue // its key was in conflict
					}
					var payload string
					must(t, log.read(func(c *database.Conn) error {
						return c.Query("SELECT payload, due_at IS NOT NULL FROM busgen_log WHERE seq = ? AND id = ?", func(s *sqlite3.Stmt) error {
							if payload = s.ColumnText(0); s.ColumnBool(1) != (sort == "delayed") {
								t.Errorf("an event that is %s is delayed: %v", sort, s.ColumnBool(1))
							}
							return nil
						}, r.Seq, r.ID[:])
					}))
					if payload != string(r.Payload) && !r.Duplicate {
						t.Fatalf("the event %d of a batch that is %s is said to have the number %d, where %q is", k, sort, r.Seq, payload)
					}
					if k > 0 && r.Seq != batch[k-1].Seq+1 {
						t.Fatalf("the events of a batch that is %s have the numbers %d and %d", sort, batch[k-1].Seq, r.Seq)
					}
				}
			}
		}
	})
}
