package buslog

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Prune looks for old events first, and deletes them afterwards. In between an operator has
// revived a dead letter, and it has failed again.
func TestPruneKeepsEventsThatAreNeededAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, ctx := openEmpty(t), context.Background()
		letter := event.DeadLetter{
			Key: event.Key{EventID: uuid.New(), Subscription: "worker"}, Type: "job.queued", Version: 1, Payload: []byte(`{"n":1}`),
			PublishedAt: time.Now(), DeadAt: time.Now(), Reason: "permanent", Fingerprint: "f", Failures: 1,
		}
		add, err := in.ImportDeadLetters()
		must(t, err)
		added, _, err := add.Add(ctx, []event.DeadLetter{letter})
		if must(t, err); added != 1 {
			t.Fatalf("%d dead letters are imported, want 1", added)
		}
		must(t, in.Append(ctx, []engine.Record{{ID: uuid.New(), Type: "nobody.cares", Version: 1, CreatedAt: time.Now(), Payload: []byte("{}")}}))
		must(t, in.sync(ctx))
		must(t, in.enter())
		var old []*engine.Record
		err = in.each(ctx, 1, func(r *engine.Record) bool { old = append(old, r); return true })
		in.mu.Unlock()
		if must(t, err); len(old) != 2 {
			t.Fatalf("there are %d events, want 2", len(old))
		}
		deleted, _, err := in.forget(ctx, old)
		if must(t, err); deleted != 1 {
			t.Errorf("%d events are deleted, want 1", deleted)
		}
		if _, err := in.DeadLetter(ctx, letter.Key); err != nil {
			t.Errorf("the dead letter that is left: %v", err)
		}
		if n, err := in.CountDeadLetters(ctx, engine.Filter{}); n != 1 || err != nil {
			t.Errorf("there are %d dead letters (%v), want 1", n, err)
		}
	})
}

// The log is not read from its beginning each time, and what was needed before is pruned when
// nobody needs it any more.
func TestPruneRemembersWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, ctx := openEmpty(t), context.Background()
		publish := func(n int, eventType string) {
			var all []engine.Record
			for range n {
				all = append(all, engine.Record{ID: uuid.New(), Type: eventType, Version: 1, CreatedAt: time.Now(), Payload: []byte("{}")})
			}
			must(t, in.Append(ctx, all))
		}
		prune := func(want int) {
			t.Helper()
			if n, err := in.Prune(ctx, time.Now().Add(-time.Hour)); n != want || err != nil {
				t.Errorf("%d events are pruned (%v), want %d", n, err, want)
			}
		}
		must(t, in.Declare(ctx, nil, []engine.ConsumerSpec{{Name: "late", Pattern: "order.*"}}))
		publish(300, "order.placed")
		publish(300, "nobody.cares")
		time.Sleep(2 * time.Hour)
		publish(500, "order.placed")
		prune(300)
		if in.pruning.from < 600 || len(in.pruning.kept) != 300 {
			t.Errorf("it goes on at %d, and remembers %d events", in.pruning.from, len(in.pruning.kept))
		}
		prune(0)
		_, err := in.RemoveConsumer(ctx, "late", "ada")
		must(t, err)
		prune(300)
		time.Sleep(2 * time.Hour)
		publish(1, "nobody.cares")
		prune(500)
		time.Sleep(2 * time.Hour)
		prune(0) // the newest event stays
		publish(1, "nobody.cares")
		prune(1)
	})
}
