package jetstream_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/retry"
)

// twoOwners runs a test with a process whose handler runs for 15 seconds, at its only attempt,
// and another process that could take the subscription over. begun counts handlers.
func twoOwners(t *testing.T, test func(t *testing.T, first *sharer, begun, dead *atomic.Int64)) {
	synctest.Test(t, func(t *testing.T) {
		x := newSharing(t)
		var begun, dead atomic.Int64
		x.takes = func(int) time.Duration { begun.Add(1); return 15 * time.Second }
		first := x.start(1, runtime.WithRetry(retry.MaxAttempts(1)))
		publish, end := x.publisher()
		publish("key")
		time.Sleep(time.Second)
		second := x.start(1, runtime.WithRetry(retry.MaxAttempts(1)))
		_, err := runtime.SubscribeDead(second.bus, conformance.PlacedType, "letters", func(context.Context, runtime.Event[runtime.DeadLetter[conformance.OrderPlaced]]) error {
			dead.Add(1)
			return nil
		})
		conformance.Must(t, err)
		test(t, first, &begun, &dead)
		first.shutdown()
		second.shutdown()
		end()
		x.ending.Wait()
	})
}

// A server that is started again, or a route that is away, takes the connections of processes
// away for a moment.
func TestAProcessWhoseConnectionComesBackSoonKeepsWhatItHas(t *testing.T) {
	twoOwners(t, func(t *testing.T, first *sharer, begun, dead *atomic.Int64) {
		for range 3 {
			first.line.Cut()
			time.Sleep(2500 * time.Millisecond) // the other process has asked by now
			first.line.Restore()
			time.Sleep(2500 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		if n, letters := begun.Load(), dead.Load(); n != 1 || letters != 0 {
			t.Errorf("%d handlers have begun, and there are %d dead letters, want 1 and none", n, letters)
		}
	})
}

// The process that asks was stopped while it did so: what it has heard once is not true for all
// of that time.
func TestAProcessIsNotDeadBecauseAnotherOneWasStoppedWhileItAsked(t *testing.T) {
	for offset := range 8 {
		synctest.Test(t, func(t *testing.T) {
			x := newSharing(t)
			var begun atomic.Int64
			x.takes = func(int) time.Duration { begun.Add(1); return 15 * time.Second }
			first := x.start(1)
			publish, end := x.publisher()
			publish("key")
			time.Sleep(time.Second)
			second := x.start(1)
			time.Sleep(2*time.Second + time.Duration(offset)*250*time.Millisecond)
			second.line.Freeze()
			time.Sleep(4500 * time.Millisecond)
			first.line.Cut()
			second.line.Thaw() // its question arrives
			time.Sleep(300 * time.Millisecond)
			first.line.Restore()
			time.Sleep(time.Minute)
			if n := begun.Load(); n != 1 {
				t.Errorf("%d handlers have begun, want 1", n)
			}
			first.shutdown()
			second.shutdown()
			end()
		})
	}
}

// A process that was stopped, or cut off, has not ended: its handler is not to blame.
func TestAHandlerIsNotChargedWhenNobodyKnowsThatItsProcessHasEnded(t *testing.T) {
	twoOwners(t, func(t *testing.T, first *sharer, begun, dead *atomic.Int64) {
		first.line.Freeze()
		time.Sleep(20 * time.Second)
		first.line.Thaw()
		time.Sleep(time.Minute)
		if n, letters := begun.Load(), dead.Load(); n != 2 || letters != 0 {
			t.Errorf("%d handlers have begun, and there are %d dead letters, want 2 and none", n, letters)
		}
	})
}

func TestAProcessThatIsKilledIsTakenOverWithinEightSeconds(t *testing.T) {
	twoOwners(t, func(t *testing.T, first *sharer, begun, dead *atomic.Int64) {
		first.line.Cut()
		defer first.line.Restore()
		for began := time.Now(); dead.Load() == 0; time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > 8*time.Second {
				t.Fatal("nobody has taken it over")
			}
		}
	})
}

func TestAProcessThatOthersCannotAskDoesNotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := servertest.StartWith(t, &natsserver.Options{
			JetStream: true, StoreDir: t.TempDir(), NoSystemAccount: true,
			Users: []*natsserver.User{{Username: "app", Password: "app", Permissions: &natsserver.Permissions{Subscribe: &natsserver.SubjectPermission{Deny: []string{"_busgen.>"}}}}},
		}, nil)
		through := jetstream.Through(func(string) (*nats.Conn, error) { return s.Connect(nats.UserInfo("app", "app")) })
		bus, err := runtime.Open(context.Background(), "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)), jetstream.Engine(through, jetstream.InMemory()))
		conformance.Must(t, err)
		defer bus.Shutdown(context.Background())
		var storage *event.StorageError
		if err := bus.Start(context.Background()); !errors.As(err, &storage) || !strings.Contains(storage.Hint, "_busgen.bus.>") {
			t.Errorf("Start returns %v, want a StorageError that says what to allow", err)
		}
	})
}
