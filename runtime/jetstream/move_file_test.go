//go:build unix

package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

// fileSize is what a file has that is to be moved.
type fileSize struct{ events, retries, dead, subscriptions int }

// openFile opens a bus in a file, with subscriptions of which the first fails, the second gives
// up, and the rest handles everything. handled counts what each has done.
func openFile(t *testing.T, path string, size fileSize, handled []atomic.Int64) *runtime.Bus {
	t.Helper()
	bus, err := runtime.Open(t.Context(), path, conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	conformance.Must(t, err)
	for i := range size.subscriptions {
		_, err := runtime.Subscribe(bus, conformance.PlacedType, subscriptionName(i), func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
			handled[i].Add(1)
			switch n := e.Payload.Number; {
			case i == 0 && n < size.retries:
				return fmt.Errorf("order %d is not there yet", n)
			case i == 1 && n < size.dead:
				return runtime.Permanent(errors.New("never"))
			}
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(9), retry.BaseDelay(time.Hour), retry.MaxDelay(2*time.Hour)), runtime.WithAliases(subscriptionName(i)+"-of-old"))
		conformance.Must(t, err)
	}
	return bus
}

func subscriptionName(i int) string { return fmt.Sprintf("subscription %02d", i) }

// fillFile makes a file with waiting retries, dead letters, and subscriptions in different
// places: the last four are paused one after the other. The rest of the events, some of
// them with idempotency keys and some delayed, are published when nobody handles them.
func fillFile(t *testing.T, size fileSize) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "shop.db")
	handled := make([]atomic.Int64, size.subscriptions)
	bus := openFile(t, path, size, handled)
	conformance.Must(t, bus.Start(t.Context()))
	n, steps := 0, 4
	publish := func(count int, opts ...runtime.PublishOption) {
		for count > 0 {
			orders := make([]conformance.OrderPlaced, min(count, 1000))
			for i := range orders {
				orders[i] = conformance.OrderPlaced{OrderID: fmt.Sprint(n % 100), Number: n}
				n++
			}
			count -= len(orders)
			_, err := runtime.PublishBatch(t.Context(), bus, conformance.PlacedType, orders, opts...)
			conformance.Must(t, err)
		}
	}
	for step := range steps {
		publish((max(size.retries, size.dead) + 3) / steps)
		for i := range size.subscriptions - step {
			for handled[i].Load() < int64(n) {
				time.Sleep(time.Millisecond)
			}
		}
		conformance.Must(t, bus.PauseSubscription(t.Context(), subscriptionName(size.subscriptions-1-step), ""))
	}
	conformance.Must(t, bus.Shutdown(t.Context()))
	bus = openFile(t, path, size, handled)
	for i := range 20 {
		for _, opts := range [][]runtime.PublishOption{{runtime.WithDedupeKey(fmt.Sprint("key ", i))}, {runtime.WithDelay(time.Duration(i+1) * time.Hour)}} {
			_, err := runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A", Number: n}, opts...)
			conformance.Must(t, err)
			n++
		}
	}
	publish(size.events - n)
	conformance.Must(t, bus.Shutdown(t.Context()))
	return path
}

// delivery is an event for a subscription, and how it stands.
type delivery struct {
	id           string
	subscription string
}

type standing struct {
	state              string // open: the position of the subscription says so
	failures, attempts int
	due                int64
	last               string // error
}

// fileContent reads from the file what has to move, with SQL.
type fileContent struct {
	open   map[delivery]standing
	events []string // ids, in order
	keys   map[string]bool
}

func readFile(t *testing.T, path string) (content fileContent) {
	t.Helper()
	db, err := sqlite3.OpenFlags("file:"+path, sqlite3.OPEN_READWRITE|sqlite3.OPEN_URI)
	conformance.Must(t, err)
	defer db.Close()
	query := func(sql string, row func(s *sqlite3.Stmt)) {
		s, _, err := db.Prepare(sql)
		conformance.Must(t, err)
		defer s.Close()
		for s.Step() {
			row(s)
		}
		conformance.Must(t, s.Err())
	}
	content.open, content.keys = map[delivery]standing{}, map[string]bool{}
	query(`
		SELECT hex(l.id), s.name, coalesce(d.state, 'open'), coalesce(d.failures, 0), coalesce(d.due_at, 0),
		  CASE WHEN d.seq IS NULL THEN 0 ELSE (SELECT count(*) FROM busgen_attempts a WHERE a.seq = l.seq AND a.subscription = s.id) END,
		  CASE WHEN d.seq IS NULL THEN '' ELSE (SELECT error FROM busgen_attempts a WHERE a.seq = l.seq AND a.subscription = s.id ORDER BY n DESC LIMIT 1) END
		FROM busgen_log l JOIN busgen_routes r ON r.type = l.type JOIN busgen_subscriptions s ON s.id = r.subscription
		LEFT JOIN busgen_deliveries d ON d.seq = l.seq AND d.subscription = s.id
		WHERE d.seq IS NOT NULL OR l.seq > s.cursor AND l.due_at IS NULL ORDER BY l.seq`, func(s *sqlite3.Stmt) {
		id := s.ColumnText(0)
		content.open[delivery{id, s.ColumnText(1)}] = standing{
			state: s.ColumnText(2), failures: s.ColumnInt(3), due: s.ColumnInt64(4), attempts: s.ColumnInt(5), last: s.ColumnText(6),
		}
		if len(content.events) == 0 || content.events[len(content.events)-1] != id {
			content.events = append(content.events, id)
		}
	})
	query("SELECT key FROM busgen_dedupe", func(s *sqlite3.Stmt) { content.keys[s.ColumnText(0)] = true })
	return content
}
