package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// Departure is a file whose events move to another engine. While it is open no process
// dispatches from the file; from the beginning on, nothing that moves changes, and nothing is
// published.
type Departure struct {
	log     *Log
	to      string
	label   *label // nil if the file had none
	baggage engine.Baggage
	ids     map[int64]int     // the place of a subscription in the baggage, by its id
	routes  map[int64][]int   // the subscriptions that get a type, by its id
	known   map[int64]written // types, by id
	ahead   bool              // some go ahead of the log
	unsure  []int64           // events up to which a dead process may have handled, by subscription
	first   int64             // no event up to this one is open, unless it has a row
	keys    *departingKeys
}

// written is how events of a type were published.
type written struct {
	name    string
	version int
}

// Depart opens a file in order to move it. It fails if a process dispatches from the file, or
// if it was moved to another place. What a process left that was killed is sorted out, as each
// start of a bus does. A file that is labelled already is taken up again.
func Depart(ctx context.Context, path, to string) (_ *Departure, err error) {
	l, err := openToMove(ctx, path)
	if err != nil {
		return nil, err
	}
	d := &Departure{log: l, to: to}
	defer func() {
		if err != nil {
			d.Close()
		}
	}()
	d.label, err = valueOf(l.ground, readLabel)
	switch {
	case err != nil:
		return nil, fault.Wrap("read", l.path, err)
	case d.label != nil && d.label.To != to:
		return nil, d.label.refusal(l.path, "move")
	case d.label != nil: // nothing has changed since then
		err = l.own()
	default:
		_, err = l.TakeOver(ctx)
	}
	if err == nil && d.label == nil {
		err = l.refuseSteps()
	}
	if err != nil {
		return nil, err
	}
	return d, fault.Wrap("read", l.path, l.read(d.pack))
}

// refuseSteps returns an error if a handler would do its steps again: the engine that events move to stores none.
func (l *Log) refuseSteps() error {
	var n int64
	var name string
	err := l.read(func(c *database.Conn) error {
		return c.Query(`
			SELECT count(*), min(name) FROM (
				SELECT DISTINCT x.seq, s.name FROM busgen_steps x JOIN busgen_subscriptions s ON s.id = x.subscription
				WHERE x.seq > s.cursor OR EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.subscription = x.subscription AND d.seq = x.seq))`, func(s *sqlite3.Stmt) error {
			n, name = s.ColumnInt64(0), s.ColumnText(1)
			return nil
		})
	})
	if err != nil || n == 0 {
		return fault.Wrap("read", l.path, err)
	}
	return fmt.Errorf("%w: %d open or dead deliveries have steps that their handlers have done, such as those of subscription %q, and only a file stores steps: "+
		"let them end, and discard or purge the dead letters", errors.ErrUnsupported, n, name)
}

// own takes the lock of who dispatches, and does nothing else.
func (o *owner) own() error {
	err := o.claims.Own()
	if errors.Is(err, locks.ErrOwned) {
		return o.errOwned()
	}
	if err != nil {
		return claimsError("lock", o.path+file.ClaimsSuffix, err)
	}
	return nil
}

// Begin labels the file. From here on nothing in it changes.
func (d *Departure) Begin(ctx context.Context) error {
	if d.label != nil {
		return nil
	}
	err := d.log.writer.doSynced(ctx, func(c *database.Conn) error { return setLabel(c, d.to) })
	if err == nil {
		err = d.log.read(d.pack) // somebody may have published meanwhile
	}
	return fault.Wrap("move", d.log.path, err)
}

// openToMove opens a file in which a bus was opened before.
func openToMove(ctx context.Context, path string) (*Log, error) {
	v, err := tables.OpenVisit(path)
	if err == nil {
		err = v.Shut()
	}
	if err != nil {
		return nil, err
	}
	return Open(path, Options{Context: ctx, labelled: true})
}

// Baggage returns everything but the events.
func (d *Departure) Baggage() *engine.Baggage { return &d.baggage }

// Path returns the name of the file.
func (d *Departure) Path() string { return d.log.path }

// Finish notes in the file that everything has moved.
func (d *Departure) Finish(ctx context.Context) error {
	return fault.Wrap("move", d.log.path, d.log.writer.doSynced(ctx, finishLabel))
}

// Close closes the file.
func (d *Departure) Close() error {
	return errors.Join(d.keys.close(), d.log.Close())
}

// TakeBack makes a file that has moved one of a bus again, as it was when the move began.
func TakeBack(ctx context.Context, path string) (to string, err error) {
	l, err := openToMove(ctx, path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.own(); err != nil {
		return "", err
	}
	err = l.writer.doSynced(ctx, func(c *database.Conn) error {
		m, err := readLabel(c)
		if err != nil || m == nil {
			return err
		}
		to = m.To
		return removeLabel(c)
	})
	return to, fault.Wrap("take back", l.path, err)
}

// pack reads the baggage.
func (d *Departure) pack(c *database.Conn) (err error) {
	b := &d.baggage
	*b, d.unsure = engine.Baggage{}, nil
	d.ids, d.routes, d.known = map[int64]int{}, map[int64][]int{}, map[int64]written{}
	err = c.Query("SELECT log FROM busgen_identity", func(s *sqlite3.Stmt) error {
		b.Log = database.UUID(s, 0)
		return nil
	})
	if err != nil {
		return err
	}
	rows, err := tables.TypeRows(c)
	if err != nil {
		return err
	}
	for _, row := range rows {
		b.Types = append(b.Types, engine.MovedType{Name: row.Name, Written: row.Written, Version: row.Version})
		d.known[row.ID] = written{row.Written, row.Version}
	}
	err = c.Query("SELECT t.name, t.version, s.schema, s.stored_at, s.program FROM busgen_schemas s JOIN busgen_types t ON t.id = s.type ORDER BY t.id", func(s *sqlite3.Stmt) error {
		b.Schemas = append(b.Schemas, engine.MovedSchema{Type: s.ColumnText(0), Schema: event.Schema{
			Version: s.ColumnInt(1), Text: s.ColumnText(2), StoredAt: database.Time(s, 3), Program: s.ColumnText(4),
		}})
		return nil
	})
	if err != nil {
		return err
	}
	if err := d.packSubscriptions(c); err != nil {
		return err
	}
	if b.Pauses, err = readPauses(c); err != nil {
		return err
	}
	b.Schedules, err = readSchedules(c)
	return err
}

func (d *Departure) packSubscriptions(c *database.Conn) error {
	b := &d.baggage
	err := c.Query("SELECT id, name, pattern, start, cursor, redelivered FROM busgen_subscriptions ORDER BY id", func(s *sqlite3.Stmt) error {
		d.ids[s.ColumnInt64(0)] = len(b.Subscriptions)
		b.Subscriptions = append(b.Subscriptions, engine.MovedSubscription{
			Name: s.ColumnText(1), Pattern: s.ColumnText(2), Start: s.ColumnInt64(3), Cursor: max(s.ColumnInt64(3), s.ColumnInt64(4)),
		})
		d.unsure = append(d.unsure, s.ColumnInt64(5))
		return nil
	})
	if err != nil {
		return err
	}
	err = c.Query("SELECT subscription, name FROM busgen_former_names ORDER BY subscription, name", func(s *sqlite3.Stmt) error {
		one := &b.Subscriptions[d.ids[s.ColumnInt64(0)]]
		one.Former = append(one.Former, s.ColumnText(1))
		return nil
	})
	if err != nil {
		return err
	}
	err = c.Query("SELECT type, subscription FROM busgen_routes WHERE NOT former", func(s *sqlite3.Stmt) error {
		d.routes[s.ColumnInt64(0)] = append(d.routes[s.ColumnInt64(0)], d.ids[s.ColumnInt64(1)])
		return nil
	})
	if err != nil {
		return err
	}
	ahead, err := c.Int64("SELECT EXISTS (SELECT 1 FROM busgen_express)")
	if err != nil {
		return err
	}
	d.ahead = ahead != 0
	d.first, err = c.Int64("SELECT max(seq) FROM busgen_log")
	for _, one := range b.Subscriptions {
		d.first = min(d.first, one.Cursor)
	}
	return err
}

// A file whose events move to another engine has a label: a table with one row, and triggers
// that refuse every change of what moves, whichever process tries it. Bus and publishers learn
// from them where the events are.

// labelPrefix begins the names of the label. They are not part of the schema.
const labelPrefix = "busgen_moved"

// label is the row.
type label struct {
	To    string
	Began time.Time
	Done  time.Time // zero while the events move
}

// readLabel returns the label of a file, or nil.
func readLabel(c *database.Conn) (m *label, err error) {
	marked, err := c.Int64("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '" + labelPrefix + "'")
	if err != nil || marked == 0 {
		return nil, err
	}
	// The statement is not kept: the table can come and go.
	err = c.QueryOnce("SELECT target, began_at, coalesce(done_at, 0) FROM "+labelPrefix+" LIMIT 1", func(s *sqlite3.Stmt) error {
		m = &label{To: s.ColumnText(0), Began: database.Time(s, 1)}
		if s.ColumnInt64(2) != 0 {
			m.Done = database.Time(s, 2)
		}
		return nil
	})
	return m, err
}

// refuseLabelled returns an error if the file has a label.
func refuseLabelled(c *database.Conn) error {
	m, err := readLabel(c)
	if err != nil || m == nil {
		return err
	}
	return m.refusal(c.Path, "open")
}

// refusal is the error of a bus that opens the file.
func (m *label) refusal(path, op string) error {
	back := commandline.Of("move", []string{"--take-back"}, path)
	hint := fmt.Sprintf("its events are on %s since %s: open that bus, or make this file one of a bus again, as it was before, with: %s",
		m.To, m.Done.Format(time.RFC3339), back)
	if m.Done.IsZero() {
		hint = fmt.Sprintf("its events are on their way to %s: go on with: %s; or give up with: %s", m.To, commandline.Of("move", nil, path, m.To), back)
	}
	return &event.StorageError{Fault: event.MovedAway, Op: op, Path: path, Hint: hint}
}

// guarded are the tables that nothing changes any more, and what is refused.
var guarded = []struct{ table, changes string }{
	{"busgen_log", "INSERT DELETE"},
	{"busgen_deliveries", "INSERT UPDATE DELETE"},
	{"busgen_subscriptions", "INSERT UPDATE DELETE"},
	{"busgen_types", "INSERT UPDATE DELETE"},
	{"busgen_pauses", "INSERT UPDATE DELETE"},
	{"busgen_schedules", "INSERT UPDATE DELETE"},
	{"busgen_cancelled", "INSERT UPDATE DELETE"},
	{"busgen_dedupe", "INSERT UPDATE"},
}

// setLabel marks the file, within a transaction.
func setLabel(c *database.Conn, to string) error {
	if err := c.ExecScript("CREATE TABLE " + labelPrefix + " (target TEXT NOT NULL, began_at INTEGER NOT NULL, done_at INTEGER)"); err != nil {
		return err
	}
	if err := c.Exec("INSERT INTO "+labelPrefix+" (target, began_at) VALUES (?, ?)", to, time.Now()); err != nil {
		return err
	}
	text := strings.ReplaceAll("the events of this file were moved to "+to, "'", "''")
	for _, g := range guarded {
		for change := range strings.FieldsSeq(g.changes) {
			err := c.ExecScript(fmt.Sprintf("CREATE TRIGGER %s_%s_%s BEFORE %s ON %s BEGIN SELECT RAISE(ABORT, '%s'); END",
				labelPrefix, strings.TrimPrefix(g.table, "busgen_"), strings.ToLower(change), change, g.table, text))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// finishLabel says that everything has moved, within a transaction.
func finishLabel(c *database.Conn) error {
	return c.ExecScript(fmt.Sprintf("UPDATE %s SET done_at = %d WHERE done_at IS NULL", labelPrefix, time.Now().UnixMicro()))
}

// removeLabel takes the label away, within a transaction.
func removeLabel(c *database.Conn) error {
	var names []string
	err := c.Query("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '"+labelPrefix+"\\_%' ESCAPE '\\'", func(s *sqlite3.Stmt) error {
		names = append(names, s.ColumnText(0))
		return nil
	})
	for _, name := range names {
		err = errors.Join(err, c.ExecScript("DROP TRIGGER "+name))
	}
	return errors.Join(err, c.ExecScript("DROP TABLE IF EXISTS "+labelPrefix))
}
