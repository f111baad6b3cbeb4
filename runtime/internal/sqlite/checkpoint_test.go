package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// The write-ahead log is moved into the database now and then. Here that fails,
// and then the power does.

// forgetting is a sync that fails once, after which the operating system
// believes that the file's changes are on the disk.
func forgetting(file string) simfs.Fault {
	return simfs.Fault{Op: simfs.Sync, File: file, Nth: 1, Err: sqlite3.IOERR_FSYNC, Forget: true}
}

func TestNothingIsLostWhenASyncFailsInACheckpoint(t *testing.T) {
	short.Skip(t, "each sync fails once")
	for name, test := range map[string]struct {
		before func(r *checkpoints) // a checkpoint is near
		fault  simfs.Fault
		cross  func(r *checkpoints) // and happens
	}{
		"of the log, behind dispositions that were not synced": {
			func(r *checkpoints) { r.publish(database.WALPages - 10 - r.log.writer.conn.PagesInWAL()) }, forgetting("-wal"), (*checkpoints).fail,
		},
		"of the database, when events are published": {
			func(r *checkpoints) { r.publish(database.WALPages - 2) }, forgetting("events.db"), (*checkpoints).publishOne,
		},
		"of the database, when dispositions are written": {
			func(r *checkpoints) { r.publish(database.WALPages - 10) }, forgetting("events.db"), (*checkpoints).fail,
		},
		"of the database, after a part of the log was moved and synced": {
			func(r *checkpoints) { r.publish(database.WALPages); r.publish(database.WALPages - 2) }, forgetting("events.db"), (*checkpoints).publishOne,
		},
	} {
		t.Run(name, func(t *testing.T) {
			checkpointTest(t, func(r *checkpoints) {
				test.before(r)
				r.fs.Fail(test.fault)
				for r.fs.Failures() == 0 {
					test.cross(r)
				}
				r.nothingIsLost()
				for range 4 {
					r.publishOne()
					r.nothingIsLost()
				}
			})
		})
	}
}

// The failed sync may have left the beginning of the log on the disk only. A part of its
// end in the database would not fit to that.
func TestThePowerMayFailWhileALogIsMovedThatWasNotSynced(t *testing.T) {
	short.Skip(t, "the power fails at every write")
	for cut, over := 1, false; !over; cut++ {
		checkpointTest(t, func(r *checkpoints) {
			r.publish(100)
			must(r.T, r.log.Close()) // which empties the log
			r.open()
			r.publishOne()
			r.fail()
			r.fail()
			r.fs.Fail(forgetting("-wal"))
			r.fs.CutAfter(cut)
			if r.log.Append(r.Context(), []engine.Record{r.record()}) == nil {
				r.Fatalf("cut %d: the event was acknowledged", cut)
			}
			over = !r.fs.Dead()
			r.nothingIsLost()
			r.fs.Heal()
		})
		if t.Failed() {
			t.Fatalf("with the power cut at change %d", cut)
		}
	}
}

// The same when the last connection moves it, because it is closed.
func TestThePowerMayFailWhileALogThatWasNotSyncedIsClosed(t *testing.T) {
	short.Visit(t, "it simulates disks")
	for cut, over := 1, false; !over; cut++ {
		checkpointTest(t, func(r *checkpoints) {
			r.publish(20)
			must(r.T, r.log.Close())
			c, err := database.Connect(r.path, r.fs.Name(), sqlite3.OPEN_READWRITE)
			must(r.T, err)
			fill := func(table string, full bool) error {
				return c.Transaction(full, func() error {
					return c.Exec("INSERT INTO " + table + " SELECT randomblob(500) FROM busgen_log")
				})
			}
			for _, table := range []string{"early", "late"} {
				must(r.T, c.ExecScript("CREATE TABLE "+table+" (text BLOB); CREATE INDEX "+table+"_text ON "+table+" (text)"))
				must(r.T, fill(table, true))
			}
			must(r.T, c.Checkpoint(sqlite3.CHECKPOINT_TRUNCATE))
			must(r.T, fill("early", true))
			must(r.T, fill("late", false))
			r.fs.Fail(simfs.Fault{Op: simfs.Sync, File: "-wal", Nth: 1, Err: sqlite3.IOERR_FSYNC, Forget: true, Sticky: true, Limit: 2})
			if fill("early", true) == nil {
				r.Fatalf("cut %d: the sync did not fail", cut)
			}
			r.fs.CutAfter(cut)
			c.Close()
			over = !r.fs.Dead()
			r.nothingIsLost()
			r.fs.Heal()
		})
		if t.Failed() {
			t.Fatalf("with the power cut at change %d", cut)
		}
	}
}

// A reader with an old snapshot makes a checkpoint stop half way, without a
// sync. What SQLite has moved until then it does not move again.
func TestASyncThatFailsAfterHalfACheckpointEndsAllWritingUntilTheNextOpen(t *testing.T) {
	short.Visit(t, "it simulates disks")
	checkpointTest(t, func(r *checkpoints) {
		r.publish(database.WALPages / 2)
		reader := r.raw()
		must(r.T, reader.Exec("BEGIN; SELECT count(*) FROM busgen_log"))
		r.publish(database.WALPages / 2)
		must(r.T, reader.Close())
		r.fs.Fail(forgetting("events.db"))
		for r.fs.Failures() == 0 {
			r.publishOne()
		}
		r.nothingIsLost()

		for range 2 {
			var storage *event.StorageError
			err := r.log.Append(r.Context(), []engine.Record{r.record()})
			if !errors.As(err, &storage) || storage.Fault != event.IO || !strings.Contains(storage.Hint, "-wal") {
				r.Fatalf("publishing returned %v, want an error that says where the events are", err)
			}
		}
		r.nothingIsLost()
		r.log.Close()
		r.nothingIsLost()

		r.open() // nobody else has it open
		r.nothingIsLost()
		r.publish(2 * database.WALPages)
		r.nothingIsLost()
	})
}

// A write that fails forgets nothing, and writing goes on once it works again:
// whoever reads an old state meanwhile, and without another start.
func TestAWriteThatFailsAfterHalfACheckpointIsMadeUpFor(t *testing.T) {
	short.Skip(t, "each write of a checkpoint fails once")
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO} {
		for _, file := range []string{"events.db", ""} {
			t.Run(fmt.Sprintf("%v, %q", errno, file), func(t *testing.T) {
				checkpointTest(t, func(r *checkpoints) {
					r.publish(database.WALPages / 2)
					reader := r.raw()
					must(r.T, reader.Exec("BEGIN; SELECT count(*) FROM busgen_log"))
					r.publish(database.WALPages) // half of it is moved, and not synced
					r.fs.Fail(simfs.Fault{
						Op: simfs.Write | simfs.Truncate, File: file, Nth: 1, Sticky: true,
						Err: &fs.PathError{Op: "write", Path: "events.db", Err: errno},
					})
					must(r.T, reader.Exec("COMMIT; BEGIN; SELECT count(*) FROM busgen_log")) // so that there is more to move
					refused := 0
					for range 3 * database.WALPages {
						if r.log.Append(r.Context(), []engine.Record{r.record()}) == nil {
							r.acked++
						} else if refused++; refused == 4 {
							break
						}
					}
					if r.fs.Failures() == 0 {
						r.Fatal("nothing has failed")
					}
					r.nothingIsLost()
					r.fs.Heal()
					full := errno == syscall.ENOSPC || errno == syscall.EDQUOT
					if full {
						r.publishOne() // beside the reader
						r.nothingIsLost()
					}
					must(r.T, reader.Close())
					for range 3 {
						r.publish(database.WALPages)
						r.nothingIsLost()
					}
				})
			})
		}
	}
}

func TestTheLogIsMovedIntoTheDatabaseBeforeItGrowsLong(t *testing.T) {
	checkpointTest(t, func(r *checkpoints) {
		for range 5 {
			r.publish(database.WALPages)
		}
		if n := len(r.fs.Kill()[r.path+"-wal"]) / (4096 + 24); n > database.WALPages+100 {
			r.Errorf("it has %d pages, want about %d", n, database.WALPages)
		}
	})
}

// Each of the readers ends its transaction soon, but never the last.
func TestReadersThatOverlapDoNotMakeTheLogGrow(t *testing.T) {
	short.Skip(t, "readers overlap in real time")
	checkpointTest(t, func(r *checkpoints) {
		over := make(chan struct{})
		var readers sync.WaitGroup
		defer readers.Wait()
		defer close(over)
		for i := range 3 { // with the reader of the log itself, as many as SQLite has places for
			reader := r.raw()
			readers.Go(func() {
				defer reader.Close()
				time.Sleep(time.Duration(i) * 500 * time.Microsecond)
				for {
					must(r.T, reader.Exec("BEGIN; SELECT count(*) FROM busgen_log"))
					time.Sleep(2 * time.Millisecond)
					must(r.T, reader.Exec("COMMIT"))
					select {
					case <-over:
						return
					default:
					}
				}
			})
		}
		longest := 0
		for range 2 * database.WALLimit {
			r.publishOne()
			longest = max(longest, r.log.writer.conn.PagesInWAL())
			time.Sleep(100 * time.Microsecond)
		}
		if longest > database.WALLimit+100 {
			r.Errorf("it has had %d pages, want no more than %d", longest, database.WALLimit)
		}
		r.nothingIsLost()
	})
}

// Its transaction may last for hours.
func TestAReaderThatHoldsTheLogIsSaidOnceAndTheLogIsEmptiedWhenItHasEnded(t *testing.T) {
	short.Visit(t, "it simulates disks")
	defer func(before int64) { heldBytes = before }(heldBytes)
	heldBytes = 20 << 20
	checkpointTest(t, func(r *checkpoints) {
		var said bytes.Buffer
		must(r.T, r.log.Close())
		r.logger = slog.New(slog.NewTextHandler(&said, nil))
		r.open()
		reader := r.raw()
		must(r.T, reader.Exec("BEGIN; SELECT count(*) FROM busgen_log"))
		began := time.Now()
		r.publish(2 * database.WALLimit)
		if waited := time.Since(began); waited > 10*time.Second {
			r.Errorf("those who publish wait for %v in all", waited)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := strings.Count(said.String(), "readers keep the write-ahead log"); n != 1 {
			r.Errorf("it is said %d times that there is a reader:\n%s", n, said.String())
		}
		r.nothingIsLost()
		must(r.T, reader.Close())
		time.Sleep(2 * heldDelay)
		synctest.Wait()
		if n := len(r.fs.Kill()[r.path+"-wal"]); n != 0 || !strings.Contains(said.String(), "emptied again") {
			r.Errorf("the log has %d bytes when nobody reads any more:\n%s", n, said.String())
		}
	})
}

// checkpoints is a log on a simulated disk.
type checkpoints struct {
	*testing.T
	path     string
	fs       *simfs.FS
	logger   *slog.Logger // nil for none
	log      *Log
	consumer engine.Consumer
	acked    int
}

func checkpointTest(t *testing.T, f func(r *checkpoints)) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		r := &checkpoints{T: t, path: filepath.Join(folder, "events.db"), fs: simfs.New(folder, nil)}
		defer r.fs.Unregister()
		r.open()
		defer func() { r.log.Close() }()
		f(r)
	})
}

func (r *checkpoints) open() {
	r.Helper()
	log, err := Open(r.path, Options{VFS: r.fs.Name(), Logger: r.logger})
	must(r.T, err)
	r.log = log
	must(r.T, log.Declare(r.Context(), typesNamed("a.b"), nil))
	r.consumer, err = log.Consumer(r.Context(), engine.ConsumerSpec{Name: "reader", Pattern: "*", FromBeginning: true})
	must(r.T, err)
	_, err = log.TakeOver(r.Context())
	must(r.T, err)
}

func (r *checkpoints) raw() *sqlite3.Conn {
	r.Helper()
	c, err := simRaw(r.path, r.fs)
	must(r.T, err)
	return c
}

func (r *checkpoints) record() engine.Record {
	return engine.Record{
		ID: uuid.Must(uuid.NewV7()), Type: "a.b", CreatedAt: time.Now(),
		Payload: fmt.Appendf(nil, `{"text":"%s"}`, strings.Repeat("x", 3000)),
	}
}

func (r *checkpoints) publishOne() {
	r.Helper()
	must(r.T, r.log.Append(r.Context(), []engine.Record{r.record()}))
	r.acked++
}

// publish publishes events that come to so many pages of the log, one after
// the other.
func (r *checkpoints) publish(pages int) {
	r.Helper()
	for conn := r.log.writer.conn; pages > 0; {
		before := conn.PagesInWAL()
		r.publishOne()
		pages -= max(conn.PagesInWAL()-before, 1)
	}
}

// fail writes a disposition.
func (r *checkpoints) fail() {
	r.Helper()
	deliveries, _, err := r.consumer.Poll(nil, 1)
	must(r.T, err)
	if len(deliveries) == 0 {
		r.Fatal("there is nothing left to fail")
	}
	r.consumer.Settle(engine.Settled{Delivery: deliveries[0], Disposition: engine.Disposition{
		Kind: engine.Retry, Due: time.Now().Add(time.Hour),
		Attempt: &event.FailedAttempt{Kind: event.KindError, Error: strings.Repeat("x", 3000), Started: time.Now(), Ended: time.Now()},
	}}, nil)
	must(r.T, r.log.Flush(r.Context()))
}

// nothingIsLost looks at what power cuts at this moment may leave.
func (r *checkpoints) nothingIsLost() {
	r.Helper()
	for seed := range uint64(10) {
		fs := simfs.New(filepath.Dir(r.path), r.fs.Crash(seed))
		c, err := simRaw(r.path, fs)
		must(r.T, err)
		look := &sim{T: r.T, seed: seed, fs: fs}
		if found := look.rows(c, "PRAGMA integrity_check"); found[0][0] != "ok" {
			r.Fatalf("power cut %d has damaged the file: %s", seed, found[0][0])
		}
		// Past the index, so that both are looked at.
		if n, _ := strconv.Atoi(look.rows(c, "SELECT count(*) FROM busgen_log NOT INDEXED")[0][0]); n < r.acked {
			r.Fatalf("after power cut %d there are %d events, %d were acknowledged", seed, n, r.acked)
		}
		c.Close()
		fs.Unregister()
	}
}
