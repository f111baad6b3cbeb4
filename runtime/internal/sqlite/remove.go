package sqlite

import (
	"context"
	"errors"
	"slices"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// RemoveConsumer implements [engine.Remover].
func (l *Log) RemoveConsumer(ctx context.Context, name, actor string) (removed event.Removed, err error) {
	if !l.writer.owns.Load() {
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
		l.end(name)
		if err := l.claims.Forget(id); err != nil {
			return err
		}
		return auditRemoval(c, actor, name, removed)
	})
	if err == nil {
		l.waiters.all()
		err = l.refreshPauses()
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
		l.end(name)
	}
	return removed, errors.Join(err, inspection.Close())
}

// end ends the consumer of a name: it hands out and writes nothing any more.
func (l *Log) end(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.consumers = slices.DeleteFunc(slices.Clone(l.consumers), func(c *consumer) bool {
		if c.name == name {
			c.end()
			c.yield()
		}
		return c.name == name
	})
}
