package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
)

// The claims are all that is known of an attempt that ended with its process.
// A disk that fails at the wrong moment must not make anyone forget them.

func TestAnAttemptCountsEvenIfTheFirstTakeOverFails(t *testing.T) {
	claimsTest(t, func(m *machine) {
		m.begin(m.held[0])
		m.kill()

		log, err := Open(m.path, Options{VFS: m.fs.Name()})
		m.must(err)
		m.log = log
		full := simfs.Fault{Op: simfs.Write, Nth: 1, Err: sqlite3.FULL, Sticky: true}
		m.fs.Fail(full)
		var typed *event.StorageError
		if _, err := log.TakeOver(m.Context()); !errors.As(err, &typed) || typed.Fault != event.DiskFull {
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
		m.settle(d, engine.Disposition{Kind: engine.Done})
		d.worker.consumer.End([]*engine.Delivery{d.Delivery})
		time.Sleep(time.Second)
		if err := m.log.Close(); err == nil {
			m.fail("Close could not write the success, and returned nil")
		}
		m.kill()

		if !m.start() {
			m.fail("the log does not open")
		}
		deliveries, _, err := m.consumers[0].consumer.Poll(nil, 1)
		m.must(err)
		if len(deliveries) != 1 || deliveries[0].ID != d.Delivery.ID {
			m.fail("the event is not handed out again")
		}
		if again := deliveries[0]; again.Uncounted != 1 || again.Crashed || again.Suspect {
			m.fail("it comes after %d executions, crashed %v and suspect %v, want one and false", again.Uncounted, again.Crashed, again.Suspect)
		}
		m.must(m.log.Close())
	})
}

// A start that fails, or is killed, between the charge and the end of the old
// claims must not make the next one charge again.
func TestAnAttemptCountsOnceHoweverManyStartsFindItsClaim(t *testing.T) {
	claimsTest(t, func(m *machine) {
		m.begin(m.held[0])
		left := m.claims()
		m.kill()
		for n := range 3 {
			log, err := Open(m.path, Options{VFS: m.fs.Name()})
			m.must(err)
			m.log = log
			found, err := log.TakeOver(m.Context())
			m.must(err)
			if want := max(1-n, 0); found.Interrupted != want {
				m.fail("start %d charged %d attempts, want %d", n+1, found.Interrupted, want)
			}
			m.kill()
			m.must(os.WriteFile(m.path+"-claims", left, 0o600))
		}
		m.charged(1)
	})
}

// The charge goes through the simulated disk, the claims through the real one:
// wherever the power is cut while a process takes over, one of them says that
// the attempt was interrupted, and never both.
func TestTheAttemptIsOnTheDiskBeforeTheClaimsAreCleared(t *testing.T) {
	for cut := 1; ; cut++ {
		over := false
		claimsTest(t, func(m *machine) {
			m.begin(m.held[0])
			m.kill()
			log, err := Open(m.path, Options{VFS: m.fs.Name()})
			m.must(err)
			m.log = log
			m.fs.CutAfter(cut)
			_, err = log.TakeOver(m.Context())
			over = !m.fs.Dead()
			if (err != nil) != m.fs.Dead() {
				m.fail("with the power cut at change %d TakeOver returned %v", cut, err)
			}
			left := m.claims()
			images := make([]simfs.Image, 20)
			for seed := range images {
				images[seed] = m.fs.Crash(uint64(seed))
			}
			m.abandon()
			for _, image := range images {
				m.boot(image)
				m.must(os.WriteFile(m.path+"-claims", left, 0o600))
				if !m.start() {
					m.fail("the log does not open")
				}
				m.charged(1)
				m.abandon()
			}
		})
		if over {
			break
		}
	}
}

// Claims may be anything after a power cut, or belong to another copy of the
// file.
func TestClaimsThatDoNotFitTheLogCountForNoDelivery(t *testing.T) {
	for name, damage := range map[string]func(one *claims.Claim) (idle bool){
		"they are those of an earlier owner":          func(one *claims.Claim) bool { one.Life--; return false },
		"their event is not in the log":               func(one *claims.Claim) bool { one.Running = 1000; return false },
		"their event is not a number of an event":     func(one *claims.Claim) bool { one.Running = -1 << 63; return false },
		"their subscription does not exist":           func(one *claims.Claim) bool { one.Subscription = 77; return false },
		"their worker is idle":                        func(one *claims.Claim) bool { return true },
		"their worker is idle, and was further ahead": func(one *claims.Claim) bool { one.Running = 1 << 62; return true },
	} {
		t.Run(name, func(t *testing.T) {
			claimsTest(t, func(m *machine) {
				m.publish(5, 10)
				m.begin(m.held[0])
				found, _ := claims.Left(m.path + "-claims")
				if len(found) != 1 {
					m.fail("there is no claim")
				}
				one := found[0]
				m.kill()
				idle := damage(&one)
				leaveClaims(t, m.path, one.Life, func(left *claims.File) {
					place := left.Reserve()
					left.Begin(place, one.Subscription, one.Running, one.Running, int(one.Executions))
					if idle {
						left.End(place, one.Running)
					}
				})
				if !m.start() {
					m.fail("the log does not open")
				}
				m.charged(0)
				c := m.raw(m.fs)
				defer c.Close()
				for _, row := range m.rows(c, "SELECT seq FROM busgen_deliveries d JOIN busgen_subscriptions s ON s.id = d.subscription WHERE seq > cursor") {
					m.fail("event %s has a row above the cursor", row[0])
				}
				m.publish(1, 10)
				m.drain()
				m.everythingIsSettled()
				newest := m.rows(c, "SELECT redelivered >= (SELECT max(seq) FROM busgen_log) FROM busgen_subscriptions")
				if newest[0][0] != "0" {
					m.fail("a new event is taken for one that may have been handled before")
				}
				m.must(m.log.Close())
			})
		})
	}
}

func TestClaimsOfALogThatHasLostEverythingCountForNoDelivery(t *testing.T) {
	claimsTest(t, func(m *machine) {
		m.begin(m.held[0])
		m.kill()
		c := m.raw(m.fs)
		m.must(c.Exec("PRAGMA foreign_keys=0; DELETE FROM busgen_log"))
		m.must(c.Close())
		if !m.start() {
			m.fail("the log does not open")
		}
		m.charged(0)
		m.must(m.log.Close())
	})
}

func TestAFileInThePlaceOfTheClaimsIsReported(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a folder":               func(path string) error { return os.Mkdir(path, 0o700) },
		"a link to nowhere":      func(path string) error { return os.Symlink(filepath.Join(path, "x"), path) },
		"a pipe":                 makePipe,
		"a link to what is none": func(path string) error { return os.Symlink(os.DevNull, path) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "events.db")
			log, err := Open(path, Options{})
			must(t, err)
			defer log.Close()
			if err := put(path + "-claims"); err != nil {
				t.Skip(err)
			}
			for range 2 {
				_, err := log.TakeOver(t.Context())
				var typed *event.StorageError
				if !errors.As(err, &typed) || typed.Path != path+"-claims" || typed.Fault != event.IO || !strings.Contains(typed.Hint, "plain file") {
					t.Errorf("TakeOver returned %v, want what is wrong with the claims", err)
				}
			}
			must(t, os.Remove(path+"-claims"))
			_, err = log.TakeOver(t.Context())
			must(t, err)
		})
	}
}

// Each worker of a subscription has a place in the file. One that is made again
// under its name goes on with the places it had.
func TestASubscriptionThatIsMadeAgainUsesItsPlacesAgain(t *testing.T) {
	claimsTest(t, func(m *machine) {
		for range 100 {
			again, err := m.log.Consumer(m.Context(), m.consumers[0].spec)
			m.must(err)
			m.consumers[0].consumer = again
			for worker := range 2 {
				again.Begin([]*engine.Delivery{m.held[0].Delivery}, []int{worker}, time.Now())
				again.End([]*engine.Delivery{m.held[0].Delivery})
			}
		}
		if left, _ := claims.Left(m.path + "-claims"); len(left) != 2 {
			m.fail("two workers have %d places", len(left))
		}
	})
}

// claims returns what the file beside the log holds.
func (m *machine) claims() []byte {
	m.Helper()
	content, err := os.ReadFile(m.path + "-claims")
	m.must(err)
	return content
}

// charged checks how many attempts were charged to deliveries.
func (m *machine) charged(want int) {
	m.Helper()
	c := m.raw(m.fs)
	defer c.Close()
	found := m.rows(c, "SELECT (SELECT total(failures) FROM busgen_deliveries), (SELECT count(*) FROM busgen_attempts)")
	if got := fmt.Sprint(found[0]); got != fmt.Sprintf("[%d.0 %d]", want, want) {
		m.fail("failures and attempts are %v, want %d of each", got, want)
	}
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
	image, claims := m.fs.Kill(), m.claims()
	m.abandon()
	m.must(os.WriteFile(m.path+"-claims", claims, 0o600))
	m.boot(image)
	m.lives++
}

// leaveClaims makes the claims file of the log at path say what write has claimed, as a
// process leaves it that dies.
func leaveClaims(t *testing.T, path string, life uint32, write func(left *claims.File)) {
	t.Helper()
	left, err := claims.Open(path, "not the system's")
	must(t, err)
	must(t, left.Own())
	must(t, left.Clear(life))
	write(left)
	must(t, left.Abandon())
}
