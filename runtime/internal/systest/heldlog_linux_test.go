package systest

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

// publishMegabytes publishes so many, and returns how long the write-ahead log was at most, in bytes.
func publishMegabytes(t *testing.T, f *Fixture, n int) (longest int64) {
	t.Helper()
	batch := make([]OrderPlaced, 50)
	for i := range batch {
		batch[i].OrderID = strings.Repeat("x", 20_000)
	}
	for range n {
		_, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, batch)
		Must(t, err)
		info, err := os.Stat(f.Path + "-wal")
		Must(t, err)
		longest = max(longest, info.Size())
	}
	return longest
}

// More of them than SQLite has places for.
func TestManyReadersOfTheDatabaseDoNotMakeTheLogGrow(t *testing.T) {
	f := SQLite.Open(t)
	over := make(chan struct{})
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for {
				tx, err := runtime.DB(f.Bus).BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(2 * time.Millisecond)
				tx.Rollback()
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	longest := publishMegabytes(t, f, 60)
	close(over)
	readers.Wait()
	if longest > 24<<20 {
		t.Errorf("the write-ahead log has had %d bytes, want no more than 16 MB and a little", longest)
	}
	f.Stop()
}

func init() { children["reader"] = readerChild }

// readerChild reads one state of the file until it is killed.
func readerChild(path string) {
	c, err := sqlite3.Open(path)
	check(err)
	check(c.Exec("BEGIN; SELECT count(*) FROM events"))
	say("ready")
	select {}
}

func TestTheLogNamesTheReadersThatKeepTheWriteAheadLogFromBeingEmptied(t *testing.T) {
	short.Skip(t, "readers keep it for seconds")
	f := SQLite.Open(t)
	f.Publish(1)
	reader := running(t, "reader", f.Path)
	tx, err := runtime.DB(f.Bus).BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	Must(t, err)
	publishMegabytes(t, f, 80)
	warned := func() (lines []map[string]any) {
		for _, line := range f.Log.Level(t, "WARN") {
			if strings.HasPrefix(line["msg"].(string), "readers keep the write-ahead log") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	eventually(t, "the log says that there are readers", func() bool { return len(warned()) > 0 })
	who := warned()[0]["readers"].(string)
	for _, want := range []string{fmt.Sprintf("process %d (systest.test)", reader.Process.Pid), "a transaction of runtime.DB in this process, begun "} {
		if !strings.Contains(who, want) {
			t.Errorf("the readers are %q, want also %q", who, want)
		}
	}
	Must(t, tx.Rollback())
	Must(t, reader.Process.Kill())
	reader.Wait()
	eventually(t, "the write-ahead log is emptied, although nothing is published", func() bool {
		info, err := os.Stat(f.Path + "-wal")
		Must(t, err)
		return info.Size() == 0
	})
	if n := len(warned()); n != 1 {
		t.Errorf("it is logged %d times, want once", n)
	}
	f.Stop()
}
