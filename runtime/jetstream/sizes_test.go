package jetstream_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/retry"
)

// user returns a payload of so many bytes of JSON.
func user(bytes int) conformance.UserCreated {
	return conformance.UserCreated{Name: strings.Repeat("x", bytes-len(`{"name":""}`))}
}

// A dead letter has a copy of its event, and what its attempts have said: all of it has to
// fit into a message.
func TestTheLargestEventsCanFailAndBecomeDeadLetters(t *testing.T) {
	onLine(t, func(t *testing.T, bus *runtime.Bus, _ *servertest.Line, _ func() int) {
		ctx := context.Background()
		var large *runtime.PayloadTooLargeError
		_, err := runtime.Publish(ctx, bus, conformance.UserType, user(1<<20))
		if !errors.As(err, &large) {
			t.Fatalf("Publish of 1 MiB returns %v, want a PayloadTooLargeError", err)
		}
		limit := large.Limit
		if limit < 600_000 {
			t.Errorf("payloads have at most %d bytes", limit)
		}
		const lives = 30
		attempts := 0
		_, err = runtime.Subscribe(bus, conformance.UserType, "users", func(ctx context.Context, e runtime.Event[conformance.UserCreated]) error {
			if attempts++; attempts == 1 {
				if _, err := runtime.Publish(ctx, bus, conformance.UserType, user(limit+1)); !errors.As(err, &large) {
					t.Errorf("Publish in a handler returns %v, want a PayloadTooLargeError", err)
				}
			}
			return errors.New(strings.Repeat("why", 50_000))
		}, runtime.WithRetry(retry.MaxAttempts(lives), retry.BaseDelay(time.Second), retry.MaxDelay(time.Second)))
		conformance.Must(t, err)
		conformance.Must(t, bus.Start(ctx))
		_, err = runtime.Publish(ctx, bus, conformance.UserType, user(limit), runtime.WithMetadata(map[string]string{"note": strings.Repeat("y", 40_000)}))
		conformance.Must(t, err)
		idle, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		conformance.Must(t, bus.WaitIdle(idle))
		if attempts != lives {
			t.Errorf("there were %d attempts, want %d", attempts, lives)
		}
		if dead := bus.Stats().Subscriptions[0].Dead; dead != 1 {
			t.Errorf("there are %d dead letters, want 1", dead)
		}
	})
}

func TestMetadataThatDoNotFitIntoAHeaderAreRefused(t *testing.T) {
	onLine(t, func(t *testing.T, bus *runtime.Bus, _ *servertest.Line, _ func() int) {
		_, err := runtime.Publish(context.Background(), bus, conformance.UserType, user(20), runtime.WithMetadata(map[string]string{"note": strings.Repeat("y", 64<<10)}))
		if large := (*runtime.PayloadTooLargeError)(nil); !errors.As(err, &large) || large.What != "metadata" {
			t.Errorf("Publish returns %v, want a PayloadTooLargeError", err)
		}
	})
}

// Somebody has made max_payload smaller than events that are in the stream. They can be handled,
// fail, become dead letters and be retried all the same.
func TestAnEventThatDoesNotFitAnyMoreCanFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, dir := context.Background(), t.TempDir()
		var server *servertest.Server
		serve := func(most int32) {
			server = servertest.StartWith(t, &natsserver.Options{JetStream: true, StoreDir: dir, NoSystemAccount: true, MaxPayload: most}, nil)
		}
		through := jetstream.Through(func(string) (*nats.Conn, error) { return server.Connect() })
		open := func() *runtime.Bus {
			bus, err := runtime.Open(ctx, "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)), jetstream.Engine(through, jetstream.Hasty()))
			conformance.Must(t, err)
			return bus
		}
		serve(1 << 20)
		bus := open()
		_, err := runtime.Publish(ctx, bus, conformance.UserType, user(500_000), runtime.WithMetadata(map[string]string{"note": "large"}))
		conformance.Must(t, err)
		conformance.Must(t, bus.Shutdown(ctx))
		server.Shutdown()
		server.WaitForShutdown()

		serve(200_000)
		bus = open()
		defer func() { bus.Shutdown(ctx) }()
		handled := 0
		_, err = runtime.Subscribe(bus, conformance.UserType, "users", func(ctx context.Context, e runtime.Event[conformance.UserCreated]) error {
			if len(e.Payload.Name) < 499_000 || e.Metadata["note"] != "large" {
				t.Errorf("the handler gets %d bytes and %v", len(e.Payload.Name), e.Metadata)
			}
			if handled++; handled < 5 {
				return errors.New("not yet")
			}
			return nil
		}, runtime.FromBeginning(), runtime.WithRetry(retry.MaxAttempts(3), retry.BaseDelay(time.Second)))
		conformance.Must(t, err)
		conformance.Must(t, bus.Start(ctx))
		idle := func() {
			t.Helper()
			patience, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			if err := bus.WaitIdle(patience); err != nil {
				t.Errorf("the bus does not become idle: %v", err)
			}
		}
		idle()
		file, err := inspect.Open(ctx, "nats://test/bus", jetstream.Inspect(through))
		conformance.Must(t, err)
		defer file.Close()
		dead, _, err := file.DeadLetters(ctx, event.Filter{}, event.Page{Limit: 10})
		conformance.Must(t, err)
		if len(dead) != 1 || len(dead[0].Payload) != 500_000 || len(dead[0].Attempts) != 3 || handled != 3 {
			t.Fatalf("there are %d dead letters after %d attempts", len(dead), handled)
		}
		_, err = file.Retry(ctx, inspect.Only(dead[0].Key))
		conformance.Must(t, err)
		time.Sleep(10 * time.Second)
		idle()
		if handled != 5 {
			t.Errorf("it was handled %d times, want 5", handled)
		}
	})
}
