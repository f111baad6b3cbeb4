package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
)

// Pause implements [engine.SubscriptionSteerer].
func (i *Inspection) Pause(ctx context.Context, p engine.Pause) error {
	p.Actor = i.actor
	pause := func(c *database.Conn, subscription knownSubscription) error {
		p.Target = cmp.Or(subscription.name, p.Target)
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

func auditPause(c *database.Conn, action string, p engine.Pause) error {
	entry := event.AuditEntry{Actor: p.Actor, Action: action}
	if p.Kind == engine.PauseSubscription {
		entry.Subscription = p.Target
	} else {
		entry.Detail = "events of type " + p.Target
	}
	if p.Reason != "" {
		entry.Detail = strings.TrimPrefix(entry.Detail+": "+p.Reason, ": ")
	}
	return audit(c, entry)
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
	return audit(c, event.AuditEntry{
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

func removeConsumer(c *database.Conn, id int64, name string) (removed event.Removed, err error) {
	lags, err := readLags(c, math.MaxInt, storedName, toTheEnd)
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
		"DELETE FROM busgen_attempts WHERE subscription = ?1",
		"DELETE FROM busgen_outcomes WHERE subscription = ?1",
		"DELETE FROM busgen_crashes WHERE subscription = ?1",
		"DELETE FROM busgen_discarded WHERE subscription = ?1",
		"DELETE FROM busgen_cancelled WHERE subscription = ?1",
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
