package runtime_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// busyEngine is SQLite with a file that is locked for 3 s whenever an event is cancelled.
type busyEngine struct {
	sqlite.Engine
	cancelled *conformance.Journal[error]
}

func (e busyEngine) Open(ctx context.Context, target string, options engine.Options) (engine.Log, error) {
	log, err := e.Engine.Open(ctx, target, options)
	return busyLog{log, e.cancelled}, err
}

type busyLog struct {
	engine.Log
	cancelled *conformance.Journal[error]
}

func (l busyLog) Cancel(ctx context.Context, c engine.Cancellation) ([]string, error) {
	select {
	case <-time.After(3 * time.Second):
	case <-ctx.Done():
	}
	names, err := l.Log.Cancel(ctx, c)
	l.cancelled.Add(err)
	return names, err
}

// The handler of the order cannot run, so that the shutdown does not wait for it.
func TestARequestDoesNotWaitForWhatLosersHavePublishedAndAShutdownDoes(t *testing.T) {
	for name, test := range map[string]struct {
		patience, want time.Duration
		cancelled      bool
	}{
		"in time":  {10 * time.Second, 3 * time.Second, true},
		"too late": {time.Second, time.Second, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			cancelled := &conformance.Journal[error]{}
			bus, err := runtime.Open(t.Context(), filepath.Join(t.TempDir(), "events.db"), conformance.Catalogue,
				runtime.WithEngine(busyEngine{cancelled: cancelled}))
			conformance.Must(t, err)
			_, err = runtime.SubscribeAnswer(bus, conformance.UserType, "loser", func(ctx context.Context, _ runtime.Event[conformance.UserCreated]) (int, error) {
				_, err := runtime.Publish(ctx, bus, conformance.PlacedType, conformance.OrderPlaced{}, runtime.Immediately())
				conformance.Must(t, err)
				<-ctx.Done()
				return 0, ctx.Err()
			})
			conformance.Must(t, err)
			_, err = runtime.SubscribeAnswer(bus, conformance.UserType, "winner", func(context.Context, runtime.Event[conformance.UserCreated]) (int, error) {
				time.Sleep(10 * time.Millisecond)
				return 7, nil
			})
			conformance.Must(t, err)
			_, err = runtime.Subscribe(bus, conformance.PlacedType, "child", func(context.Context, runtime.Event[conformance.OrderPlaced]) error { return nil })
			conformance.Must(t, err)
			conformance.Must(t, bus.Start(t.Context()))
			conformance.Must(t, bus.PauseSubscription(t.Context(), "child", ""))
			began := time.Now()
			_, err = runtime.Request[int](t.Context(), bus, conformance.UserType, conformance.UserCreated{Name: "Ada"})
			conformance.Must(t, err)
			if took := time.Since(began); took >= time.Second {
				t.Errorf("%s: the request has taken %v", name, took)
			}
			began = time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), test.patience)
			defer cancel()
			bus.Shutdown(ctx)
			if took := time.Since(began).Round(time.Second); took != test.want {
				t.Errorf("%s: the shutdown has taken %v, want %v", name, took, test.want)
			}
			if all := cancelled.All(); len(all) != 1 || (all[0] == nil) != test.cancelled {
				t.Errorf("%s: the order was cancelled with %v", name, all)
			}
		})
	}
}

// A handler that nobody can end publishes as many as it likes.
func TestOnlyWhatMayBeCancelledIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, err := runtime.Open(t.Context(), filepath.Join(t.TempDir(), "events.db"), conformance.Catalogue)
		conformance.Must(t, err)
		defer bus.Shutdown(context.Background())
		noted := &conformance.Journal[int]{}
		note := func(ctx context.Context) {
			_, err := runtime.Publish(ctx, bus, conformance.PlacedType, conformance.OrderPlaced{}, runtime.Immediately())
			conformance.Must(t, err)
			noted.Add(runtime.NotedFor(ctx, bus))
		}
		_, err = runtime.SubscribeAnswer(bus, conformance.UserType, "answers", func(ctx context.Context, _ runtime.Event[conformance.UserCreated]) (int, error) {
			note(ctx)
			return 7, nil
		})
		conformance.Must(t, err)
		conformance.Must(t, bus.Start(t.Context()))
		_, err = runtime.Publish(t.Context(), bus, conformance.UserType, conformance.UserCreated{Name: "Ada"})
		conformance.Must(t, err)
		synctest.Wait()
		_, err = runtime.Request[int](t.Context(), bus, conformance.UserType, conformance.UserCreated{Name: "Ada"})
		conformance.Must(t, err)
		if all := noted.All(); len(all) != 2 || all[0] != 0 || all[1] != 1 {
			t.Errorf("noted are %v, want none for who was not asked, and one for who was", all)
		}
	})
}
