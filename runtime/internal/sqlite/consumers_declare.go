package sqlite

import (
	"context"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

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
		found, err := knownConsumer(c, spec.Name)
		if err != nil {
			return nil, err
		}
		known, err := formerNamesKnown(c, spec, found)
		if err != nil {
			return nil, err
		}
		if !known || found.name != spec.Name || found.pattern != spec.Over(found.pattern) {
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
		found, err := knownConsumer(c, spec.Name)
		if err == nil {
			err = cs.shared(found.id, spec.Name)
		}
		if err != nil {
			return err // and nothing is written
		}
		if cs.owns.Load() { // nobody polls for it at the moment
			if err := endFormerRoutes(c, found.id); err != nil {
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
	found, err := nameConsumer(c, spec)
	switch {
	case err != nil:
		return err
	case found.id == 0:
		id, err := insertConsumer(c, spec)
		if err != nil {
			return err
		}
		return keepFormerNames(c, id, spec)
	}
	if err := keepFormerNames(c, found.id, spec); err != nil {
		return err
	}
	pattern := spec.Over(found.pattern)
	if err := c.Exec("UPDATE busgen_subscriptions SET pattern = ? WHERE id = ?", pattern, found.id); err != nil {
		return err
	}
	return declareRoutes(c, found.id, pattern)
}

// load takes the position from the file.
func (c *consumer) load(conn *database.Conn) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nextDue = 0 // ask the file
	return conn.Query(`
		SELECT id, cursor, redelivered, pattern, EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.subscription = s.id AND d.lane IS NOT NULL),
		  EXISTS (SELECT 1 FROM busgen_express x WHERE x.subscription = s.id)
		  OR EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.subscription = s.id AND d.due_at < 0 AND d.state <> 'dead')
		FROM busgen_subscriptions s WHERE id = `+subscriptionNamed, func(s *sqlite3.Stmt) error {
		c.id, c.cursor, c.redelivered, c.types.pattern = s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2), s.ColumnText(3)
		c.next = c.cursor + 1
		c.lanes.any.Store(s.ColumnBool(4))
		if s.ColumnBool(5) {
			c.express.look()
		}
		return nil
	}, c.name)
}
