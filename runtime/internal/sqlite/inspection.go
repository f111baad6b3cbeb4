package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// Inspection implements [engine.Inspection] on a file. It needs no bus, and works
// beside one that is running, in this process or another. The files inspect_*.go
// have its methods.
type Inspection struct {
	actor string

	removing sync.Mutex // held by RemoveConsumer, which locks the file in steps

	closing context.Context // ends when Close is called, which interrupts whoever reads
	end     context.CancelFunc

	mu     sync.Mutex
	closed bool
	tables.Visit
}

// Inspect implements [engine.Inspectable]. The target is the path of a file.
func (Engine) Inspect(ctx context.Context, target, actor string) (engine.Inspection, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v, err := tables.OpenVisit(target)
	if err != nil {
		return nil, err
	}
	i := &Inspection{actor: actor, Visit: v}
	i.closing, i.end = context.WithCancel(context.Background())
	return i, nil
}

// Close implements [engine.Inspection]. It interrupts whoever reads, and waits for whoever
// writes.
func (i *Inspection) Close() error {
	i.end()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	return i.Shut()
}

// Release implements [engine.Releaser]. It waits for whoever reads or writes. The next
// method opens the file again.
func (i *Inspection) Release() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.Shut()
}

// A file from somebody else may make statements take for ever. So they have some time, which is more than they need for a
// file of many gigabytes: lookTime, and checkTime for what reads all of it.
var (
	lookTime  = 5 * time.Minute
	checkTime = 2 * time.Hour
)

// look runs f, which reads, all of it from one state of the file. Close interrupts it, and so does the end of lookTime.
func (i *Inspection) look(ctx context.Context, op string, f func(c *database.Conn) error) error {
	return i.lookFor(ctx, lookTime, op, f)
}

// lookFor is look with another time.
func (i *Inspection) lookFor(ctx context.Context, most time.Duration, op string, f func(c *database.Conn) error) error {
	tooLong := fmt.Errorf("this takes longer than %v, so it was ended: ask for less, or look at a copy of the file with the sqlite3 shell", most)
	looking, end := context.WithTimeoutCause(ctx, most, tooLong)
	defer end()
	defer context.AfterFunc(i.closing, end)()
	err := i.run(looking, op, i.Reading, func(c *database.Conn) error {
		if err := c.Exec("BEGIN"); err != nil {
			return err
		}
		err := f(c)
		defer c.SetInterrupt(c.SetInterrupt(context.Background()))
		if endErr := c.Exec("ROLLBACK"); err == nil {
			err = endErr
		}
		return err
	}, i.Read)
	if err != nil && looking.Err() != nil && ctx.Err() == nil {
		if context.Cause(looking) == tooLong {
			return &event.StorageError{Fault: event.IO, Op: op, Path: i.Path, Err: tooLong}
		}
		return engine.ErrClosed
	}
	return err
}

// change runs f in a transaction that is on disk when it returns.
func (i *Inspection) change(ctx context.Context, op string, f func(c *database.Conn) error) error {
	return i.run(ctx, op, i.Writing, func(c *database.Conn) error {
		return c.Transaction(true, func() error { return f(c) })
	}, nil)
}

// run opens the file as f needs it and runs f, which the end of ctx interrupts.
// Afterwards checked may return another error.
func (i *Inspection) run(ctx context.Context, op string, open func() error, f func(c *database.Conn) error, checked func(error) error) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return engine.ErrClosed
	}
	if err := open(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	defer i.Conn.SetInterrupt(i.Conn.SetInterrupt(ctx))
	err := f(i.Conn)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	err = fault.Wrap(op, i.Conn.Path, err)
	if checked != nil {
		err = checked(err)
	}
	return err
}

// changeAll is change, or changeFor if there is a name. For all subscriptions it passes
// the zero value to f.
func (i *Inspection) changeAll(ctx context.Context, op, name string, f func(c *database.Conn, only tables.KnownSubscription) error) error {
	if name != "" {
		return i.changeFor(ctx, op, name, f)
	}
	return i.change(ctx, op, func(c *database.Conn) error { return f(c, tables.KnownSubscription{}) })
}

// changeFor is change for a subscription, by the name it has or had. It looks for the
// subscription before it opens the file for writing, and returns a *NotFoundError if
// there is none.
func (i *Inspection) changeFor(ctx context.Context, op, name string, f func(c *database.Conn, subscription tables.KnownSubscription) error) error {
	err := i.look(ctx, "read", func(c *database.Conn) error {
		_, err := requireSubscription(c, name)
		return err
	})
	if err != nil {
		return err
	}
	return i.change(ctx, op, func(c *database.Conn) error {
		found, err := requireSubscription(c, name)
		if err != nil {
			return err
		}
		return f(c, found)
	})
}

// requireSubscription returns the subscription that has a name, or had it before, or a
// *NotFoundError.
func requireSubscription(c *database.Conn, name string) (tables.KnownSubscription, error) {
	found, err := tables.KnownConsumer(c, name)
	if err == nil && found.ID == 0 {
		err = notFound(c, name)
	}
	return found, err
}

// notFound returns a *NotFoundError with the subscriptions that the file has.
func notFound(c *database.Conn, name string) error {
	names, err := texts(c, "SELECT name FROM busgen_subscriptions ORDER BY id")
	return cmp.Or(err, error(&event.NotFoundError{Thing: "subscription", Name: name, Known: names}))
}

// texts returns the first column of a query.
func texts(c *database.Conn, sql string, args ...any) (all []string, err error) {
	err = c.Query(sql, func(s *sqlite3.Stmt) error {
		all = append(all, s.ColumnText(0))
		return nil
	}, args...)
	return all, err
}

// Pause implements [engine.SubscriptionSteerer].
func (i *Inspection) Pause(ctx context.Context, p engine.Pause) error {
	p.Actor = i.actor
	pause := func(c *database.Conn, subscription tables.KnownSubscription) error {
		p.Target = cmp.Or(subscription.Name, p.Target)
		if err := pauseDeliveries(c, p); err != nil || c.Changes() == 0 {
			return err
		}
		return auditPause(c, "pause", p)
	}
	if p.Kind == engine.PauseType {
		return i.changeAll(ctx, "pause in", "", pause)
	}
	return i.changeFor(ctx, "pause in", p.Target, pause)
}

// Resume implements [engine.SubscriptionSteerer].
func (i *Inspection) Resume(ctx context.Context, p engine.Pause) error {
	p.Actor = i.actor
	return i.change(ctx, "resume in", func(c *database.Conn) error {
		if err := resumeDeliveries(c, p); err != nil {
			return err
		}
		return auditPause(c, "resume", p)
	})
}

// keyDetail says in the audit that an action was for a key.
func keyDetail(key string) string {
	if key == "" {
		return ""
	}
	return "key " + key
}

func auditPause(c *database.Conn, action string, p engine.Pause) error {
	entry := event.AuditEntry{Actor: p.Actor, Action: action}
	if p.Kind == engine.PauseSubscription {
		entry.Subscription, entry.Detail = p.Target, keyDetail(p.Key)
	} else {
		entry.Detail = "events of type " + p.Target
	}
	if p.Reason != "" {
		entry.Detail = strings.TrimPrefix(entry.Detail+": "+p.Reason, ": ")
	}
	return tables.Audit(c, entry)
}

// RemoveConsumer implements [engine.Remover]. It takes present names
// only: somebody who removes a former name means something that is gone already, and
// would lose what goes by the new name.
func (i *Inspection) RemoveConsumer(ctx context.Context, name, actor string) (removed event.Removed, err error) {
	i.removing.Lock()
	defer i.removing.Unlock()
	path := ""
	err = i.look(ctx, "read", func(c *database.Conn) error {
		path = c.Path
		_, err := presentSubscription(c, name)
		return err
	})
	if err != nil {
		return removed, err
	}
	// Held until the end, so that nobody begins to dispatch meanwhile.
	lock, err := claims.Open(path, "")
	if err != nil {
		return removed, err
	}
	defer lock.Close()
	if err := lock.Own(); err != nil {
		return removed, i.ownError(ctx, path, err)
	}
	defer lock.Abandon()
	err = i.change(ctx, "remove a subscription from", func(c *database.Conn) error {
		id, err := presentSubscription(c, name)
		if err != nil {
			return err
		}
		if removed, err = removeConsumer(c, id, name); err != nil {
			return err
		}
		// Its number may be given again, but not with what a crash has left.
		if err := lock.Forget(id); err != nil {
			return err
		}
		return auditRemoval(c, actor, name, removed)
	})
	return removed, err
}

func auditRemoval(c *database.Conn, actor, name string, removed event.Removed) error {
	return tables.Audit(c, event.AuditEntry{
		Actor: actor, Action: "remove", Subscription: name, Count: removed.Open + removed.Dead,
		Detail: fmt.Sprintf("%d events to settle and %d dead letters", removed.Open, removed.Dead),
	})
}

// presentSubscription returns the id of the subscription that has the name now, or a
// *NotFoundError.
func presentSubscription(c *database.Conn, name string) (id int64, err error) {
	id, err = c.Int64("SELECT coalesce(max(id), 0) FROM busgen_subscriptions WHERE name = ?", name)
	if err == nil && id == 0 {
		err = notFound(c, name)
	}
	return id, err
}

// ownError says which process dispatches.
func (i *Inspection) ownError(ctx context.Context, path string, err error) error {
	if !errors.Is(err, locks.ErrOwned) {
		return fault.Wrap("lock", path+file.ClaimsSuffix, err)
	}
	owned := &event.OwnedError{Path: path}
	err = i.look(ctx, "read", func(c *database.Conn) error {
		owner, err := readOwner(c)
		owned.PID, owned.Since = owner.PID, owner.Since
		return err
	})
	return errors.Join(owned, err)
}

// removeConsumer forgets a subscription with all that is open for it. It is called in a transaction that writes: of the
// inspection, or of the writer.
func removeConsumer(c *database.Conn, id int64, name string) (removed event.Removed, err error) {
	lags, err := readLags(c, math.MaxInt, tables.StoredName, toTheEnd)
	if err != nil {
		return removed, err
	}
	for _, lag := range lags {
		if lag.Name == name {
			removed = event.Removed{Open: lag.Backlog, Dead: lag.Dead}
		}
	}
	for _, sql := range []string{
		"DELETE FROM busgen_routes WHERE subscription = ?1",
		"DELETE FROM busgen_deliveries WHERE subscription = ?1",
		"DELETE FROM busgen_express WHERE subscription = ?1",
		"DELETE FROM busgen_attempts WHERE subscription = ?1",
		"DELETE FROM busgen_outcomes WHERE subscription = ?1",
		"DELETE FROM busgen_steps WHERE subscription = ?1",
		"DELETE FROM busgen_crashes WHERE subscription = ?1",
		"DELETE FROM busgen_discarded WHERE subscription = ?1",
		"DELETE FROM busgen_cancelled WHERE subscription = ?1",
		"DELETE FROM busgen_waits WHERE subscription = ?1",
		"DELETE FROM busgen_audit_deliveries WHERE subscription = ?1",
		"DELETE FROM busgen_pauses WHERE kind = 'subscription' AND target = (SELECT name FROM busgen_subscriptions WHERE id = ?1)",
		"DELETE FROM busgen_former_names WHERE subscription = ?1",
		"DELETE FROM busgen_subscriptions WHERE id = ?1",
	} {
		if err := c.Exec(sql, id); err != nil {
			return removed, err
		}
	}
	return removed, nil
}
