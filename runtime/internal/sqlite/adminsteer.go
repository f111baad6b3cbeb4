package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Pause stores a pause, and reports false when it was there before.
func (a *Admin) Pause(ctx context.Context, p engine.Pause, actor string) (paused bool, err error) {
	p.Actor = actor
	err = a.change(ctx, "pause in", func(c *conn) error {
		if err := pauseDeliveries(c, p); err != nil {
			return err
		}
		if paused = c.Changes() > 0; !paused {
			return nil
		}
		return auditPause(c, "pause", p, actor)
	})
	return paused, err
}

// Resume undoes Pause, and reports false when there was no such pause.
func (a *Admin) Resume(ctx context.Context, p engine.Pause, actor string) (resumed bool, err error) {
	err = a.change(ctx, "resume in", func(c *conn) error {
		if resumed, err = resumeDeliveries(c, p); err != nil || !resumed {
			return err
		}
		return auditPause(c, "resume", p, actor)
	})
	return resumed, err
}

func auditPause(c *conn, action string, p engine.Pause, actor string) error {
	entry := AuditEntry{Actor: actor, Action: action}
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

// Removed counts what a subscription has left behind.
type Removed struct {
	Open int // events it had yet to settle
	Dead int // dead letters
}

// Remove forgets a subscription and all that is kept for it. It reports false
// when there is none of the name. While a process dispatches from the file the
// error is an *engine.OwnedError.
func (a *Admin) Remove(ctx context.Context, name, actor string) (removed Removed, found bool, err error) {
	// Held until the end, so that nobody begins to dispatch meanwhile.
	lock, err := newClaims(a.conn.path, "")
	if err != nil {
		return removed, false, err
	}
	defer lock.shut()
	if err := lock.own(); err != nil {
		return removed, false, a.ownError(ctx, err)
	}
	defer lock.abandon()
	err = a.change(ctx, "remove a subscription from", func(c *conn) error {
		known, err := knownConsumer(c, name)
		if err != nil || known.name != name {
			return err
		}
		found = true
		if removed, err = removeConsumer(c, known.id, name); err != nil {
			return err
		}
		// Its number may be given again, but not with what a crash has left.
		if err := lock.forget(known.id); err != nil {
			return err
		}
		return audit(c, AuditEntry{
			Actor: actor, Action: "remove", Subscription: name, Count: removed.Open + removed.Dead,
			Detail: fmt.Sprintf("%d events to settle and %d dead letters", removed.Open, removed.Dead),
		})
	})
	return removed, found, err
}

// ownError says who dispatches.
func (a *Admin) ownError(ctx context.Context, err error) error {
	if !errors.Is(err, errOwned) {
		return storageError("lock", a.conn.path+claimsSuffix, err)
	}
	owned := &engine.OwnedError{Path: a.conn.path}
	err = a.look(ctx, "read", func(c *conn) error {
		owner, err := readOwner(c)
		owned.PID, owned.Since = owner.PID, owner.Since
		return err
	})
	return errors.Join(owned, err)
}

func removeConsumer(c *conn, id int64, name string) (removed Removed, err error) {
	lags, err := readLags(c, never, storedName)
	if err != nil {
		return removed, err
	}
	for _, lag := range lags {
		if lag.Name == name {
			removed = Removed{Open: lag.Backlog, Dead: lag.Dead}
		}
	}
	for _, sql := range []string{
		"DELETE FROM routes WHERE subscription = ?1",
		"DELETE FROM deliveries WHERE subscription = ?1",
		"DELETE FROM attempts WHERE subscription = ?1",
		"DELETE FROM outcomes WHERE subscription = ?1",
		"DELETE FROM crashes WHERE subscription = ?1",
		"DELETE FROM discarded WHERE subscription = ?1",
		"DELETE FROM cancelled WHERE subscription = ?1",
		"DELETE FROM audit_deliveries WHERE subscription = ?1",
		"DELETE FROM pauses WHERE kind = 'subscription' AND target = (SELECT name FROM subscriptions WHERE id = ?1)",
		"DELETE FROM former_names WHERE subscription = ?1",
		"DELETE FROM subscriptions WHERE id = ?1",
	} {
		if err := c.exec(sql, id); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// forget erases what the last owner has left about a subscription.
func (c *claims) forget(subscription int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	content, err := io.ReadAll(c.file)
	if err != nil {
		return err
	}
	for at := 0; at+claimSize <= len(content); at += claimSize {
		one, ok := decodeClaim(content[at : at+claimSize])
		if !ok || one.subscription != subscription {
			continue
		}
		if _, err := c.file.WriteAt(make([]byte, claimSize), int64(at)); err != nil {
			return err
		}
	}
	return nil
}
