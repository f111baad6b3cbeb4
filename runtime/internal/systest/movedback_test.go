//go:build linux || darwin

package systest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

// stopSaid returns the line in which a bus says that its file is gone, when it has said so.
func stopSaid(t *testing.T, f *Fixture) (said string) {
	t.Helper()
	defer func() {
		if said == "" {
			t.Log(f.Log.Level(t, "ERROR"))
		}
	}()
	eventually(t, "the bus says that its file is gone", func() bool {
		for _, line := range f.Log.Level(t, "ERROR") {
			if line["msg"] == "the bus stops, because its file is gone" {
				said = line["error"].(string)
			}
		}
		return said != ""
	})
	return said
}

// savedIn returns the copy that a line names, or "".
func savedIn(line string) string { return regexp.MustCompile(`\S+-saved-\w+`).FindString(line) }

// soundWith counts the events of the test in a file, and says whether it is sound.
func soundWith(t *testing.T, path string) string {
	t.Helper()
	return queryFile(t, path, "SELECT count(*) FILTER (WHERE json_extract(payload, '$.number') < 1000) || ' events, ' || (SELECT * FROM pragma_quick_check) FROM events")
}

// killedLog makes the log of a program that was killed, whose events are in its write-ahead log.
func killedLog(t *testing.T, path string, numbers ...int) {
	t.Helper()
	f := SQLite.Open(t)
	f.Publish(numbers...)
	for _, suffix := range []string{"", "-wal"} {
		Must(t, copyFile(f.Path+suffix, path+suffix))
	}
	f.Stop()
}

func TestWhatAnOwnerSaysAboutItsFileGivesAllAcknowledgedEventsBack(t *testing.T) {
	short.Skip(t, "each advice is taken with a file of its own")
	rename := func(t *testing.T, path string) { Must(t, os.Rename(path, path+".moved")) }
	moveBack := func(t *testing.T, path, _ string) { Must(t, os.Rename(path+".moved", path)) }
	useCopy := func(t *testing.T, path, saved string) { Must(t, os.Rename(saved, path)) }
	remove := func(suffixes ...string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			for _, suffix := range suffixes {
				Must(t, os.Remove(path+suffix))
			}
		}
	}
	stay := func(*testing.T, string, string) {}
	otherFile := func(t *testing.T) string {
		f := SQLite.Open(t)
		f.Publish(1000, 1001)
		f.Stop()
		return f.Path
	}
	for name, one := range map[string]struct {
		takeAway func(t *testing.T, path string)
		shell    bool // another program writes to what it finds at the name, at once
		follow   func(t *testing.T, path, saved string)
		restart  bool // the program is started again before anybody reads the log
	}{
		"moved":                             {rename, false, moveBack, false},
		"moved, started again":              {rename, false, moveBack, true},
		"moved with its write-ahead log":    {func(t *testing.T, path string) { rename(t, path); Must(t, os.Rename(path+"-wal", path+".moved-wal")) }, false, moveBack, true},
		"copied and deleted":                {func(t *testing.T, path string) { Must(t, copyFile(path, path+".moved")); Must(t, os.Remove(path)) }, false, useCopy, false},
		"deleted":                           {remove(""), false, useCopy, false},
		"deleted, started again":            {remove(""), false, useCopy, true},
		"deleted with all that lies beside": {remove("", "-wal", "-shm"), false, useCopy, true},
		"another one renamed over it":       {func(t *testing.T, path string) { Must(t, os.Rename(otherFile(t), path)) }, false, useCopy, false},
		"moved, and another one put in its place": {func(t *testing.T, path string) {
			other := otherFile(t)
			Must(t, os.Link(path, path+".moved")) // the name is never free
			Must(t, os.Rename(other, path))
		}, false, stay, false},
		"without its log":   {remove("-wal"), false, stay, false},
		"without its index": {remove("-shm"), false, stay, false},
		"without both":      {remove("-wal", "-shm"), false, stay, false},
		"without both, another program writes": {remove("-wal", "-shm"), true, func(t *testing.T, path, saved string) {
			for _, suffix := range []string{"", "-wal", "-shm"} {
				if err := os.Rename(path+suffix, path+".theirs"+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
			}
			useCopy(t, path, saved)
		}, false},
		"a folder that has another name": {func(t *testing.T, path string) { Must(t, os.Rename(filepath.Dir(path), filepath.Dir(path)+".moved")) }, false,
			func(t *testing.T, path, _ string) {
				Must(t, os.Rename(filepath.Dir(path)+".moved", filepath.Dir(path)))
			}, true},
		"a folder that is deleted": {func(t *testing.T, path string) { Must(t, os.RemoveAll(filepath.Dir(path))) }, false, func(t *testing.T, path, saved string) {
			Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			Must(t, copyFile(saved, path))
			Must(t, os.Remove(saved))
		}, true},
	} {
		for _, killed := range []bool{false, true} {
			if killed && one.restart {
				continue
			}
			t.Run(fmt.Sprintf("%s, killed: %t", name, killed), func(t *testing.T) {
				t.Setenv("TMPDIR", t.TempDir()) // where a copy is made if the folder is gone
				path := filepath.Join(t.TempDir(), "folder", "events.db")
				Must(t, os.Mkdir(filepath.Dir(path), 0o700))
				f := SQLite.Reopen(t, path)
				f.MustStart()
				f.Publish(Numbers(1, 200)...)
				// One before the look, which the process notices nothing of.
				one.takeAway(t, path)
				acknowledged := 200
				if _, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 201}); err == nil {
					acknowledged++
				}
				if one.shell {
					Must(t, execFile(path, "PRAGMA wal_autocheckpoint=0; CREATE TABLE theirs (x); INSERT INTO theirs VALUES (randomblob(100000))"))
				}
				// Another bus begins nothing beside it, and reads nothing into it.
				begin := func(when, says string) {
					t.Helper()
					other, err := runtime.Open(t.Context(), path, Catalogue)
					var storage *event.StorageError
					if err == nil {
						other.Shutdown(context.Background())
					}
					if !errors.As(err, &storage) || storage.Fault != event.Incomplete && !strings.Contains(name, "folder") || !strings.Contains(err.Error(), says) {
						t.Errorf("%s Open of another bus returned %v, want that the file is incomplete, and %q", when, err, says)
					}
				}
				replaced := strings.Contains(name, "another one")
				free := replaced || strings.Contains(name, "all that lies beside") // nothing says that there was another one
				if !free {
					begin("before the owner has noticed,", "")
				}
				said := stopSaid(t, f)
				if !free {
					begin("when the owner has noticed,", "")
				}
				if killed {
					// As the process leaves it: it has no time for anything.
					defer f.Shutdown(context.Background())
				} else {
					f.Shutdown(context.Background())
				}
				if one.restart && !free && !strings.Contains(name, "folder") && !killed {
					begin("when the owner has ended,", said[strings.Index(said, "; ")+2:])
				}
				one.follow(t, path, savedIn(said))
				want := fmt.Sprintf("%d events, ok", acknowledged)
				where := path
				if replaced {
					where = path + ".moved"
				}
				if name == "another one renamed over it" {
					where = path // the copy was moved there
				}
				if got := soundWith(t, where); got != want {
					t.Errorf("there are %s; want %s. The log says %s", got, want, said)
				}
				if !killed {
					SQLite.Reopen(t, where)
				}
			})
		}
	}
}

// Nothing but its name says to which file a write-ahead log belongs.
func TestTheLogOfAnotherFileIsNotReadIntoOneThatIsMovedBack(t *testing.T) {
	t.Run("of a new one", func(t *testing.T) { refusesTheLogOfAnother(t, 1000, 1001) })
	// So that it begins anew, without the pages that were written when the file was made.
	t.Run("of one with many events", func(t *testing.T) { refusesTheLogOfAnother(t, Numbers(1000, 2600)...) })
}

func refusesTheLogOfAnother(t *testing.T, numbers ...int) {
	f := SQLite.Open(t)
	f.Publish(Numbers(1, 200)...)
	f.Stop()
	path := f.Path
	Must(t, os.Rename(path, path+".moved"))
	killedLog(t, path, numbers...)
	Must(t, os.Rename(path+".moved", path))
	before := folderOf(t, path)
	refused := func(what string, err error) {
		t.Helper()
		var storage *event.StorageError
		if !errors.As(err, &storage) || storage.Fault != event.Incomplete || !strings.Contains(err.Error(), "another file") || !strings.Contains(storage.Hint, "move") {
			t.Errorf("%s returned %v, want that the log is that of another file", what, err)
		}
		if after := folderOf(t, path); after != before {
			t.Errorf("%s: the folder has %s, and before %s", what, after, before)
		}
	}
	_, err := runtime.Open(t.Context(), path, Catalogue)
	refused("Open", err)
	_, err = inspect.Open(t.Context(), path)
	refused("inspect.Open", err)

	Must(t, os.Rename(path+"-wal", path+".theirs")) // as it says
	again := SQLite.Reopen(t, path)
	if got := soundWith(t, path); got != "200 events, ok" {
		t.Errorf("the file has %s, want 200", got)
	}
	again.Publish(201)
}

// Its pages, too, are only in the write-ahead log at first.
func TestAFileIsOpenedAgainIntoWhichAnotherLogWasRestoredBeforeItsProgramDied(t *testing.T) {
	other := SQLite.Open(t)
	other.Publish(1, 2, 3)
	backup := backUp(t, other)
	other.Stop()
	f := SQLite.Open(t)
	f.MustStart()
	f.Publish(Numbers(1, 200)...)
	restoreInto(t, f.Path, backup)
	f.Publish(4) // which notices it
	killed := filepath.Join(t.TempDir(), "killed.db")
	for _, suffix := range []string{"", "-wal"} {
		Must(t, copyFile(f.Path+suffix, killed+suffix))
	}
	SQLite.Reopen(t, killed)
	if got := soundWith(t, killed); got != "4 events, ok" {
		t.Errorf("the file has %s, want 4", got)
	}
	f.Stop()
}
