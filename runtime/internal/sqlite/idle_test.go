package sqlite

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/beat"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// An idle bus looks at memory whether others have written, and asks SQLite when they have.
func TestALookAsksSQLiteOnlyAfterSomebodyHasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	log, err := Open(path, Options{})
	must(t, err)
	defer log.Close()
	if log.head == nil {
		t.Skip("here the index cannot be mapped")
	}
	log.owner.lookout.watchOthers()
	others, err := database.Connect(path, "", sqlite3.OPEN_READWRITE)
	must(t, err)
	defer others.Close()
	must(t, others.Exec("CREATE TABLE theirs (x)"))

	w, lookout := log.writer, log.owner.lookout
	<-w.turn
	defer func() { w.turn <- struct{}{} }()
	asked := 0
	must(t, w.conn.Trace(sqlite3.TRACE_STMT, func(sqlite3.TraceEvent, any, any) error { asked++; return nil }))
	look := func() int {
		asked, lookout.looked, lookout.cared, log.owner.files.placed = 0, time.Time{}, time.Time{}, time.Time{}
		w.content.look()
		return asked
	}
	look()
	for range 3 {
		if n := look(); n != 0 {
			t.Errorf("a look at rest runs %d statements", n)
		}
		must(t, others.Exec("INSERT INTO theirs VALUES (1)"))
		version := lookout.version
		if look() == 0 || lookout.version == version {
			t.Error("what another connection has written is not seen")
		}
	}
}

// Waking a process costs more than looking, so all buses of a process look at the same moments.
func TestIdleBusesLookAtTheSameMoments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logs []*Log
		for range 3 {
			log, err := Open(filepath.Join(t.TempDir(), "events.db"), Options{})
			must(t, err)
			defer log.Close()
			log.owner.lookout.watchOthers()
			logs = append(logs, log)
			time.Sleep(70 * time.Millisecond)
		}
		looked := func(log *Log) time.Time {
			<-log.writer.turn
			defer func() { log.writer.turn <- struct{}{} }()
			return log.owner.lookout.looked
		}
		for range 5 {
			time.Sleep(beat.Until(pollDelay))
			synctest.Wait()
			for _, log := range logs {
				if at := looked(log); !at.Equal(time.Now()) {
					t.Errorf("a bus has looked %v before the beat, want at it", time.Since(at))
				}
			}
		}
	})
}
