package runtime

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/simfs"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// When the disk fails to sync a transaction of the database, it may forget more than that: what the bus
// has written before without a sync. What is published later must not come after the gap.
func TestWhatIsPublishedAfterTheDiskHasFailedTheDatabaseIsSafe(t *testing.T) {
	simulate(t, func(s *simulated) {
		_, err := DB(s.Bus).Exec("CREATE TABLE note (x)")
		s.must(err)
		steps := make(chan struct{}, 1)
		s.handle(steps)
		s.must(s.publish(1))
		steps <- struct{}{}
		time.Sleep(time.Second) // its success is written, and not synced
		s.disk.Fail(simfs.Fault{Op: simfs.Sync, File: "-wal", Nth: 1, Err: sqlite3.IOERR_FSYNC, Forget: true, Limit: 1})
		if _, err := DB(s.Bus).Exec("INSERT INTO note VALUES (1)"); err == nil {
			t.Error("a commit that could not be synced succeeds")
		}
		if s.disk.Failures() != 1 {
			t.Fatalf("%d syncs have failed", s.disk.Failures())
		}
		receipt, err := Publish(s.Context(), s.Bus, parcelType, parcel{Number: 2})
		s.must(err)
		_, err = DB(s.Bus).Exec("INSERT INTO note VALUES (2)") // on another connection
		s.must(err)
		var notes int
		s.must(DB(s.Bus).QueryRow("SELECT sum(x) FROM note").Scan(&notes))
		if notes != 2 {
			t.Errorf("the sum of the notes is %d, want 2", notes)
		}
		var images []simfs.Image
		for seed := range uint64(20) {
			images = append(images, s.disk.Crash(seed))
		}
		steps <- struct{}{}
		s.must(s.Shutdown(s.Context()))
		for seed, image := range images {
			disk := simfs.New(filepath.Dir(s.path), image)
			log, err := sqlite.Open(s.path, sqlite.Options{VFS: disk.Name()})
			s.must(err)
			if held, err := log.Holds(s.Context(), receipt.seq, receipt.ID); err != nil || !held {
				t.Errorf("seed %d: an event that was acknowledged is lost (%v)", seed, err)
			}
			s.must(log.Close())
			disk.Unregister()
		}
	})
}
