package sqlite

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// Events that have metadata: one
// that looks like that of a child, one with the words in a text, one that
// somebody has damaged, and one with the words in a key.
const childRows = `
	INSERT INTO busgen_types (id, name, written, version) VALUES (1, 'order.placed', 'order.placed', 1);
	INSERT INTO busgen_log (seq, id, type, payload, metadata, created_at) VALUES
	  (1, x'00000000000070008000000000000001', 1, '{"n":1}', NULL, 1),
	  (2, x'00000000000070008000000000000002', 1, '{"n":2}', '{"hops":"1","parent_id":"00000000-0000-7000-8000-000000000001"}', 2),
	  (3, x'00000000000070008000000000000003', 1, '{"n":3}', '{"note":"\"parent_id\":\"00000000-0000-7000-8000-000000000001\""}', 3),
	  (4, x'00000000000070008000000000000004', 1, '{"n":4}', '{"hops":"1","parent_id":"cut', 4),
	  (5, x'00000000000070008000000000000005', 1, '{"n":5}', '{"a\"parent_id":"00000000-0000-7000-8000-000000000001","hops":"1"}', 5);
	INSERT INTO busgen_subscriptions (id, name, pattern, start, cursor, created_at) VALUES (1, 'ship', 'order.*', 0, 3, 0);
	INSERT INTO busgen_routes (type, subscription) VALUES (1, 1);
	INSERT INTO busgen_deliveries (subscription, seq, state, failures, dead_at, reason) VALUES (1, 1, 'dead', 4, 5, 'permanent')`

func fileWithChildren(t *testing.T) string {
	t.Helper()
	path := newFile(t)
	changed(t, path, childRows)
	return path
}

func TestChildrenAreFoundByTheirIndexInAFile(t *testing.T) {
	path := fileWithChildren(t)
	log, err := Open(path, Options{})
	must(t, err)
	must(t, log.Close())
	c, err := database.Connect(path, "", sqlite3.OPEN_READWRITE)
	must(t, err)
	defer c.Close()
	const parent = "00000000-0000-7000-8000-000000000001"
	args, err := eventArgsOf(c, engine.Filter{Filter: event.Filter{ChildOf: uuid.MustParse(parent)}})
	must(t, err)
	var plan, found []string
	list := []any{args.first, int64(never), args.types, args.since, args.until, args.text, args.correlation, args.ids, nil, args.parent, 10, 0}
	must(t, c.Query("EXPLAIN QUERY PLAN "+listEvents(args.children, false, false), func(s *sqlite3.Stmt) error { plan = append(plan, s.ColumnText(3)); return nil }, list...))
	must(t, c.Query(listEvents(args.children, false, false), func(s *sqlite3.Stmt) error { found = append(found, s.ColumnText(0)); return nil }, list...))
	if text := strings.Join(plan, "; "); !strings.Contains(text, "SEARCH l USING INDEX busgen_log_parent") {
		t.Errorf("the plan is %s", text)
	}
	if strings.Join(found, " ") != "2" {
		t.Errorf("the children are %v", found)
	}
	if n, err := c.Int64("SELECT count(*) FROM busgen_deliveries WHERE replayed = 0"); err != nil || n != 1 {
		t.Errorf("%d deliveries are no replays, %v", n, err)
	}
}

// Metadata that somebody has damaged has no correlation id. It ends no search for one.
func TestDamagedMetadataEndsNoSearchByCorrelationID(t *testing.T) {
	path := fileWithChildren(t)
	log, err := Open(path, Options{})
	must(t, err)
	defer log.Close()
	must(t, log.writer.do(t.Context(), func(c *database.Conn) error {
		return c.ExecScript(`
			UPDATE busgen_log SET metadata = '{"correlation_id":"trip"}' WHERE seq IN (1, 3);
			UPDATE busgen_log SET metadata = '{"correlation_id":"trip' WHERE seq = 2;
			INSERT INTO busgen_deliveries (subscription, seq, state, failures, dead_at, reason) VALUES (1, 2, 'dead', 4, 5, 'permanent')`)
	}))
	inspection, filter := inspectFile(t, path), engine.Filter{Filter: event.Filter{CorrelationID: "trip"}}
	if found, err := inspection.Events(t.Context(), filter, event.Page{Limit: 10}, 0); err != nil || len(found.Events) != 2 {
		t.Errorf("found %d events, %v, want those at 1 and 3", len(found.Events), err)
	}
	if letters, _, err := inspection.DeadLetters(t.Context(), filter, event.Page{Limit: 10}, false); err != nil || len(letters) != 1 {
		t.Errorf("found %d dead letters, %v, want that at 1", len(letters), err)
	}
	if _, matched, err := inspection.Sweep(t.Context(), engine.SweepSpec{Kind: engine.SweepReplay, Subscription: "ship", Filter: filter}); err != nil || matched != 1 {
		t.Errorf("to replay: %v, %v, want that at 3", matched, err)
	}
}
