// Package operate is what operators do with the tables of an outbox and an inbox, and what the relay does in their
// place.
package operate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/outbox"
)

// Query runs a statement, and calls each for each row; each is nil for a statement that returns none.
type Query func(ctx context.Context, each func(scan func(into ...any) error) error, statement string, args ...any) error

// Rows are those of pgx or of database/sql, which close when there is no next one.
type Rows interface {
	Next() bool
	Scan(into ...any) error
	Err() error
}

// Reading returns a Query with the method of pgx or of database/sql.
func Reading[R Rows](query func(ctx context.Context, statement string, args ...any) (R, error)) Query {
	return func(ctx context.Context, each func(scan func(into ...any) error) error, statement string, args ...any) error {
		rows, err := query(ctx, statement, args...)
		if err != nil {
			return err
		}
		for rows.Next() {
			if each != nil && err == nil {
				err = each(rows.Scan)
			}
		}
		return cmp.Or(err, rows.Err())
	}
}

// Tables are those of a schema.
type Tables struct {
	Schema string
	Query  Query
}

// rows runs a statement with the schema before the names of tables.
func (t Tables) rows(ctx context.Context, each func(scan func(into ...any) error) error, statement string, args ...any) error {
	return t.Query(ctx, each, strings.ReplaceAll(statement, "busgen.", `"`+t.Schema+`".`), args...)
}

// count runs a statement that returns a number.
func (t Tables) count(ctx context.Context, statement string, args ...any) (n int, err error) {
	err = t.rows(ctx, func(scan func(into ...any) error) error { return scan(&n) }, statement, args...)
	return n, err
}

// Status is how an outbox and an inbox are doing.
type Status struct {
	Waiting       int          `json:"waiting"`          // events that the relay has yet to bring
	Oldest        *time.Time   `json:"oldest,omitempty"` // the first of them
	DeadRows      int          `json:"dead_rows"`        // of the outbox, that vacuum has yet to remove; an estimate
	Relay         *string      `json:"relay,omitempty"`  // the process that has the lease, by its number
	Until         *time.Time   `json:"until,omitempty"`  // when its lease ends
	Bus           *string      `json:"bus,omitempty"`    // that events were relayed to last
	Subscriptions []string     `json:"subscriptions"`    // that have marks
	Transaction   *Transaction `json:"transaction,omitempty"`
}

// Transaction is the one that is open for the longest time. It keeps dead rows.
type Transaction struct {
	PID   int       `json:"pid"`
	User  string    `json:"user"`
	Since time.Time `json:"since"`
	State string    `json:"state"`
	Query string    `json:"query"` // the last one
}

// Status looks.
func (t Tables) Status(ctx context.Context) (s Status, err error) {
	err = t.rows(ctx, func(scan func(into ...any) error) error {
		return scan(&s.Waiting, &s.Oldest, &s.DeadRows, &s.Relay, &s.Until, &s.Bus)
	}, `SELECT (SELECT count(*) FROM busgen.outbox), (SELECT created_at FROM busgen.outbox ORDER BY seq LIMIT 1),
		coalesce((SELECT n_dead_tup FROM pg_stat_all_tables WHERE relid = 'busgen.outbox'::regclass), 0),
		CASE WHEN until > now() THEN owner::text END, CASE WHEN until > now() THEN until END, bus FROM busgen.relay`)
	if err == nil {
		s.Subscriptions, err = t.subscriptions(ctx)
	}
	if err == nil {
		err = t.rows(ctx, func(scan func(into ...any) error) error {
			s.Transaction = &Transaction{}
			return scan(&s.Transaction.PID, &s.Transaction.User, &s.Transaction.Since, &s.Transaction.State, &s.Transaction.Query)
		}, `SELECT pid, coalesce(usename, ''), xact_start, coalesce(state, ''), left(query, 200) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL ORDER BY xact_start LIMIT 1`)
	}
	return s, err
}

func (t Tables) subscriptions(ctx context.Context) (names []string, err error) {
	err = t.rows(ctx, func(scan func(into ...any) error) error {
		names = append(names, "")
		return scan(&names[len(names)-1])
	}, "SELECT name FROM busgen.subscriptions ORDER BY name")
	return names, err
}

// Resend puts what was relayed since a time into the outbox again, and returns how many events that are.
func (t Tables) Resend(ctx context.Context, since time.Time, dryRun bool) (int, error) {
	if dryRun {
		return t.count(ctx, "SELECT count(*) FROM busgen.relayed WHERE relayed_at >= $1::timestamptz", since.Format(time.RFC3339Nano))
	} // for the floor of the relay the transaction has its id first
	return t.count(ctx, `WITH again AS (INSERT INTO busgen.outbox (id, type, version, payload, metadata, dedupe, due_at)
		SELECT id, type, version, payload, metadata, dedupe, due_at FROM busgen.relayed
		WHERE relayed_at >= $1::timestamptz AND pg_current_xact_id() IS NOT NULL ORDER BY seq RETURNING 1) SELECT count(*) FROM again`, since.Format(time.RFC3339Nano))
}

// Keep is how long a mark is kept at least.
const Keep = 7 * 24 * time.Hour

// Prune deletes marks that are older than Keep, but for those of events that the bus has yet to settle, or has as dead
// letters.
func (t Tables) Prune(ctx context.Context, log func(ctx context.Context) (engine.Inspection, error)) (deleted int, err error) {
	seconds := int(Keep / time.Second)
	if n, err := t.count(ctx, "SELECT count(*) FROM (SELECT FROM busgen.inbox WHERE at < now() - make_interval(secs => $1::int) LIMIT 1) one", seconds); n == 0 {
		return 0, err
	}
	in, err := log(ctx)
	if err != nil {
		return 0, err
	}
	var open []string
	newest := time.Now().Add(24*time.Hour - Keep).UnixMilli() // clocks differ
	if err := in.Unsettled(ctx, func(e event.Unsettled) {
		if e.ID.Version() != 7 || milliseconds(e.ID) < newest {
			open = append(open, e.ID.String())
		}
	}); err != nil {
		return 0, err
	}
	for {
		n, err := t.count(ctx, `WITH gone AS (DELETE FROM busgen.inbox WHERE ctid = ANY (ARRAY(SELECT i.ctid FROM busgen.inbox i
			WHERE at < now() - make_interval(secs => $1::int) AND NOT EXISTS (SELECT FROM unnest($2::text[]::uuid[]) AS open (id) WHERE open.id = i.event)
			LIMIT 5000)) RETURNING 1) SELECT count(*) FROM gone`, seconds, open)
		if deleted += n; n == 0 || err != nil {
			return deleted, err
		}
	}
}

// milliseconds returns when an id of version 7 was made.
func milliseconds(id uuid.UUID) (ms int64) {
	for _, b := range id[:6] {
		ms = ms<<8 | int64(b)
	}
	return ms
}

// LogOf returns the log of an open bus, for Prune.
func LogOf(bus *inspect.File) func(context.Context) (engine.Inspection, error) {
	return func(context.Context) (engine.Inspection, error) { return outbox.InspectionOf(bus), nil }
}

// Reconcile replays events that were published since a time to subscriptions that have handled them, by the bus, and
// have no mark of it: another server has taken over that had not heard of their rows.
func (t Tables) Reconcile(ctx context.Context, bus *inspect.File, since time.Time, dryRun bool) (all inspect.Counts, err error) {
	if time.Since(since) > Keep {
		return all, fmt.Errorf("marks are kept for %v, so what was handled before cannot be told: choose a later time", Keep)
	}
	names, err := t.subscriptions(ctx)
	for _, name := range names {
		for page, next := (event.Page{Limit: 500}), "-"; err == nil && next != ""; page.After = next {
			var events []event.Event
			if events, next, err = bus.Events(ctx, event.Filter{Since: since}, page); err != nil {
				break
			}
			ids := make([]string, len(events))
			for i, e := range events {
				ids[i] = e.ID.String()
			}
			var bare []uuid.UUID
			err = t.rows(ctx, func(scan func(into ...any) error) error {
				var id string
				err := scan(&id)
				bare = append(bare, uuid.MustParse(id))
				return err
			}, `SELECT e.id::text FROM unnest($2::text[]::uuid[]) AS e (id), busgen.subscriptions s
				WHERE s.name = $1::text AND NOT EXISTS (SELECT FROM busgen.inbox i WHERE i.subscription = s.id AND i.event = e.id)`, name, ids)
			if err != nil || len(bare) == 0 {
				continue
			}
			var counts inspect.Counts
			counts, err = bus.Replay(ctx, name, inspect.Selection{Filter: event.Filter{Events: bare}, DryRun: dryRun, Note: "reconcile with Postgres"})
			all.Matched, all.Moved = all.Matched+counts.Matched, all.Moved+counts.Moved
		}
	}
	return all, err
}

// Erase takes a person out of events that were relayed and are kept. The bus knows which of their fields are personal.
// Events that are still in the outbox are counted as open.
func (t Tables) Erase(ctx context.Context, bus *inspect.File, e inspect.Erasure) (event.Erased, error) {
	file, err := inspect.Open(ctx, "the tables of Postgres", inspect.WithEngine(inTables{t: t, Inspection: outbox.InspectionOf(bus)}))
	if err != nil {
		return event.Erased{}, err
	}
	return file.Erase(ctx, e)
}

// inTables is the log of a bus as inspect knows it, whose events are those of the tables when a person is erased.
type inTables struct {
	engine.Engine
	engine.Inspection
	t Tables
}

// Inspect implements [engine.Inspectable].
func (i inTables) Inspect(context.Context, string, string) (engine.Inspection, error) { return i, nil }

// Erase implements [engine.Eraser].
func (i inTables) Erase(ctx context.Context, e engine.Erasure) (n event.Erased, err error) {
	var changes [][]any // arguments of the statement below
	err = i.t.rows(ctx, func(scan func(into ...any) error) error {
		var seq, id, name, payload string
		var version int
		var metadata, dedupe *string
		var waits bool
		if err := scan(&seq, &id, &name, &version, &payload, &metadata, &dedupe, &waits); err != nil {
			return err
		}
		key, of := struct{ Key string }{}, engine.CountErased(&n, name)
		changed := false
		switch about := e.Names(name, version, []byte(payload)); {
		case about && waits:
			n.Open, of.Open, n.OpenIDs = n.Open+1, of.Open+1, append(n.OpenIDs, uuid.MustParse(id))
		case waits:
		case about:
			n.Events, of.Events, changed = n.Events+1, of.Events+1, true
			payload, dedupe = string(e.Redact(name, version, []byte(payload))), nil
			if metadata != nil {
				*metadata = string(e.Metadata(json.RawMessage(*metadata)))
			}
		case e.Keyed(name, version, []byte(payload)):
			n.Keyed, of.Keyed = n.Keyed+1, of.Keyed+1
		default:
			if e.Mentions(name, []byte(payload)) {
				n.Mentions, of.Mentions = n.Mentions+1, of.Mentions+1
			}
			if metadata != nil {
				*metadata, changed = e.MetadataText(*metadata)
			}
			if dedupe != nil && json.Unmarshal([]byte(*dedupe), &key) == nil && e.Key(key.Key) {
				dedupe, changed = nil, true
			}
			if changed {
				n.Texts++
			}
		}
		if changed {
			changes = append(changes, []any{seq, id, payload, metadata, dedupe})
		}
		return nil
	}, `SELECT seq::text, id::text, type, version, payload, metadata, dedupe, true FROM busgen.outbox
		UNION ALL SELECT seq::text, id::text, type, version, payload, metadata, dedupe, false FROM busgen.relayed`)
	n.Types = slices.DeleteFunc(n.Types, func(of event.ErasedType) bool { return of == event.ErasedType{Type: of.Type} })
	for _, change := range changes {
		if err == nil && !e.DryRun {
			_, err = i.t.count(ctx, `WITH erased AS (UPDATE busgen.relayed SET payload = $3::text, metadata = nullif($4::text, ''), dedupe = $5::text
				WHERE seq = $1::text::bigint AND id = $2::uuid RETURNING 1) SELECT count(*) FROM erased`, change...)
		}
	}
	return n, err
}
