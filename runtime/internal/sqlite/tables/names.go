package tables

import (
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// SubscriptionNamed is the id of a subscription by the name it has or had, for a
// parameter ?1 in SQL.
const SubscriptionNamed = `coalesce(
	(SELECT id FROM busgen_subscriptions WHERE name = ?1), (SELECT subscription FROM busgen_former_names WHERE name = ?1))`

// AllNames is a table of the names that subscriptions have and had.
const AllNames = "(SELECT id, name FROM busgen_subscriptions UNION ALL SELECT subscription, name FROM busgen_former_names)"

// KnownSubscription is a subscription of the file.
type KnownSubscription struct {
	ID      int64 // 0 if there is none
	Name    string
	Pattern string
}

// namesByID has the names of subscriptions and types that a list needs, each read once: a list has few of them, and to
// join their tables costs a look-up for each row.
type namesByID struct {
	subscriptions map[int64]string
	types         map[int64]versionedName
}

type versionedName struct {
	Name    string
	Version int
}

func NewNamesByID() namesByID { return namesByID{map[int64]string{}, map[int64]versionedName{}} }

func (n namesByID) Subscription(c *database.Conn, id int64) (string, error) {
	return once(n.subscriptions, id, func() (name string, err error) {
		err = c.Query("SELECT name FROM busgen_subscriptions WHERE id = ?", func(s *sqlite3.Stmt) error {
			name = s.ColumnText(0)
			return nil
		}, id)
		return name, err
	})
}

func (n namesByID) EventType(c *database.Conn, id int64) (versionedName, error) {
	return once(n.types, id, func() (v versionedName, err error) {
		err = c.Query("SELECT name, version FROM busgen_types WHERE id = ?", func(s *sqlite3.Stmt) error {
			v = versionedName{s.ColumnText(0), s.ColumnInt(1)}
			return nil
		}, id)
		return v, err
	})
}

// once returns what is known by an id, which it reads if it is not.
func once[T any](known map[int64]T, id int64, read func() (T, error)) (value T, err error) {
	value, ok := known[id]
	if !ok {
		value, err = read()
		known[id] = value
	}
	return value, err
}

// KnownConsumer returns the subscription that has a name, or had it before.
func KnownConsumer(c *database.Conn, name string) (found KnownSubscription, err error) {
	err = c.Query("SELECT id, name, pattern FROM busgen_subscriptions WHERE id = "+SubscriptionNamed, func(s *sqlite3.Stmt) error {
		found = KnownSubscription{s.ColumnInt64(0), s.ColumnText(1), s.ColumnText(2)}
		return nil
	}, name)
	return found, err
}

// formerConsumer finds the subscription that an alias of the spec stands for; its id
// is 0 if there is none besides the one that was found by the name.
func formerConsumer(c *database.Conn, spec engine.ConsumerSpec, found KnownSubscription) (former KnownSubscription, err error) {
	for _, alias := range spec.Aliases {
		other, err := KnownConsumer(c, alias)
		switch {
		case err != nil:
			return former, err
		case other.ID == 0 || other.ID == found.ID || other.ID == former.ID:
			continue
		case found.ID != 0 || former.ID != 0:
			return former, &event.AliasError{Name: spec.Name, Alias: alias}
		}
		former = other
	}
	return former, nil
}

// NameConsumer finds the subscription of a spec, and gives it the name it has now if
// it is known by a former one. Of one that is new the id is 0.
func NameConsumer(c *database.Conn, spec engine.ConsumerSpec) (found KnownSubscription, err error) {
	if found, err = KnownConsumer(c, spec.Name); err != nil {
		return found, err
	}
	former, err := formerConsumer(c, spec, found)
	if err != nil {
		return found, err
	}
	if found.ID == 0 {
		found = former
	}
	if found.ID == 0 || found.Name == spec.Name || len(spec.Aliases) == 0 {
		return found, nil // a program that knows a former name only uses the subscription as it is
	}
	was := found.Name
	found.Name = spec.Name
	return found, renameConsumer(c, found.ID, was, spec.Name)
}

// FormerNamesKnown tells whether there is nothing to write about the aliases of a spec.
func FormerNamesKnown(c *database.Conn, spec engine.ConsumerSpec, found KnownSubscription) (bool, error) {
	if _, err := formerConsumer(c, spec, found); err != nil {
		return false, err
	}
	for _, alias := range spec.Aliases {
		if former, err := KnownConsumer(c, alias); err != nil || former.ID == 0 {
			return false, err
		}
	}
	return true, nil
}

// KeepFormerNames notes aliases that the file has never seen: a program of before, or
// its exported dead letters, may come with them.
func KeepFormerNames(c *database.Conn, id int64, spec engine.ConsumerSpec) error {
	for _, alias := range spec.Aliases {
		former, err := KnownConsumer(c, alias)
		if err == nil && former.ID == 0 {
			err = c.Exec("INSERT INTO busgen_former_names (name, subscription) VALUES (?, ?)", alias, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func renameConsumer(c *database.Conn, id int64, from, to string) error {
	for _, change := range []struct {
		sql  string
		args []any
	}{
		{"DELETE FROM busgen_former_names WHERE name = ?", []any{to}},
		{"INSERT INTO busgen_former_names (name, subscription) VALUES (?, ?)", []any{from, id}},
		{"UPDATE busgen_subscriptions SET name = ? WHERE id = ?", []any{to, id}},
		{"UPDATE OR REPLACE busgen_pauses SET target = ? WHERE kind = 'subscription' AND target = ?", []any{to, from}},
	} {
		if err := c.Exec(change.sql, change.args...); err != nil {
			return err
		}
	}
	return Audit(c, event.AuditEntry{Actor: "busgen", Action: "rename", Subscription: to, Count: 1, Detail: "it was " + from + " before"})
}

// InsertConsumer adds a subscription, and returns its id.
func InsertConsumer(c *database.Conn, spec engine.ConsumerSpec) (id int64, err error) {
	start := int64(0)
	if !spec.FromBeginning {
		if start, err = c.Int64("SELECT max(seq) FROM busgen_log"); err != nil {
			return 0, err
		}
	}
	err = c.Exec("INSERT INTO busgen_subscriptions (name, pattern, start, cursor, created_at) VALUES (?, ?, ?, ?, ?)",
		spec.Name, spec.Pattern, start, start, time.Now())
	if err != nil {
		return 0, err
	}
	id = c.LastInsertRowID()
	if err := DeclareRoutes(c, id, spec.Pattern); err != nil {
		return 0, err
	}
	// Delayed events are on nobody's way, not even when their time has passed.
	// Those with an origin are for another subscription.
	return id, c.Exec(`
		INSERT INTO busgen_deliveries (subscription, seq, state, failures, due_at)
		SELECT ?1, l.seq, 'waiting', 0, l.due_at
		FROM busgen_log l JOIN busgen_routes r ON r.subscription = ?1 AND r.type = l.type
		WHERE l.due_at IS NOT NULL AND l.seq > ?2 AND l.seq NOT IN (SELECT seq FROM busgen_origins)`, id, start)
}

// StoredName is the name in the file, for those who have none of their own.
func StoredName(_ int64, stored string) string { return stored }

// Audit writes what was done, in the transaction that does it.
func Audit(c *database.Conn, e event.AuditEntry) error {
	var event any
	if e.EventID != uuid.Nil {
		event = e.EventID[:]
	}
	return c.Exec("INSERT INTO busgen_audit (at, actor, action, event, subscription, count, detail) VALUES (?, ?, ?, ?, ?, ?, ?)",
		time.Now(), e.Actor, e.Action, event, Text(e.Subscription), e.Count, Text(e.Detail))
}
