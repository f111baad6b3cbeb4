package sqlite

import (
	"context"
	"errors"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// RemoveConsumer implements [engine.Remover].
func (l *Log) RemoveConsumer(ctx context.Context, name, actor string) (removed engine.Removed, err error) {
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
	var missing *engine.NotFoundError
	if errors.As(err, &missing) {
		return removed, missing
	}
	return removed, fault.Wrap("remove a subscription from", l.path, err)
}

// removeUnowned removes as an operator's tool does, which keeps others from beginning to
// dispatch meanwhile.
func (l *Log) removeUnowned(ctx context.Context, name, actor string) (removed engine.Removed, err error) {
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
