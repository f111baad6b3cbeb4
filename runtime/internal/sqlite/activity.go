package sqlite

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// activity is what the log knows of the tables in which the dispatching process
// shows what it does.
type activity struct {
	*ground
	writer *writer

	mu    sync.Mutex
	shown bool // there may be rows
	asked func([]engine.BreakerRequest)
}

// Show implements [engine.Log].
func (a *activity) Show(ctx context.Context, now engine.Activity, answered []engine.BreakerRequest) error {
	a.mu.Lock()
	a.shown = true
	a.mu.Unlock()
	return fault.Wrap("write", a.path, a.writer.do(ctx, func(c *database.Conn) error {
		if err := writeActivity(c, now); err != nil {
			return err
		}
		for _, r := range answered {
			err := c.Exec("DELETE FROM busgen_breaker_requests WHERE subscription = ? AND key = ? AND at = ?", r.Subscription, r.Key, r.At)
			if err != nil {
				return err
			}
			if c.Changes() == 0 {
				continue // it was taken back
			}
			if err := tables.Audit(c, event.AuditEntry{Actor: r.Actor, Action: "close breaker", Subscription: r.Subscription, Count: 1, Detail: keyDetail(r.Key)}); err != nil {
				return err
			}
		}
		return nil
	}))
}

func writeActivity(c *database.Conn, a engine.Activity) error {
	if err := c.Exec("DELETE FROM busgen_breakers"); err != nil {
		return err
	}
	for _, b := range a.Breakers {
		var until any
		if !b.Until.IsZero() {
			until = b.Until
		}
		err := c.Exec(`INSERT INTO busgen_breakers (subscription, key, member_of, state, since, until, failures, deliveries, last_error, more) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			b.Subscription, b.Key, tables.Text(b.Group), b.State, b.Since, until, b.Failures, b.Deliveries, b.LastError, b.More)
		if err != nil {
			return err
		}
	}
	if err := c.Exec("DELETE FROM busgen_running"); err != nil {
		return err
	}
	for _, r := range a.Attempts {
		var limits []byte
		if r.Limits != nil {
			limits, _ = json.Marshal(r.Limits)
		}
		err := c.Exec(`INSERT INTO busgen_running (subscription, member_of, worker, event, type, attempt, started, deadline, abandoned, limits) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			r.Subscription, tables.Text(r.Group), r.Worker, r.Event[:], r.Type, r.Attempt, r.Started, r.Deadline, r.Abandoned, tables.Text(string(limits)))
		if err != nil {
			return err
		}
	}
	if err := c.Exec("DELETE FROM busgen_unhandled"); err != nil {
		return err
	}
	if err := c.Exec("DELETE FROM busgen_saturated"); err != nil {
		return err
	}
	for _, name := range a.Saturated {
		if err := c.Exec("INSERT INTO busgen_saturated (subscription) VALUES (?)", name); err != nil {
			return err
		}
	}
	for _, name := range a.Unhandled {
		if err := c.Exec("INSERT INTO busgen_unhandled (subscription) VALUES (?)", name); err != nil {
			return err
		}
	}
	return nil
}

// clearActivity removes what a process has said of itself that has ended.
func clearActivity(c *database.Conn) error {
	if err := c.Exec("DELETE FROM busgen_breaker_requests"); err != nil {
		return err
	}
	return writeActivity(c, engine.Activity{})
}

// hide clears what was shown, if it can: nobody believes it once the process has
// ended.
func (a *activity) hide(ctx context.Context) {
	a.mu.Lock()
	shown := a.shown
	a.mu.Unlock()
	if shown {
		a.writer.do(ctx, clearActivity)
	}
}

// WatchRequests implements [engine.Log].
func (a *activity) WatchRequests(f func([]engine.BreakerRequest)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = f
}

// tellRequests hands over what operators have asked for.
func (a *activity) tellRequests(c *database.Conn) error {
	a.mu.Lock()
	asked := a.asked
	a.mu.Unlock()
	if asked == nil {
		return nil
	}
	var requests []engine.BreakerRequest
	err := c.Query("SELECT subscription, key, actor, at FROM busgen_breaker_requests", func(s *sqlite3.Stmt) error {
		requests = append(requests, engine.BreakerRequest{Subscription: s.ColumnText(0), Key: s.ColumnText(1), Actor: s.ColumnText(2), At: database.Time(s, 3)})
		return nil
	})
	if err == nil && len(requests) > 0 {
		asked(requests)
	}
	return err
}

// Activity implements [engine.StatusReader].
func (i *Inspection) Activity(ctx context.Context) (activity engine.Activity, owner event.Owner, err error) {
	err = i.look(ctx, "read", func(c *database.Conn) error {
		if activity, owner, err = currentActivity(c); err == nil {
			activity.Waitlists, err = readWaitlists(c)
		}
		return err
	})
	return activity, owner, err
}

// currentActivity returns what the dispatching process says of itself. What a
// process has left that is dead does not count.
func currentActivity(c *database.Conn) (activity engine.Activity, owner event.Owner, err error) {
	if owner, err = readOwner(c); err != nil {
		return activity, owner, err
	}
	if owner.Alive, err = locks.IsOwned(c.Path); err != nil || !owner.Alive {
		return activity, owner, err
	}
	activity, err = readActivity(c)
	return activity, owner, err
}

func readActivity(c *database.Conn) (a engine.Activity, err error) {
	err = c.Query("SELECT subscription, member_of, state, since, until, failures, deliveries, last_error, key, more FROM busgen_breakers ORDER BY since, subscription, key",
		func(s *sqlite3.Stmt) error {
			b := event.Breaker{
				Subscription: s.ColumnText(0), Group: s.ColumnText(1), State: s.ColumnText(2), Since: database.Time(s, 3),
				Failures: s.ColumnInt(5), Deliveries: s.ColumnInt(6), LastError: s.ColumnText(7),
				Key: s.ColumnText(8), More: s.ColumnInt(9),
			}
			if s.ColumnType(4) != sqlite3.NULL {
				b.Until = database.Time(s, 4)
			}
			a.Breakers = append(a.Breakers, b)
			return nil
		})
	if err != nil {
		return a, err
	}
	err = c.Query("SELECT subscription, member_of, worker, event, type, attempt, started, deadline, abandoned, limits FROM busgen_running ORDER BY started, subscription, worker",
		func(s *sqlite3.Stmt) error {
			r := event.Running{
				Subscription: s.ColumnText(0), Group: s.ColumnText(1), Worker: s.ColumnInt(2), Event: database.UUID(s, 3), Type: s.ColumnText(4),
				Attempt: s.ColumnInt(5), Started: database.Time(s, 6), Deadline: database.Time(s, 7), Abandoned: s.ColumnBool(8),
			}
			if limits := s.ColumnText(9); limits != "" {
				if err := json.Unmarshal([]byte(limits), &r.Limits); err != nil {
					return err
				}
			}
			a.Attempts = append(a.Attempts, r)
			return nil
		})
	if err != nil {
		return a, err
	}
	if a.Unhandled, err = texts(c, "SELECT subscription FROM busgen_unhandled ORDER BY subscription"); err != nil {
		return a, err
	}
	a.Saturated, err = texts(c, "SELECT subscription FROM busgen_saturated ORDER BY subscription")
	return a, err
}

// RequestBreaker implements [engine.SubscriptionSteerer].
func (i *Inspection) RequestBreaker(ctx context.Context, subscription, key string) (r engine.BreakerRequest, err error) {
	r = engine.BreakerRequest{Subscription: subscription, Key: key, Actor: i.actor, At: time.Now().Truncate(time.Microsecond)}
	return r, i.change(ctx, "close a circuit breaker in", func(c *database.Conn) error {
		return c.Exec("INSERT OR REPLACE INTO busgen_breaker_requests (subscription, key, actor, at) VALUES (?, ?, ?, ?)", r.Subscription, r.Key, r.Actor, r.At)
	})
}

// BreakerAnswered implements [engine.SubscriptionSteerer].
func (i *Inspection) BreakerAnswered(ctx context.Context, r engine.BreakerRequest, withdraw bool) (answered bool, err error) {
	if withdraw {
		err = i.change(ctx, "close a circuit breaker in", func(c *database.Conn) error {
			err := c.Exec("DELETE FROM busgen_breaker_requests WHERE subscription = ? AND key = ? AND at = ?", r.Subscription, r.Key, r.At)
			answered = c.Changes() == 0
			return err
		})
		return answered, err
	}
	err = i.look(ctx, "read", func(c *database.Conn) error {
		waiting, err := c.Int64("SELECT EXISTS (SELECT 1 FROM busgen_breaker_requests WHERE subscription = ? AND key = ? AND at = ?)", r.Subscription, r.Key, r.At)
		answered = err == nil && waiting == 0
		return err
	})
	return answered, err
}
