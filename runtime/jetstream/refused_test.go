//go:build unix

package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// buffer can be read while it is written.
type buffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

// eventually waits for a condition for half a minute.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal(what)
		}
	}
}

// An administrator takes permissions away from a user while a bus runs, and gives them back.
func TestPermissionsAreLostAndComeBackWhileABusRuns(t *testing.T) {
	publish, subscribe := permitted(t)
	settings := func(publish []string) string {
		return fmt.Sprintf("authorization { users: [ { user: shop, password: shop, permissions: { publish: [%q], subscribe: [%q] } } ] }",
			strings.Join(publish, `","`), strings.Join(subscribe, `","`))
	}
	quoted := func(s string) string { return strings.ReplaceAll(s, `\"`, `"`) }
	address := fmt.Sprintf("127.0.0.1:%d", servertest.Ports(t, 1)[0])
	common := fmt.Sprintf("listen: %q\njetstream { store_dir: %q }\n", address, t.TempDir())
	server, err := servertest.Binaries(t)[0].Start(t, common+quoted(settings(publish)))
	conformance.Must(t, err)
	var log buffer
	bus, err := runtime.Open(t.Context(), "nats://"+address+"/shop", conformance.Catalogue, runtime.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
		jetstream.Engine(jetstream.Options(nats.UserInfo("shop", "shop"))))
	conformance.Must(t, err)
	defer bus.Shutdown(context.Background())
	var handled atomic.Int64
	hold := make(chan struct{})
	_, err = runtime.Subscribe(bus, conformance.PlacedType, "placed", func(context.Context, runtime.Event[conformance.OrderPlaced]) error {
		<-hold
		handled.Add(1)
		return nil
	}, runtime.WithConcurrency(4))
	conformance.Must(t, err)
	conformance.Must(t, bus.Start(t.Context()))
	place := func() error {
		_, err := runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{})
		return err
	}
	for range 10 {
		conformance.Must(t, place())
	}
	without := []string{"nothing"}
	for _, one := range publish {
		if one != "shop.>" {
			without = append(without, one)
		}
	}
	server.Reload(t, common+quoted(settings(without)))
	close(hold)
	var many sync.WaitGroup
	for range 20 {
		many.Go(func() {
			began := time.Now()
			err := place()
			var storage *event.StorageError
			if !errors.As(err, &storage) || storage.Fault != event.ReadOnly || storage.InDoubt || time.Since(began) > 10*time.Second {
				t.Errorf("after %v Publish returns %v, want a StorageError of fault %q that is not in doubt", time.Since(began), err, event.ReadOnly)
			}
		})
	}
	many.Wait()
	eventually(t, "nobody says that dispositions cannot be stored", func() bool { return strings.Contains(log.String(), "dispositions cannot be stored") })
	server.Reload(t, common+quoted(settings(publish)))
	eventually(t, "events cannot be published again", func() bool { return place() == nil })
	eventually(t, "events are not handled again", func() bool { return handled.Load() >= 11 })
	idle, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conformance.Must(t, bus.WaitIdle(idle))
	if handled.Load() != 11 {
		t.Errorf("%d events were handled, want 11:\n%s", handled.Load(), log.String())
	}
}

// Two of three servers are away: there is no leader.
func TestOpenAndStartWaitForALeaderAsLongAsTheirContextAllows(t *testing.T) {
	short.Skip(t, "servers are away for half a minute")
	nodes := servertest.StartNodes(t, 3)
	target := "nats://" + nodes.Hosts() + "/bus"
	open := func(ctx context.Context) (*runtime.Bus, error) {
		return runtime.Open(ctx, target, conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)), jetstream.Engine())
	}
	bus, err := open(t.Context())
	conformance.Must(t, err)
	_, err = runtime.Subscribe(bus, conformance.PlacedType, "placed", func(context.Context, runtime.Event[conformance.OrderPlaced]) error { return nil })
	conformance.Must(t, err)
	_, err = runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{})
	conformance.Must(t, err)
	nodes.WaitCurrent("bus", time.Minute)
	leader := max(nodes.Leader("bus"), 0)
	nodes.Kill((leader + 1) % 3)
	nodes.Kill(leader)
	_, err = runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{})
	wantFault(t, err, event.Unreachable)
	_, err = open(t.Context())
	wantFault(t, err, event.Unreachable)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	time.AfterFunc(20*time.Second, func() { nodes.Start(leader) })
	began := time.Now()
	var both sync.WaitGroup
	both.Go(func() {
		if err := bus.Start(ctx); err != nil {
			t.Errorf("Start: %v", err)
		}
	})
	both.Go(func() {
		other, err := open(ctx)
		if err != nil {
			t.Errorf("Open: %v", err)
			return
		}
		other.Shutdown(t.Context())
	})
	both.Wait()
	if took := time.Since(began); took < 20*time.Second {
		t.Errorf("there was a leader after %v", took)
	}
	conformance.Must(t, bus.Shutdown(t.Context()))
}
