package sqlite

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
)

// The claims are all that is known of an attempt that ended with its process.
// A disk that fails at the wrong moment must not make anyone forget them.

func TestAnAttemptIsChargedEvenIfTheFirstTakeOverFails(t *testing.T) {
	claimsTest(t, func(m *machine) {
		m.begin(m.held[0])
		m.kill()

		log, err := Open(m.path, Options{VFS: m.fs.Name()})
		m.must(err)
		m.log = log
		full := simfs.Fault{Op: simfs.Write, Nth: 1, Err: sqlite3.FULL, Sticky: true}
		m.fs.Fail(full)
		var typed *engine.StorageError
		if _, err := log.TakeOver(m.Context()); !errors.As(err, &typed) || typed.Fault != engine.DiskFull {
			m.fail("with a full disk TakeOver returned %v", err)
		}
		m.fs.Heal()
		found, err := log.TakeOver(m.Context())
		m.must(err)
		if found.Interrupted != 1 {
			m.fail("the second TakeOver found %d interrupted attempts, want 1", found.Interrupted)
		}
		m.must(log.Close())
	})
}

func TestASuccessThatCouldNotBeWrittenRunsAgainAsARepetition(t *testing.T) {
	claimsTest(t, func(m *machine) {
		d := m.held[0]
		m.begin(d)
		m.fs.Fail(simfs.Fault{Op: simfs.Write, Nth: 1, Err: sqlite3.FULL, Sticky: true})
		m.settle(d, engine.Verdict{Kind: engine.Done})
		d.worker.consumer.Idle(d.place)
		time.Sleep(time.Second)
		if err := m.log.Close(); err == nil {
			m.fail("Close could not write the success, and returned nil")
		}
		m.kill()

		if !m.start() {
			m.fail("the log does not open")
		}
		deliveries, err := m.consumers[0].consumer.Poll(nil, 1)
		m.must(err)
		if len(deliveries) != 1 || deliveries[0].ID != d.Delivery.ID {
			m.fail("the event is not handed out again")
		}
		if again := deliveries[0]; !again.Redelivered || again.Crashed {
			m.fail("it comes with redelivered %v and crashed %v, want true and false", again.Redelivered, again.Crashed)
		}
		m.must(m.log.Close())
	})
}

// claimsTest runs f with one delivery at hand.
func claimsTest(t *testing.T, f func(m *machine)) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{sim: newSim(t, 1), model: newModel(), counter: &counter{}, inDoubt: func() bool { return false }}
		m.failed = func(doing string, err error) { m.fail("%s: %v", doing, err) }
		m.lives = 1
		m.boot(m.base())
		if !m.start() {
			m.fail("the log does not open")
		}
		m.publish(1, 10)
		m.poll(m.consumers[0], 1)
		f(m)
	})
}

// kill ends the process, and makes the machine ready for the next.
func (m *machine) kill() {
	image := m.fs.Kill()
	claims, err := os.ReadFile(m.path + "-claims")
	m.must(err)
	m.abandon()
	m.must(os.WriteFile(m.path+"-claims", claims, 0o600))
	m.boot(image)
	m.lives++
}
