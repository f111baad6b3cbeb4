package main

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/ncruces/go-sqlite3"
)

func TestWhatIsLeftInTheFileIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.db")
	_, err := fill(t.Context(), path, 3, true, 0)
	must(t, err)
	before, err := rowsOf(path)
	must(t, err)
	if before["busgen_log"] != 3 || before["busgen_subscriptions"] != 1 {
		t.Errorf("a file with three events and a subscription has the rows %v", before)
	}
	must(t, requireNoRows(path, before, 0))

	_, err = fill(t.Context(), path, 2, true, 0)
	must(t, err)
	must(t, requireNoRows(path, before, 2))
	if err := requireNoRows(path, before, 1); err == nil || !strings.Contains(err.Error(), "log has 5 rows, want 4") {
		t.Errorf("an event too many: %v", err)
	}

	conn, err := sqlite3.Open(path)
	must(t, err)
	must(t, conn.Exec("CREATE TABLE left (behind)"))
	must(t, conn.Close())
	must(t, requireNoRows(path, before, 2)) // it has no rows
	conn, err = sqlite3.Open(path)
	must(t, err)
	must(t, conn.Exec("INSERT INTO left VALUES (1)"))
	must(t, conn.Close())
	if err := requireNoRows(path, before, 2); err == nil || !strings.Contains(err.Error(), "left has 1 rows, want 0") {
		t.Errorf("a row that is left behind: %v", err)
	}
}

func TestAFileThatABusLeavesIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.db")
	must(t, lifeOfABus(t.Context(), path, 3))
	must(t, os.WriteFile(path+"-wal", nil, 0o600))
	if err := requireAlone(path); err == nil || !strings.Contains(err.Error(), "bus.db-wal") {
		t.Errorf("a write-ahead log is left: %v", err)
	}
}

func TestAGoroutineThatRunsOnIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := runtime.NumGoroutine() + 20 // others of the program may begin
		end := make(chan struct{})
		for range 100 { // more than that, and than other tests may have left, which end in these seconds
			go func() { <-end }()
		}
		if err := requireGoroutines(before); err == nil {
			t.Error("there should be an error")
		}
		time.AfterFunc(goroutinePatience/2, func() { close(end) })
		must(t, requireGoroutines(before))
	})
}

func TestAShortRunEndsBeforeAllIsDone(t *testing.T) {
	short.Visit(t, "it measures")
	synctest.Test(t, func(t *testing.T) {
		did, bare := 0, 0
		m := mass{
			portion: 10,
			ours:    func(n int) error { did += n; time.Sleep(time.Second); return nil },
			bare:    func(n int) error { bare += n; time.Sleep(2 * time.Second); return nil },
		}
		for _, test := range []struct {
			fillFor time.Duration
			want    int
		}{{0, 105}, {time.Minute, 105}, {7 * time.Second, 30}} {
			did, bare = 0, 0
			r, err := m.run(t.Context(), &setting{events: 105, fillFor: test.fillFor})
			must(t, err)
			if did != test.want || bare != did || r.Events != did || r.Ratio != 2 || r.Heap == nil {
				t.Errorf("in %v: %d events, %d bare ones, %+v", test.fillFor, did, bare, r)
			}
		}
	})
}

func TestWhatStaysOnTheHeapIsSeen(t *testing.T) {
	grown := watchHeap()
	kept := make([]byte, 8<<20)
	if mib := grown(); mib < 7.5 {
		t.Errorf("the heap has grown by %v MiB with 8 MiB more on it", mib)
	}
	runtime.KeepAlive(kept)

	// A collection beside the loop would find alive what is made during it.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	grown = watchHeap()
	for range 100 {
		kept = make([]byte, 1<<20)
	}
	kept = nil
	if mib := grown(); mib > 4 {
		t.Errorf("the heap has grown by %v MiB with nothing more on it", mib)
	}
}
