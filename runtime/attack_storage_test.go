package runtime

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/simfs"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// A whole bus on a disk that misbehaves for a while.

type parcel struct {
	Number int `json:"number"`
}

func (parcel) Validate() error { return nil }

var (
	parcelType = Define(Spec[parcel]{Name: "parcel.sent", Settings: declare.DefaultSettings()})
	parcels    = NewCatalogue(parcelType)
)

// simulated is a bus on a simulated disk.
type simulated struct {
	*testing.T
	*Bus
	disk *simfs.FS
	path string
	logs *lockedBuffer

	mu      sync.Mutex
	handled []int
}

func simulate(t *testing.T, f func(s *simulated)) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		s := &simulated{T: t, disk: simfs.New(folder, nil), path: filepath.Join(folder, "events.db")}
		defer s.disk.Unregister()
		s.open()
		defer func() { s.Shutdown(context.Background()) }()
		f(s)
	})
}

func (s *simulated) open() {
	s.Helper()
	s.logs = &lockedBuffer{}
	var err error
	s.Bus, err = OpenOn(s.Context(), s.disk.Name(), s.path, filepath.Join(s.TempDir(), "other.db"), parcels,
		WithLogger(slog.New(slog.NewTextHandler(s.logs, nil))))
	s.must(err)
}

func (s *simulated) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// handle subscribes with a handler that takes one step whenever it may.
func (s *simulated) handle(steps <-chan struct{}) {
	s.Helper()
	_, err := Subscribe(s.Bus, parcelType, "carrier", func(_ context.Context, e Event[parcel]) error {
		<-steps
		s.mu.Lock()
		defer s.mu.Unlock()
		s.handled = append(s.handled, e.Payload.Number)
		return nil
	}, FromBeginning(), WithTimeout(time.Hour))
	s.must(err)
	s.must(s.Start(s.Context()))
}

func (s *simulated) publish(number int) error {
	_, err := Publish(s.Context(), s.Bus, parcelType, parcel{Number: number})
	return err
}

// sawUpTo checks that every parcel up to n was handled once, in order.
func (s *simulated) sawUpTo(n int) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.IsSorted(s.handled) || len(s.handled) != n || n > 0 && s.handled[n-1] != n {
		s.Fatalf("handled %v, want 1 to %d", s.handled, n)
	}
}

// logged counts the lines of a level with a text.
func (s *simulated) logged(level, text string) (n int) {
	for line := range strings.Lines(s.logs.String()) {
		if strings.Contains(line, "level="+level) && strings.Contains(line, text) {
			n++
		}
	}
	return n
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

// answer is how Go returns what the operating system answers.
func answer(errno syscall.Errno) error {
	return &fs.PathError{Op: "write", Path: "events.db", Err: errno}
}

func TestWorkGoesOnAfterAFileCouldNotBeWrittenForAWhile(t *testing.T) {
	short.Visit(t, "it takes seconds")
	const writes = simfs.Write | simfs.Truncate
	for name, test := range map[string]struct {
		op    simfs.Op
		err   error
		fault event.Fault
		hint  string
	}{
		"the disk is read-only":        {writes, answer(syscall.EROFS), event.ReadOnly, "writable for this user"},
		"the disk is full":             {writes, answer(syscall.ENOSPC), event.DiskFull, "free some space"},
		"the user has no space left":   {writes, answer(syscall.EDQUOT), event.DiskFull, "free some space"},
		"the disk fails to write":      {writes, answer(syscall.EIO), event.IO, "the system's log"},
		"the disk fails to sync":       {simfs.Sync, syscall.EIO, event.IO, "the system's log"},
		"the disk is full when synced": {simfs.Sync, syscall.ENOSPC, event.DiskFull, "free some space"},
		"SQLite says it is full":       {writes, sqlite3.FULL, event.DiskFull, "free some space"},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(s *simulated) {
				steps := make(chan struct{}, 10)
				s.handle(steps)
				for n := 1; n <= 4; n++ {
					s.must(s.publish(n))
				}
				steps <- struct{}{}
				time.Sleep(time.Second)
				s.sawUpTo(1)

				s.disk.Fail(simfs.Fault{Op: test.op, Nth: 1, Err: test.err, Sticky: true})
				for n := range 3 {
					var storage *event.StorageError
					err := s.publish(100 + n)
					if !errors.As(err, &storage) || storage.Fault != test.fault || !strings.Contains(storage.Hint, test.hint) || storage.Path != s.path {
						s.Fatalf("publishing returned %v, want a fault %q and the hint %q", err, test.fault, test.hint)
					}
				}
				for range 3 {
					steps <- struct{}{}
				}
				time.Sleep(time.Minute)
				s.sawUpTo(4) // what is known is handled meanwhile

				s.disk.Heal()
				time.Sleep(time.Second)
				s.must(s.publish(5))
				steps <- struct{}{}
				s.must(s.WaitIdle(s.Context()))
				s.sawUpTo(5)
				if n := s.logged("ERROR", ""); n > 2 {
					s.Errorf("%d errors were logged:\n%s", n, s.logs)
				}
				s.must(s.Shutdown(s.Context()))

				s.open() // and what was handled is in the file
				s.handle(steps)
				s.must(s.WaitIdle(s.Context()))
				s.sawUpTo(5)
			})
		})
	}
}

func TestAFileThatMayNotBeOpenedForWritingIsReadOnly(t *testing.T) {
	for _, err := range []syscall.Errno{syscall.EACCES, syscall.EPERM, syscall.EROFS} {
		simulate(t, func(s *simulated) {
			s.disk.Fail(simfs.Fault{Op: simfs.Open, Nth: 1, Err: vfs.SystemError(err, sqlite3.CANTOPEN), Sticky: true})
			_, got := sqlite.Open(s.path, sqlite.Options{VFS: s.disk.Name()})
			var storage *event.StorageError
			if !errors.As(got, &storage) || storage.Fault != event.ReadOnly || !strings.Contains(storage.Hint, "writable") {
				s.Errorf("%v: opening returned %v, want a fault %q", err, got, event.ReadOnly)
			}
		})
	}
}

// The backlog is read in pages. One that cannot be read is read again, although
// nothing new is published that would wake anybody, and not more often than
// every second, however many events are at hand.
func TestABacklogIsReadToItsEndAfterReadingHasFailed(t *testing.T) {
	const backlog = 600
	for name, test := range map[string]struct {
		step     time.Duration // between two events that are handled
		failures int           // of reading and writing together, at most
	}{
		"events at hand are handled at once":            {0, 100},
		"events at hand are handled for longer than it": {20 * time.Millisecond, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(s *simulated) {
				for n := range backlog {
					s.must(s.publish(n + 1))
				}
				s.must(s.Shutdown(s.Context()))
				s.open()
				steps := make(chan struct{}, backlog)
				s.handle(steps)
				synctest.Wait()
				s.disk.Fail(simfs.Fault{Op: simfs.Read, Nth: 1, Err: sqlite3.IOERR_READ, Sticky: true})
				for range backlog {
					steps <- struct{}{}
					time.Sleep(test.step)
				}
				time.Sleep(10*time.Second - backlog/2*test.step)
				if n := s.disk.Failures(); n == 0 || n > test.failures {
					s.Fatalf("%d attempts have failed, want between 1 and %d", n, test.failures)
				}
				s.disk.Heal()
				time.Sleep(20 * time.Second)
				s.sawUpTo(backlog)
				if n := s.logged("ERROR", "events cannot be read"); n != 1 {
					s.Errorf("it was logged %d times that events cannot be read:\n%s", n, s.logs)
				}
				if n := s.logged("INFO", "events can be read again"); n != 1 {
					s.Errorf("it was logged %d times that events can be read again:\n%s", n, s.logs)
				}
			})
		})
	}
}
