package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// Connections coordinate through locks on bytes of the index of the
// write-ahead log, which the simulated disk takes from the driver. Here another
// process holds one of them, or all, and does not give it back for a while.
func TestWorkGoesOnAfterALockOnTheIndexWasHeld(t *testing.T) {
	const first = 120 // the bytes that SQLite locks
	names := []string{"write", "checkpoint", "recover", "read 0", "read 1", "read 2", "read 3", "read 4"}
	type held struct {
		name     string
		from, to int64
	}
	tests := []held{{"all", first, first + 8}, {"all read locks", first + 3, first + 8}}
	for i, name := range names {
		tests = append(tests, held{name, first + int64(i), first + int64(i) + 1})
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &machine{sim: newSim(t, 1), model: newModel(), counter: &counter{}, inDoubt: func() bool { return false }}
				locked := false
				m.failed = func(doing string, err error) {
					var typed *event.StorageError
					if !locked || !errors.As(err, &typed) || typed.Fault != event.Busy || typed.Hint == "" {
						m.fail("%s: %v", doing, err)
					}
				}
				m.lives = 1
				m.boot(m.base())
				if !m.start() {
					m.fail("the log does not open")
				}
				m.publish(3, 100)
				m.poll(m.consumers[0], 2)

				synctest.Wait() // no goroutine of the log reads
				release := lockIndex(m, test.from, test.to)
				locked = true
				for range 3 {
					m.publish(1, 100)
					m.poll(m.consumers[0], 2)
				}
				for _, d := range m.held {
					m.begin(d)
					m.settle(d, engine.Disposition{Kind: engine.Done})
				}
				m.held = nil
				m.flush()
				if log, err := Open(m.path, Options{VFS: m.fs.Name()}); err == nil {
					m.must(log.Close())
				} else {
					m.failed("open", err)
				}
				release()
				locked = false

				time.Sleep(time.Second)
				m.publish(database.WALPages/50, 100_000) // with a checkpoint
				m.drain()
				m.everythingIsSettled()
				m.must(m.log.Close())
				m.inspect(m.fs.Kill())
			})
		})
	}
}

// lockIndex locks bytes of the index, as another process would.
func lockIndex(m *machine, from, to int64) (release func()) {
	m.Helper()
	file, err := os.OpenFile(filepath.Join(filepath.Dir(m.path), fmt.Sprintf("%s-%s-shm", m.fs.Name(), filepath.Base(m.path))), os.O_RDWR, 0)
	m.must(err)
	const ofdSetLock = 37 // F_OFD_SETLK, which package syscall does not name
	for at := from; at < to; at++ {
		err := syscall.FcntlFlock(file.Fd(), ofdSetLock, &syscall.Flock_t{Type: syscall.F_WRLCK, Start: at, Len: 1})
		if err != nil {
			m.fail("byte %d: %v", at, err)
		}
	}
	return func() { m.must(file.Close()) }
}
