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

// How often a process is killed whose handlers publish with dedupe keys.
var dedupeKills = short.Flag("dedupe.kills", 8, 2, "how often the test kills a process whose handlers publish with dedupe keys")

func init() { children["dedupe publisher"] = dedupeChild }

// payWithKey makes two subscriptions pay each order, with one key for both.
func payWithKey(bus *runtime.Bus) {
	for _, name := range []string{"one", "two"} {
		_, err := runtime.Subscribe(bus, PlacedType, name, func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			id := e.ID.String()
			if _, err := runtime.Publish(ctx, bus, PaidType, OrderPaid{OrderID: id}, runtime.WithDedupeKey(id)); err != nil {
				return err
			}
			if e.Payload.Number%7 == 0 && e.Attempt == 1 {
				return ErrBoom
			}
			return nil
		}, runtime.FromBeginning(), runtime.WithConcurrency(4), runtime.WithRetry(retry.BaseDelay(time.Millisecond), retry.MaxAttempts(1000)))
		check(err)
	}
}

// dedupeChild publishes and handles orders until it is killed. Some of them it pays itself.
func dedupeChild(path string) {
	bus, err := runtime.Open(context.Background(), path, Catalogue)
	check(err)
	payWithKey(bus)
	check(bus.Start(context.Background()))
	say("ready")
	for p := range 4 {
		go func() {
			for n := p; ; n++ {
				receipt, err := runtime.Publish(context.Background(), bus, PlacedType, OrderPlaced{OrderID: fmt.Sprint(n % 5), Number: n})
				check(err)
				id := receipt.ID.String()
				say("published %s", id)
				if n%3 == 0 {
					_, err := runtime.Publish(context.Background(), bus, PaidType, OrderPaid{OrderID: id}, runtime.WithDedupeKey(id))
					check(err)
				}
			}
		}()
	}
	select {}
}

// Each order is paid once: two handlers and a publisher have the same key.
func TestAKeyOfAHandlerIsNeverStoredTwiceOverKills(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	published := 0
	for kill := range dedupeKills.N() {
		for _, line := range child(t, "dedupe publisher", path, time.Duration(5+kill*13%60)*time.Millisecond) {
			if strings.HasPrefix(line, "published ") {
				published++
			}
		}
	}
	f := SQLite.Reopen(t, path)
	payWithKey(f.Bus)
	f.MustStart()
	f.Idle()
	f.Stop()
	t.Logf("%d orders were acknowledged over %d kills", published, dedupeKills.N())
	orders := queryFile(t, path, "SELECT count(*) FROM events WHERE type = 'order.placed'")
	if got := queryFile(t, path, "SELECT count(*) || ' ' || count(DISTINCT payload) FROM events WHERE type = 'order.paid'"); published == 0 || got != orders+" "+orders {
		t.Errorf("there are %s payments for %s orders", got, orders)
	}
	if got := queryFile(t, path, "SELECT count(*) FROM events WHERE type = 'order.placed' AND status <> 'done'"); got != "0" {
		t.Errorf("%s orders are not done", got)
	}
	if lines := f.Log.Level(t, "ERROR"); len(lines) > 0 {
		t.Errorf("logged: %v", lines)
	}
}
