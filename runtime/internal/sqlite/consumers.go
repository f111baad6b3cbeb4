package sqlite

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// consumers are those of this process, by which it dispatches.
type consumers struct {
	*ground
	writer *writer
	awaits *awaits

	mu   sync.Mutex
	list []*consumer // never changed, only replaced

	undone int64 // the last entry of the audit that readUndone has seen; guarded by the writer's turn
}

// add takes a consumer in, in place of an earlier one of the same name, whose
// places in the claims file it inherits.
func (cs *consumers) add(c *consumer) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	consumers := make([]*consumer, 0, len(cs.list)+1)
	for _, other := range cs.list {
		if other.name == c.name {
			other.stop()
			c.workers = other.yield()
			continue
		}
		consumers = append(consumers, other)
	}
	c.stepsEnd = cs.steps.highest.Load() // after the earlier one was told that it is over
	cs.list = append(consumers, c)
}

// all returns the consumers; the slice is never changed.
func (cs *consumers) all() []*consumer {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.list
}

// nameOf is what this process calls a subscription, which another one may know under
// a newer name.
func (cs *consumers) nameOf(id int64, stored string) string {
	for _, c := range cs.all() {
		if c.id == id {
			return c.name
		}
	}
	return stored
}

// shared returns an error if a subscription that this process has under another name is
// to have this one, too.
func (cs *consumers) shared(id int64, name string) error {
	for _, other := range cs.all() {
		if other.id == id && other.name != name {
			return &event.AliasError{Name: name, Alias: other.name, Shared: true}
		}
	}
	return nil
}

// flushFormer writes what a consumer in whose place another one comes has to be written. It may have been let go while
// another process held the lock, and its successor reads from the file what is settled.
func (cs *consumers) flushFormer(ctx context.Context, name string) error {
	for _, other := range cs.all() {
		if other.name == name {
			cs.writer.hasten()
			if err := cs.writer.do(ctx, nil); !errors.Is(err, engine.ErrInTx) { // else it would wait for itself
				return err
			}
		}
	}
	return nil
}

// Flush implements [engine.Log].
func (cs *consumers) Flush(ctx context.Context) error {
	cs.writer.hasten()
	err := cs.writer.do(ctx, nil) // in the same transaction
	return fault.Wrap("write", cs.path, err)
}

// LetGo implements [engine.Dispatcher]. The other processes have to wait for the whole log.
func (cs *consumers) LetGo(ctx context.Context, _ engine.Consumer) error { return cs.Flush(ctx) }

// appended wakes the consumers that have something new to poll. It runs on
// the writer's goroutine.
func (cs *consumers) appended(events []logged) {
	if len(events) == 0 {
		return
	}
	if cs.arrivals.any() {
		cs.arrivals.all()
	}
	all := cs.all()
	due := cs.delayedFor(events, len(all))
	cs.expressed(events, all)
	for _, c := range all {
		at, delayed := due[c.id]
		if !delayed {
			at = never
		}
		c.call(at)
	}
}

// delayedFor returns when the first of the delayed events is due, by the subscriptions that have
// a delivery of one. If it cannot be known, these are all of the consumers.
func (cs *consumers) delayedFor(events []logged, consumers int) (due map[int64]int64) {
	var byType map[int64]int64
	for i := range events {
		if e := &events[i]; !e.Due.IsZero() {
			if byType == nil {
				byType, due = map[int64]int64{}, make(map[int64]int64, consumers)
			}
			at, known := byType[e.typeID]
			if !known {
				at = never
			}
			byType[e.typeID] = min(at, e.Due.UnixMicro())
		}
	}
	note := func(subscription, at int64) {
		if before, known := due[subscription]; !known || at < before {
			due[subscription] = at
		}
	}
	for typeID, at := range byType {
		err := cs.writer.conn.Query("SELECT subscription FROM busgen_routes WHERE type = ?", func(s *sqlite3.Stmt) error {
			note(s.ColumnInt64(0), at)
			return nil
		}, typeID)
		if err != nil {
			for _, c := range cs.all() {
				note(c.id, at)
			}
		}
	}
	return due
}

// recheck makes all of them ask the file for retries.
func (cs *consumers) recheck() {
	for _, c := range cs.all() {
		c.recheck()
	}
}

// end ends the consumer of a name: it hands out and writes nothing any more.
func (cs *consumers) end(name string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.list = slices.DeleteFunc(slices.Clone(cs.list), func(c *consumer) bool {
		if c.name == name {
			c.end()
			c.yield()
		}
		return c.name == name
	})
}

// endAll ends all consumers, and drops what was to be written for them.
func (cs *consumers) endAll() {
	cs.mu.Lock()
	consumers := cs.list
	cs.list = nil
	cs.mu.Unlock()
	for _, c := range consumers {
		c.end()
	}
	cs.writer.forgetClients()
}

// RemoveConsumer implements [engine.Remover].
func (l *Log) RemoveConsumer(ctx context.Context, name, actor string) (removed event.Removed, err error) {
	if !l.owns.Load() {
		return l.removeUnowned(ctx, name, actor)
	}
	err = l.writer.doSynced(ctx, func(c *database.Conn) error {
		id, err := presentSubscription(c, name)
		if err != nil {
			return err
		}
		if removed, err = removeConsumer(c, id, name); err != nil {
			return err
		}
		// Its number may be given again.
		l.consumers.end(name)
		if err := l.claims.Forget(id); err != nil {
			return err
		}
		return auditRemoval(c, actor, name, removed)
	})
	if err == nil {
		l.waiters.all()
		err = l.pauses.refresh()
	}
	var missing *event.NotFoundError
	if errors.As(err, &missing) {
		return removed, missing
	}
	return removed, fault.Wrap("remove a subscription from", l.path, err)
}

// removeUnowned removes as an operator's tool does, which keeps others from beginning to
// dispatch meanwhile.
func (l *Log) removeUnowned(ctx context.Context, name, actor string) (removed event.Removed, err error) {
	inspection, err := Engine{}.Inspect(ctx, l.path, actor)
	if err != nil {
		return removed, err
	}
	removed, err = inspection.RemoveConsumer(ctx, name, actor)
	if err == nil {
		l.consumers.end(name)
	}
	return removed, errors.Join(err, inspection.Close())
}

// Consumer implements [engine.Log].
func (cs *consumers) Consumer(ctx context.Context, spec engine.ConsumerSpec) (engine.Consumer, error) {
	c := &consumer{
		ground: cs.ground, writer: cs.writer, name: spec.Name, strict: spec.Strict, types: typeMatcher{ground: cs.ground},
		wake: func() {}, rows: map[int64]*delivery{}, nextDue: never,
	}
	err := cs.flushFormer(ctx, spec.Name)
	if err == nil {
		err = cs.declare(ctx, nil, []engine.ConsumerSpec{spec})
	}
	if err == nil {
		err = cs.read(c.load)
	}
	if err == nil {
		err = cs.shared(c.id, c.name)
	}
	if err == nil {
		err = cs.ordered(ctx, c)
	}
	if err != nil {
		return nil, fault.Wrap("subscribe in", cs.path, err)
	}
	cs.add(c)
	if err := cs.markNew(ctx, c); err != nil {
		return nil, fault.Wrap("subscribe in", cs.path, err)
	}
	return c, nil
}

// missingConsumers returns those that are not in the file as they should be.
func missingConsumers(c *database.Conn, specs []engine.ConsumerSpec) (missing []engine.ConsumerSpec, err error) {
	for _, spec := range specs {
		found, err := tables.KnownConsumer(c, spec.Name)
		if err != nil {
			return nil, err
		}
		known, err := tables.FormerNamesKnown(c, spec, found)
		if err != nil {
			return nil, err
		}
		if !known || found.Name != spec.Name || found.Pattern != spec.Over(found.Pattern) {
			missing = append(missing, spec)
		}
	}
	return missing, nil
}

// declareConsumers adds those of the specs that are missing, or changes them.
func (cs *consumers) declareConsumers(c *database.Conn, specs, missing []engine.ConsumerSpec) error {
	if len(missing) == 0 {
		return nil
	}
	if err := freeNames(c, specs, cs.all()); err != nil {
		return err
	}
	for _, spec := range missing {
		if err := declareConsumer(c, spec); err != nil {
			return err
		}
		found, err := tables.KnownConsumer(c, spec.Name)
		if err == nil {
			err = cs.shared(found.ID, spec.Name)
		}
		if err != nil {
			return err // and nothing is written
		}
		if cs.owns.Load() { // nobody polls for it at the moment
			if err := tables.EndFormerRoutes(c, found.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// declareConsumer adds a subscription, or gives one that is known its name and its
// pattern.
func declareConsumer(c *database.Conn, spec engine.ConsumerSpec) error {
	if engine.IsOwn(spec.Pattern) {
		if _, err := declareType(c, typenames.Key{Name: spec.Pattern, Version: 1}); err != nil {
			return err
		}
	}
	found, err := tables.NameConsumer(c, spec)
	switch {
	case err != nil:
		return err
	case found.ID == 0:
		id, err := tables.InsertConsumer(c, spec)
		if err != nil {
			return err
		}
		return tables.KeepFormerNames(c, id, spec)
	}
	if err := tables.KeepFormerNames(c, found.ID, spec); err != nil {
		return err
	}
	pattern := spec.Over(found.Pattern)
	if err := c.Exec("UPDATE busgen_subscriptions SET pattern = ? WHERE id = ?", pattern, found.ID); err != nil {
		return err
	}
	return tables.DeclareRoutes(c, found.ID, pattern)
}

// load takes the position from the file.
func (c *consumer) load(conn *database.Conn) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nextDue = 0 // ask the file
	return conn.Query(`
		SELECT id, cursor, redelivered, pattern, EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.subscription = s.id AND d.waitlist IS NOT NULL),
		  EXISTS (SELECT 1 FROM busgen_express x WHERE x.subscription = s.id)
		  OR EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.subscription = s.id AND d.due_at < 0 AND d.state <> 'dead')
		FROM busgen_subscriptions s WHERE id = `+tables.SubscriptionNamed, func(s *sqlite3.Stmt) error {
		c.id, c.cursor, c.redelivered, c.types.pattern = s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2), s.ColumnText(3)
		c.next = c.cursor + 1
		c.waitlists.any.Store(s.ColumnBool(4))
		if s.ColumnBool(5) {
			c.express.look()
		}
		return nil
	}, c.name)
}

// freeNames takes former names away from subscriptions whose present name is wanted
// at the same time: what has the former name now is something else.
func freeNames(c *database.Conn, specs []engine.ConsumerSpec, inUse []*consumer) error {
	wanted := map[string]bool{}
	for _, spec := range specs {
		wanted[spec.Name] = true
	}
	for _, one := range inUse {
		wanted[one.name] = true
	}
	for _, spec := range specs {
		found, err := tables.KnownConsumer(c, spec.Name)
		if err != nil {
			return err
		}
		if found.Name != spec.Name && wanted[found.Name] {
			if err := c.Exec("DELETE FROM busgen_former_names WHERE name = ?", spec.Name); err != nil {
				return err
			}
		}
	}
	return nil
}
