package systest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

// eventually waits until something is so. These tests are about real files, so
// they are in real time.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for range 6000 { // a minute, on a busy machine
		if so() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it never came to be that %s", what)
}

// restoreInto does what the .restore command of the SQLite shell does, with the
// shell if there is one.
func restoreInto(t *testing.T, path, backup string) {
	t.Helper()
	if shell, err := exec.LookPath("sqlite3"); err == nil {
		if out, err := exec.Command(shell, path, ".timeout 5000", ".restore '"+backup+"'").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	c, err := sqlite3.Open(path)
	Must(t, err)
	defer c.Close()
	Must(t, c.BusyTimeout(5*time.Second))
	Must(t, c.Restore("main", "file:"+backup))
}

// backUp makes a copy as the manual says.
func backUp(t *testing.T, f *Fixture) string {
	t.Helper()
	backup := filepath.Join(t.TempDir(), "backup.db")
	queryFile(t, f.Path, "VACUUM INTO '"+backup+"'")
	return backup
}

func TestABusGoesOnWithABackupThatIsRestoredWhileItRuns(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	for name, pause := range map[string]time.Duration{"at once": 0, "after it has looked": 500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			f := SQLite.Open(t)
			var seen Journal[int]
			f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
				seen.Add(e.Payload.Number)
				return nil
			})
			for n := range 100 {
				f.Publish(n)
			}
			backup := backUp(t, f) // in which nothing is handled
			for n := range 200 {
				f.Publish(100 + n)
			}
			f.MustStart()
			f.Idle()
			if got := len(seen.All()); got != 300 {
				t.Fatalf("%d events were handled before, want 300", got)
			}
			restoreInto(t, f.Path, backup)
			time.Sleep(pause)
			for n := range 50 {
				f.Publish(1000 + n)
			}
			eventually(t, "all events of the restored log are handled", func() bool { return len(seen.All()) == 300+100+50 })
			f.Idle()
			again := seen.All()[300:]
			for i, n := range again {
				if want := i; i < 100 && n != want || i >= 100 && n != 900+i {
					t.Fatalf("event %d of the restored log is number %d", i, n)
				}
			}
			if got := queryFile(t, f.Path, "SELECT count(*) || ' ' || group_concat(DISTINCT status) FROM events"); got != "150 done" {
				t.Errorf("the file has %s, want 150 done", got)
			}
			if lines := f.Log.Level(t, "ERROR"); len(lines) != 1 || !strings.HasPrefix(lines[0]["msg"].(string), "the file was restored while the bus ran") {
				t.Errorf("the log says %v", lines)
			}
			f.Stop()
		})
	}
}

// A backup can differ from the file in nothing but what was handled since.
func TestARestoredBackupThatHasTheSameEventsIsNoticed(t *testing.T) {
	f := SQLite.Open(t)
	var seen atomic.Int32
	f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { seen.Add(1); return nil })
	f.MustStart()
	f.Idle()
	Must(t, f.PauseSubscription(t.Context(), "reader", ""))
	f.Publish(1, 2, 3)
	backup := backUp(t, f)
	Must(t, f.ResumeSubscription(t.Context(), "reader"))
	f.Idle()
	restoreInto(t, f.Path, backup)
	eventually(t, "the pause of the backup is there again", func() bool {
		pauses, err := f.Pauses(t.Context())
		Must(t, err)
		return len(pauses) == 1
	})
	Must(t, f.ResumeSubscription(t.Context(), "reader"))
	eventually(t, "the three events are handled again", func() bool { return seen.Load() == 6 })
	f.Stop()
}

func TestABackupOfAnotherLogHasItsOwnTypesAndSubscriptions(t *testing.T) {
	other := SQLite.Open(t)
	_, err := runtime.Publish(t.Context(), other.Bus, UserType, UserCreated{})
	Must(t, err)
	other.Publish(77)
	backup := backUp(t, other)
	other.Stop()

	f := SQLite.Open(t)
	var seen Journal[int]
	f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		seen.Add(e.Payload.Number)
		return nil
	}, runtime.FromBeginning())
	f.MustStart()
	f.Publish(1)
	f.Idle()
	restoreInto(t, f.Path, backup)
	f.Publish(2)
	eventually(t, "the events of the other log are handled", func() bool { return len(seen.All()) == 3 })
	f.Idle()
	if got := queryFile(t, f.Path, "SELECT group_concat(type || ' ' || status, ', ') FROM (SELECT * FROM events ORDER BY id)"); got != "user.created done, order.placed done, order.placed done" {
		t.Errorf("the file has %s", got)
	}
	f.Stop()
}

// A log of the past that no version of this program has made is not written to.
func TestAFileOfAnotherProgramThatIsRestoredStopsTheBus(t *testing.T) {
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	c, err := sqlite3.Open(foreign)
	Must(t, err)
	Must(t, c.Exec("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)"))
	Must(t, c.Close())
	f := SQLite.Open(t)
	f.MustStart()
	f.Publish(1)
	restoreInto(t, f.Path, foreign)
	_, err = runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{})
	var storage *event.StorageError
	if !errors.As(err, &storage) || storage.Fault != event.Foreign {
		t.Errorf("Publish returned %v, want that the file is not an event log", err)
	}
	eventually(t, "the bus says that it has stopped", func() bool { return f.Health().Stopped != "" })
	if got := queryFile(t, f.Path, "SELECT count(*) FROM theirs"); got != "1" {
		t.Errorf("the other program's table has %s rows", got)
	}
}

func TestABusWhoseFileIsTakenAwayStops(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	for name, one := range map[string]struct {
		takeAway func(t *testing.T, path string)
		words    string
		// survivor returns the file that has the acknowledged events afterwards; empty for none.
		survivor func(path string) string
	}{
		"moved": {
			func(t *testing.T, path string) { Must(t, os.Rename(path, path+".moved")) }, "moved away",
			func(path string) string { return path + ".moved" },
		},
		"moved and replaced": {
			func(t *testing.T, path string) {
				empty := SQLite.Open(t)
				empty.Stop()
				// The name is never free: a bus that looked then would say only "moved away".
				Must(t, os.Link(path, path+".moved"))
				Must(t, os.Rename(empty.Path, path))
			}, "another file put in its place",
			func(path string) string { return path + ".moved" },
		},
		"replaced": {
			func(t *testing.T, path string) {
				empty := SQLite.Open(t)
				empty.Stop()
				Must(t, os.Rename(empty.Path, path))
			}, "another file was put in its place", nil,
		},
		"deleted":                           {func(t *testing.T, path string) { Must(t, os.Remove(path)) }, "deleted", nil},
		"without its write-ahead log":       {func(t *testing.T, path string) { Must(t, os.Remove(path+"-wal")) }, "write-ahead log was", func(path string) string { return path }},
		"without the index of its log":      {func(t *testing.T, path string) { Must(t, os.Remove(path+"-shm")) }, "index", func(path string) string { return path }},
		"in a folder that has another name": {func(t *testing.T, path string) { Must(t, os.Rename(filepath.Dir(path), filepath.Dir(path)+"-moved")) }, "moved away", func(path string) string { return filepath.Join(filepath.Dir(path)+"-moved", filepath.Base(path)) }},
	} {
		for _, started := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "folder", "events.db")
				Must(t, os.Mkdir(filepath.Dir(path), 0o700))
				f := SQLite.Reopen(t, path)
				running := make(chan struct{}, 1)
				interrupted := make(chan error, 1)
				f.Handle("reader", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
					if e.Payload.Number == 7 {
						running <- struct{}{}
						<-ctx.Done()
						interrupted <- context.Cause(ctx)
					}
					return nil
				})
				if started {
					f.MustStart()
				}
				f.Publish(1, 2, 3, 7)
				receipt := f.Publish(4)[0]
				if started {
					<-running
				}
				one.takeAway(t, path)
				gone := time.Now()
				acknowledged := 5
				var err error
				for err == nil && time.Since(gone) < 5*time.Second {
					_, err = runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 8})
					if err == nil {
						acknowledged++
					}
				}
				var storage *event.StorageError
				if !errors.As(err, &storage) || storage.Fault != event.Replaced || !strings.Contains(err.Error(), one.words) {
					t.Errorf("Publish returned %v, want a fault %q that says %q", err, event.Replaced, one.words)
				}
				if took := time.Since(gone); took > 2*time.Second {
					t.Errorf("it took %v to notice", took)
				}
				if started {
					<-interrupted
					if _, err := receipt.Wait(t.Context()); !errors.As(err, &storage) || storage.Fault != event.Replaced {
						t.Errorf("Wait returned %v", err)
					}
				}
				eventually(t, "the bus says that it has stopped", func() bool { return f.Health().Stopped != "" && !f.Health().Healthy })
				if err := f.Shutdown(context.Background()); !errors.As(err, &storage) {
					t.Errorf("Shutdown returned %v", err)
				}
				if one.survivor == nil {
					return
				}
				if got := queryFile(t, one.survivor(path), "SELECT count(*) FROM events"); got != strconv.Itoa(acknowledged) {
					t.Errorf("of %d acknowledged events %s are left", acknowledged, got)
				}
				SQLite.Reopen(t, one.survivor(path))
			})
		}
	}
}

// After a pause nothing at all is acknowledged into a file that is gone.
func TestAfterAPauseNothingIsAcknowledgedIntoAFileThatIsGone(t *testing.T) {
	f := SQLite.Open(t)
	f.Publish(1)
	time.Sleep(250 * time.Millisecond) // longer than the time between two looks
	Must(t, os.Rename(f.Path, f.Path+".moved"))
	_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{})
	var storage *event.StorageError
	if !errors.As(err, &storage) || storage.Fault != event.Replaced {
		t.Errorf("Publish returned %v", err)
	}
}

// On a file system whose locks do not hold, a second process can take over. The
// row of owner says so, and the first one yields.
func TestAnOwnerThatHasBeenReplacedWritesNothingMore(t *testing.T) {
	f := SQLite.Open(t)
	release := make(chan struct{})
	started := make(chan struct{}, 10)
	f.Handle("reader", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
		started <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	})
	f.MustStart()
	f.Publish(1)
	<-started
	queryFile(t, f.Path, "UPDATE busgen_owner SET pid = 4711, since = since + 1 RETURNING 1")
	close(release) // its success must not be written
	f.Publish(2)
	eventually(t, "the bus says that it has stopped", func() bool { return f.Health().Stopped != "" })
	if got := f.Health().Stopped; !strings.Contains(got, "4711") {
		t.Errorf("it says %q, want the process that has taken over", got)
	}
	f.Publish(3) // the other one handles it
	if got := queryFile(t, f.Path, "SELECT group_concat(status) FROM events"); strings.Contains(got, "done") {
		t.Errorf("the events are %s", got)
	}
	if got := queryFile(t, f.Path, "SELECT count(*) FROM events"); got != "3" {
		t.Errorf("%s events are stored, want 3", got)
	}
	f.Shutdown(context.Background())
}

func TestClaimsThatAreDeletedAreMadeAgain(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	path := filepath.Join(t.TempDir(), "events.db")
	owner := running(t, "crowd", path)
	Must(t, os.Remove(path+"-claims"))
	eventually(t, "the claims are there again", func() bool {
		content, err := os.ReadFile(path + "-claims")
		return err == nil && strings.Trim(string(content), "\x00") != ""
	})
	Must(t, owner.Process.Kill())
	owner.Wait()
	f := SQLite.Reopen(t, path)
	f.MustStart()
	if got := f.Stats().Recovery.Interrupted; got != 1 {
		t.Errorf("%d attempts are known to have been interrupted, want 1", got)
	}
}

func TestWaitingForARestoredLogWaitsForItsEvents(t *testing.T) {
	f := SQLite.Open(t)
	release := make(chan struct{})
	var handled atomic.Int32
	var calls atomic.Int32
	f.Handle("reader", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
		if calls.Add(1) == 1 { // which the restored file interrupts
			<-ctx.Done()
			return context.Cause(ctx)
		}
		<-release
		handled.Add(1)
		return nil
	})
	f.Publish(1)
	backup := backUp(t, f)
	f.MustStart()
	receipt := f.Publish(2)[0]
	waited, idle := make(chan error, 1), make(chan error, 1)
	go func() { _, err := receipt.Wait(context.Background()); waited <- err }()
	go func() { idle <- f.WaitIdle(context.Background()) }()
	eventually(t, "both wait", func() bool {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:goruntime.Stack(stacks, true)]
		return strings.Count(string(stacks), "sqlite.(*observer).wait(") == 2
	})
	restoreInto(t, f.Path, backup)
	if err := <-waited; !errors.Is(err, event.ErrRestored) {
		t.Errorf("Wait returned %v, want ErrRestored", err)
	}
	close(release)
	Must(t, <-idle)
	if got := handled.Load(); got != 1 {
		t.Errorf("%d events were handled when the bus was idle, want the one of the backup", got)
	}
	f.Stop()
}
