package sqlite

import (
	"context"
	"errors"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
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
	err = l.read(func(c *database.Conn) (err error) {
		d.label, err = readLabel(c)
		return err
	})
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
	if err != nil {
		return nil, err
	}
	return d, fault.Wrap("read", l.path, l.read(d.pack))
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
	v, err := openVisit(path)
	if err == nil {
		err = v.shut()
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
	rows, err := typeRows(c)
	if err != nil {
		return err
	}
	for _, row := range rows {
		b.Types = append(b.Types, engine.MovedType{Name: row.Name, Written: row.Written, Version: row.Version})
		d.known[row.ID] = written{row.Written, row.Version}
	}
	err = c.Query("SELECT t.name, t.version, s.schema, s.stored_at, s.program FROM busgen_schemas s JOIN busgen_types t ON t.id = s.type ORDER BY t.id", func(s *sqlite3.Stmt) error {
		b.Schemas = append(b.Schemas, engine.MovedSchema{Type: s.ColumnText(0), Schema: engine.Schema{
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
	d.first, err = c.Int64("SELECT max(seq) FROM busgen_log")
	for _, one := range b.Subscriptions {
		d.first = min(d.first, one.Cursor)
	}
	return err
}
