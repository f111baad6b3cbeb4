package systest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

// How often a process is killed that handles batches:
//
//	go test ./runtime/internal/systest -run TestKillsWithBatchesLoseNothing -batch.kills 500 -timeout 30m
var batchKills = short.Flag("batch.kills", 5, 1, "how often the test kills a process that handles batches")

func init() {
	children["batch publisher"] = batchPublisherChild
}

// summarize publishes an event for each event of a batch, and one for all of them.
func summarize(ctx context.Context, bus *runtime.Bus, events []runtime.Event[OrderPlaced]) error {
	var ids []string
	for i, e := range events {
		ids = append(ids, e.ID.String())
		if _, err := runtime.Publish(runtime.ItemContext(ctx, i), bus, PaidType, OrderPaid{OrderID: e.ID.String()}); err != nil {
			return err
		}
	}
	_, err := runtime.Publish(ctx, bus, UserType, UserCreated{Name: strings.Join(ids, " ")})
	return err
}

// batchPublisherChild publishes and handles in batches until it is killed.
func batchPublisherChild(path string) {
	bus, err := runtime.Open(context.Background(), path, Catalogue)
	check(err)
	_, err = runtime.SubscribeBatch(bus, PlacedType, "batches", func(ctx context.Context, events []runtime.Event[OrderPlaced]) error {
		if err := summarize(ctx, bus, events); err != nil {
			return err
		}
		if e := events[0]; e.Payload.Number%7 == 0 && e.Attempt == 1 {
			return ErrBoom
		}
		return nil
	}, runtime.WithBatch(25, time.Millisecond), runtime.WithConcurrency(2),
		runtime.WithRetry(retry.BaseDelay(time.Millisecond), retry.MaxAttempts(1000)))
	check(err)
	check(bus.Start(context.Background()))
	say("ready")
	for p := range 4 {
		go func() {
			for n := p; ; n++ {
				receipt, err := runtime.Publish(context.Background(), bus, PlacedType, OrderPlaced{OrderID: fmt.Sprint(n % 5), Number: n})
				check(err)
				say("published %s", receipt.ID)
			}
		}()
	}
	select {}
}

func TestKillsWithBatchesLoseNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	published := map[string]bool{}
	for kill := range batchKills.N() {
		for _, line := range child(t, "batch publisher", path, time.Duration(5+kill*13%60)*time.Millisecond) {
			if id, ok := strings.CutPrefix(line, "published "); ok {
				published[id] = true
			}
			if strings.HasPrefix(line, "trouble") {
				t.Fatal(line)
			}
		}
	}
	f := SQLite.Reopen(t, path)
	_, err := runtime.SubscribeBatch(f.Bus, PlacedType, "batches", func(ctx context.Context, events []runtime.Event[OrderPlaced]) error {
		return summarize(ctx, f.Bus, events)
	}, runtime.WithRetry(retry.MaxAttempts(1000))) // where the disk is slow, many kills find the same event alone
	Must(t, err)
	f.MustStart()
	f.Idle()
	f.Stop()
	t.Logf("%d events were acknowledged over %d kills", len(published), batchKills.N())
	if got := queryFile(t, path, "SELECT count(*) FROM events WHERE status NOT IN ('done')"); got != "0" {
		t.Errorf("%s events are not done", got)
		t.Error(queryFile(t, path, "SELECT group_concat(concat_ws(' ', seq, subscription, state, failures, uncounted, crashed, suspect, reason), '; ') FROM busgen_deliveries"))
		t.Error(queryFile(t, path, "SELECT group_concat(concat_ws(' ', seq, subscription, n, kind, error), '; ') FROM busgen_attempts WHERE seq IN (SELECT seq FROM busgen_deliveries)"))
	}
	// Each order has exactly one child of its own: stored with its success, and only once.
	orders := queryFile(t, path, "SELECT count(*) FROM events WHERE type = 'order.placed'")
	if got := queryFile(t, path, "SELECT count(*) || ' ' || count(DISTINCT payload) FROM events WHERE type = 'order.paid'"); got != orders+" "+orders {
		t.Errorf("there are %s children for %s orders", got, orders)
	}
	// Each order is in one summary: it is stored in the transaction in which its orders are done.
	summed := map[string]bool{}
	for _, id := range strings.Fields(queryFile(t, path, "SELECT coalesce(group_concat(json_extract(payload, '$.name'), ' '), '') FROM events WHERE type = 'user.created'")) {
		if summed[id] {
			t.Errorf("order %s is in two summaries", id)
		}
		summed[id] = true
	}
	stored := map[string]bool{}
	for _, id := range strings.Fields(queryFile(t, path, "SELECT group_concat(id, ' ') FROM events WHERE type = 'order.placed' AND status = 'done'")) {
		stored[id] = true
	}
	for id := range published {
		if !stored[id] {
			t.Errorf("event %s was acknowledged and is not done", id)
		}
	}
	if len(summed) != len(stored) {
		t.Errorf("%d orders are done, and %d are in a summary", len(stored), len(summed))
	}
}
