package buslog

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// openEmpty returns an inspection of a new log with one subscription.
func openEmpty(t *testing.T) *Inspection {
	t.Helper()
	nc, err := servertest.Start(t, t.TempDir()).Connect()
	must(t, err)
	s, err := stream.Open(t.Context(), nc, "bus", stream.Settings{InMemory: true})
	must(t, err)
	in, err := Inspect(t.Context(), s, "nats://test/bus", "ada")
	must(t, err)
	t.Cleanup(func() { in.Close() })
	must(t, in.Declare(t.Context(), nil, []engine.ConsumerSpec{{Name: "worker", Pattern: "job.*"}}))
	return in
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// An operator's program that dies between the two steps of an edit or an import leaves an
// event that nobody sees, and that the next import takes.
func TestAnImportThatDiedHalfwayIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, ctx := openEmpty(t), context.Background()
		letter := event.DeadLetter{
			Key: event.Key{EventID: uuid.New(), Subscription: "worker"}, Type: "job.queued", Version: 1, Payload: []byte(`{"n":1}`),
			PublishedAt: time.Now(), DeadAt: time.Now(), Reason: "permanent", Fingerprint: "f", Failures: 1,
		}
		first, err := in.ImportDeadLetters()
		must(t, err)
		_, _, _, err = first.(*importing).check(ctx, []event.DeadLetter{letter}) // the events are stored
		must(t, err)

		count := func() (letters, events int) {
			letters, err := in.CountDeadLetters(ctx, engine.Filter{})
			must(t, err)
			all, err := in.Events(ctx, engine.Filter{}, event.Page{}, 0)
			must(t, err)
			return letters, len(all.Events)
		}
		if letters, events := count(); letters != 0 || events != 0 {
			t.Errorf("half an import shows %d dead letters and %d events", letters, events)
		}
		var missing *event.NotFoundError
		if _, err := in.Event(ctx, letter.EventID); !errors.As(err, &missing) {
			t.Errorf("its event: %v", err)
		}
		second, err := in.ImportDeadLetters()
		must(t, err)
		for want := 1; want >= 0; want-- {
			added, skipped, err := second.Add(ctx, []event.DeadLetter{letter})
			if added != want || skipped != 1-want || err != nil {
				t.Errorf("imported again: %d, %d skipped, %v", added, skipped, err)
			}
		}
		if letters, events := count(); letters != 1 || events != 1 {
			t.Errorf("the log has %d dead letters and %d events", letters, events)
		}
	})
}
