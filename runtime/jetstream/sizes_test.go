package jetstream_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
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
