package sqlite

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// How much Events returns at a time.
const (
	departEvents = 256
	departBytes  = 4 << 20
)

// errEnough ends a query.
var errEnough = errors.New("these are enough")

// Events returns the next open events and idempotency keys after one, in the order of the
// log, and up to where there are no others. until is 0 at the end.
func (d *Departure) Events(after int64) (events []engine.MovedEvent, until int64, err error) {
	err = d.log.read(func(c *database.Conn) (err error) {
		events, until, err = d.events(c, after)
		return err
	})
	if err == nil {
		events, err = d.withKeys(events, after, until)
	}
	return events, until, fault.Wrap("read", d.log.path, err)
}

func (d *Departure) events(c *database.Conn, after int64) (events []engine.MovedEvent, until int64, err error) {
	size, rows := 0, 0
	var types []int64
	err = c.Query(`
		SELECT l.seq, l.id, l.type, `+tables.Bounded("l.payload")+`, `+tables.Bounded("l.metadata")+`, l.created_at, coalesce(l.due_at, 0), o.subscription, o.parent
		FROM (SELECT seq FROM busgen_log WHERE seq > max(?1, ?2) UNION SELECT seq FROM busgen_deliveries WHERE seq > ?1 ORDER BY seq LIMIT ?3) x
		CROSS JOIN busgen_log l ON l.seq = x.seq LEFT JOIN busgen_origins o ON o.seq = l.seq ORDER BY x.seq`, func(s *sqlite3.Stmt) error {
		of := d.known[s.ColumnInt64(2)]
		e := engine.MovedEvent{Only: -1, Record: engine.Record{
			Seq: s.ColumnInt64(0), ID: database.UUID(s, 1), Type: of.name, Version: of.version, CreatedAt: database.Time(s, 5),
		}}
		if err := tables.ReadBounded(c, s, 3, &e.Record); err != nil {
			return err
		}
		if e.Unreadable != nil {
			return fmt.Errorf("event %s: %w", e.ID, e.Unreadable)
		}
		if s.ColumnInt64(6) != 0 {
			e.Due = database.Time(s, 6)
		}
		if s.ColumnType(7) != sqlite3.NULL {
			e.Only, e.Parent = d.place(s.ColumnInt64(7)), database.UUID(s, 8)
		}
		events, types = append(events, e), append(types, s.ColumnInt64(2))
		rows, until, size = rows+1, e.Seq, size+len(e.Payload)
		if size > departBytes {
			return errEnough
		}
		return nil
	}, after, d.first, departEvents)
	if err != nil && !errors.Is(err, errEnough) {
		return nil, 0, err
	}
	if rows < departEvents && err == nil {
		until = 0 // these were the last ones
	}
	for i := range events {
		if err := d.open(c, &events[i], types[i]); err != nil {
			return nil, 0, err
		}
	}
	return slices.DeleteFunc(events, func(e engine.MovedEvent) bool { return !e.Open }), until, nil
}

// place returns the place of a subscription in the baggage; -2 for one that was removed.
func (d *Departure) place(id int64) int {
	if at, ok := d.ids[id]; ok {
		return at
	}
	return -2
}

var movedStates = [...]engine.MovedState{ledger.Waiting: engine.MovedWaiting, ledger.Held: engine.MovedHeld, ledger.Dead: engine.MovedDead}

// open finds out who has an event to settle, and reads the deliveries that have rows.
func (d *Departure) open(c *database.Conn, e *engine.MovedEvent, typeID int64) error {
	var at []tables.RowKey
	express, err := d.express(c, e.Seq)
	if err != nil {
		return err
	}
	err = c.Query(`
		SELECT d.subscription, d.state = 'running', `+tables.RowColumns+`
		FROM busgen_deliveries d JOIN busgen_log l ON l.seq = d.seq WHERE d.seq = ? ORDER BY d.subscription`, func(s *sqlite3.Stmt) error {
		to, r := d.place(s.ColumnInt64(0)), tables.ScanRow(s, 2)
		if to < 0 {
			return nil
		}
		if s.ColumnBool(1) { // by a handler of a process that is gone
			r = r.Unclaimed()
		}
		r = r.Freed(time.Time{}) // whoever goes on parks it again
		if e.Seq <= d.unsure[to] {
			r.Delivery = r.Unrecorded()
		}
		if s.ColumnInt64(2+13) < 0 && r.Uncounted == 0 && e.Seq > d.baggage.Subscriptions[to].Cursor { // it comes with the log
			e.Open, express[to] = true, false
			return nil
		}
		one := engine.MovedDelivery{
			Subscription: to, State: movedStates[r.State], Reason: r.Reason, Fingerprint: r.Fingerprint, Died: r.Ended, Due: r.Due, Held: r.HeldSince,
			Since: r.Since, Failures: r.Failures, Uncounted: r.Uncounted, MaxAttempts: r.MaxAttempts, Snoozes: r.Snoozes, Redriven: r.Redriven,
			Progress: r.Progress, Crashed: r.Crashed, Suspect: r.Suspect(), Replayed: r.Replayed, PutOff: r.PutOff, Retried: r.Retried,
		}
		e.Deliveries, at = append(e.Deliveries, one), append(at, tables.RowKey{Subscription: s.ColumnInt64(0), Seq: e.Seq})
		return nil
	}, e.Seq)
	if err != nil {
		return err
	}
	for i := range e.Deliveries {
		if err := d.remember(c, &e.Deliveries[i], at[i]); err != nil {
			return err
		}
	}
	e.Open = e.Open || len(e.Deliveries) > 0
	if e.Due.IsZero() && e.Only == -1 {
		d.openFor(e, d.routes[typeID], express)
	}
	if !e.Open {
		return nil
	}
	for _, to := range slices.Sorted(maps.Keys(express)) {
		if express[to] && e.Seq > d.baggage.Subscriptions[to].Cursor && !has(e, to) {
			e.Deliveries = append(e.Deliveries, engine.MovedDelivery{Subscription: to, State: engine.MovedDone, Since: e.CreatedAt})
		}
	}
	return d.cancelled(c, e)
}

// remember reads how a delivery has failed before.
func (d *Departure) remember(c *database.Conn, one *engine.MovedDelivery, at tables.RowKey) (err error) {
	if one.Attempts, err = readAttempts(c, at); err != nil {
		return err
	}
	if one.Crashes, err = readCrashes(c, at); err != nil {
		return err
	}
	history, err := c.Int64("SELECT history FROM busgen_outcomes WHERE seq = ? AND subscription = ?", at.Seq, at.Subscription)
	one.History = int(history)
	return err
}

// express returns the subscriptions in which an event goes ahead of the log, and true: as far as is known it is done there.
func (d *Departure) express(c *database.Conn, seq int64) (places map[int]bool, err error) {
	if !d.ahead {
		return nil, nil
	}
	places = map[int]bool{}
	err = c.Query("SELECT s.id FROM busgen_subscriptions s CROSS JOIN busgen_express x ON x.subscription = s.id AND x.seq = ?", func(s *sqlite3.Stmt) error {
		if to := d.place(s.ColumnInt64(0)); to >= 0 {
			places[to] = true
		}
		return nil
	}, seq)
	return places, err
}

// has tells whether a delivery of the event to a subscription moves with it.
func has(e *engine.MovedEvent, to int) bool {
	return slices.ContainsFunc(e.Deliveries, func(one engine.MovedDelivery) bool { return one.Subscription == to })
}

// openFor notes that subscriptions match an event. Those of which a dead process may have
// handled it get a row that says so.
func (d *Departure) openFor(e *engine.MovedEvent, matching []int, express map[int]bool) {
	for _, to := range matching {
		if has(e, to) || express[to] || e.Seq <= d.baggage.Subscriptions[to].Cursor {
			continue
		}
		if e.Open = true; e.Seq <= d.unsure[to] {
			e.Deliveries = append(e.Deliveries, engine.MovedDelivery{Subscription: to, State: engine.MovedWaiting, Uncounted: 1, Since: e.CreatedAt})
		}
	}
}

// cancelled notes which deliveries somebody has discarded, which nobody has settled yet.
func (d *Departure) cancelled(c *database.Conn, e *engine.MovedEvent) error {
	return c.Query("SELECT subscription, reason, at FROM busgen_cancelled WHERE seq = ?", func(s *sqlite3.Stmt) error {
		to := d.place(s.ColumnInt64(0))
		if to < 0 {
			return nil
		}
		i := slices.IndexFunc(e.Deliveries, func(one engine.MovedDelivery) bool { return one.Subscription == to })
		if i < 0 {
			i = len(e.Deliveries)
			e.Deliveries = append(e.Deliveries, engine.MovedDelivery{Subscription: to, Since: e.CreatedAt})
		}
		one := &e.Deliveries[i]
		one.State, one.Reason, one.Died = engine.MovedCancelled, s.ColumnText(1), database.Time(s, 2)
		return nil
	}, e.Seq)
}

// departingKeys reads the idempotency keys in the order of their events.
type departingKeys struct {
	conn  *database.Conn
	stmt  *sqlite3.Stmt
	after int64 // up to here they were read
	seq   int64 // of the next one; 0 for none
	next  engine.MovedKey
}

func (k *departingKeys) close() error {
	if k == nil || k.conn == nil {
		return nil
	}
	return errors.Join(k.stmt.Close(), k.conn.Close())
}

// withKeys adds the keys of events after one and up to another, or of all if that is 0.
func (d *Departure) withKeys(events []engine.MovedEvent, after, until int64) ([]engine.MovedEvent, error) {
	if d.keys == nil || d.keys.after != after {
		if err := errors.Join(d.keys.close(), d.openKeys(after)); err != nil {
			return nil, err
		}
	}
	k, at := d.keys, 0
	for k.seq != 0 && (until == 0 || k.seq <= until) {
		for at < len(events) && events[at].Seq < k.seq {
			at++
		}
		if at == len(events) || events[at].Seq != k.seq {
			events = slices.Insert(events, at, engine.MovedEvent{Only: -1, Record: engine.Record{Seq: k.seq}})
		}
		events[at].Keys = append(events[at].Keys, k.next)
		if err := k.read(); err != nil {
			return nil, err
		}
	}
	k.after = until
	return events, nil
}

func (d *Departure) openKeys(after int64) (err error) {
	k := &departingKeys{after: after}
	if k.conn, err = tables.OpenReader(d.log.path, d.log.vfs); err != nil {
		return err
	}
	d.keys = k
	defer k.conn.Recovered(&err)
	k.stmt, _, err = k.conn.Prepare(`
		SELECT d.seq, t.written, t.version, d.key, d.id, d.digest, d.expires_at, CASE d.digest WHEN x'' THEN (SELECT payload FROM busgen_log WHERE seq = d.seq) END
		FROM busgen_dedupe d JOIN busgen_types t ON t.id = d.type WHERE d.seq > ? AND d.expires_at > ? ORDER BY d.seq`)
	if err != nil {
		return errors.Join(err, k.conn.Close())
	}
	err = errors.Join(k.stmt.BindInt64(1, after), k.stmt.BindInt64(2, time.Now().UnixMicro()))
	return errors.Join(err, k.read())
}

// read reads the next key.
func (k *departingKeys) read() (err error) {
	defer k.conn.Recovered(&err)
	k.seq = 0
	s := k.stmt
	if !s.Step() {
		return s.Err()
	}
	k.seq = s.ColumnInt64(0)
	k.next = engine.MovedKey{
		Type: s.ColumnText(1), Version: s.ColumnInt(2), Key: s.ColumnText(3), ID: database.UUID(s, 4), Digest: s.ColumnBlob(5, nil), Expires: database.Time(s, 6),
	}
	// Programs that publish through outbox cannot compute digests.
	var compact bytes.Buffer
	if len(k.next.Digest) == 0 && s.ColumnType(7) != sqlite3.NULL && json.Compact(&compact, s.ColumnRawText(7)) == nil {
		digest := sha256.Sum256(compact.Bytes())
		k.next.Digest = digest[:]
	}
	return nil
}
