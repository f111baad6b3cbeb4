package sqlite

import (
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// subscriptionNamed is the id of a subscription by the name it has or had, for a
// parameter ?1 in SQL.
const subscriptionNamed = `coalesce(
	(SELECT id FROM busgen_subscriptions WHERE name = ?1), (SELECT subscription FROM busgen_former_names WHERE name = ?1))`

// allNames is a table of the names that subscriptions have and had.
const allNames = "(SELECT id, name FROM busgen_subscriptions UNION ALL SELECT subscription, name FROM busgen_former_names)"

// knownSubscription is a subscription of the file.
type knownSubscription struct {
	id      int64 // 0 if there is none
	name    string
	pattern string
}

// namesByID has the names of subscriptions and types that a list needs, each read once: a list has few of them, and to
// join their tables costs a look-up for each row.
type namesByID struct {
	subscriptions map[int64]string
	types         map[int64]versionedName
}

type versionedName struct {
	name    string
	version int
}

func newNamesByID() namesByID { return namesByID{map[int64]string{}, map[int64]versionedName{}} }

func (n namesByID) subscription(c *database.Conn, id int64) (string, error) {
	return once(n.subscriptions, id, func() (name string, err error) {
		err = c.Query("SELECT name FROM busgen_subscriptions WHERE id = ?", func(s *sqlite3.Stmt) error {
			name = s.ColumnText(0)
			return nil
		}, id)
		return name, err
	})
}

func (n namesByID) eventType(c *database.Conn, id int64) (versionedName, error) {
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

// knownConsumer returns the subscription that has a name, or had it before.
func knownConsumer(c *database.Conn, name string) (found knownSubscription, err error) {
	err = c.Query("SELECT id, name, pattern FROM busgen_subscriptions WHERE id = "+subscriptionNamed, func(s *sqlite3.Stmt) error {
		found = knownSubscription{s.ColumnInt64(0), s.ColumnText(1), s.ColumnText(2)}
		return nil
	}, name)
	return found, err
}

// formerConsumer finds the subscription that an alias of the spec stands for; its id
// is 0 if there is none besides the one that was found by the name.
func formerConsumer(c *database.Conn, spec engine.ConsumerSpec, found knownSubscription) (former knownSubscription, err error) {
	for _, alias := range spec.Aliases {
		other, err := knownConsumer(c, alias)
		switch {
		case err != nil:
			return former, err
		case other.id == 0 || other.id == found.id || other.id == former.id:
			continue
		case found.id != 0 || former.id != 0:
			return former, &event.AliasError{Name: spec.Name, Alias: alias}
		}
		former = other
	}
	return former, nil
}

// nameConsumer finds the subscription of a spec, and gives it the name it has now if
// it is known by a former one. Of one that is new the id is 0.
func nameConsumer(c *database.Conn, spec engine.ConsumerSpec) (found knownSubscription, err error) {
	if found, err = knownConsumer(c, spec.Name); err != nil {
		return found, err
	}
	former, err := formerConsumer(c, spec, found)
	if err != nil {
		return found, err
	}
	if found.id == 0 {
		found = former
	}
	if found.id == 0 || found.name == spec.Name || len(spec.Aliases) == 0 {
		return found, nil // a program that knows a former name only uses the subscription as it is
	}
	was := found.name
	found.name = spec.Name
	return found, renameConsumer(c, found.id, was, spec.Name)
}

// formerNamesKnown tells whether there is nothing to write about the aliases of a spec.
func formerNamesKnown(c *database.Conn, spec engine.ConsumerSpec, found knownSubscription) (bool, error) {
	if _, err := formerConsumer(c, spec, found); err != nil {
		return false, err
	}
	for _, alias := range spec.Aliases {
		if former, err := knownConsumer(c, alias); err != nil || former.id == 0 {
			return false, err
		}
	}
	return true, nil
}

// keepFormerNames notes aliases that the file has never seen: a program of before, or
// its exported dead letters, may come with them.
func keepFormerNames(c *database.Conn, id int64, spec engine.ConsumerSpec) error {
	for _, alias := range spec.Aliases {
		former, err := knownConsumer(c, alias)
		if err == nil && former.id == 0 {
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
	return audit(c, event.AuditEntry{Actor: "busgen", Action: "rename", Subscription: to, Count: 1, Detail: "it was " + from + " before"})
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
		found, err := knownConsumer(c, spec.Name)
		if err != nil {
			return err
		}
		if found.name != spec.Name && wanted[found.name] {
			if err := c.Exec("DELETE FROM busgen_former_names WHERE name = ?", spec.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// insertConsumer adds a subscription, and returns its id.
func insertConsumer(c *database.Conn, spec engine.ConsumerSpec) (id int64, err error) {
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
	if err := declareRoutes(c, id, spec.Pattern); err != nil {
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

// storedName is the name in the file, for those who have none of their own.
func storedName(_ int64, stored string) string { return stored }
