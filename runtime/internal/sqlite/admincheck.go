package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Inconsistency is something in the file that must not be.
type Inconsistency struct {
	Rule    string
	Count   int
	Samples []string // a few of them
}

// The rules that a file keeps.
const (
	RuleIntegrity = "integrity" // the pages and indexes are sound
	RuleReference = "reference" // no row points to one that is missing
	RuleCursor    = "cursor"    // no cursor stands beyond the log
	RuleAbove     = "above"     // no delivery above a cursor has a row, except those of delayed events
	RuleState     = "state"     // what waits has a due time, what is dead has a time and a reason
	RuleRoute     = "route"     // the routes are those of the patterns
)

// checkSamples is how many samples of an inconsistency are kept.
const checkSamples = 5

// checks are queries for what must not be. Each row is one, in words.
var checks = []struct{ rule, sql string }{
	{RuleReference, `
		SELECT 'event at position ' || seq || ': type ' || type || ' is missing' FROM log WHERE type NOT IN (SELECT id FROM types)`},
	{RuleReference, `
		SELECT 'delivery: subscription ' || subscription || ', event at position ' || seq FROM deliveries
		WHERE seq NOT IN (SELECT seq FROM log) OR subscription NOT IN (SELECT id FROM subscriptions)`},
	{RuleReference, `
		SELECT 'attempt ' || n || ': subscription ' || subscription || ', event at position ' || seq FROM attempts
		WHERE seq NOT IN (SELECT seq FROM log) OR subscription NOT IN (SELECT id FROM subscriptions)`},
	{RuleReference, `
		SELECT 'outcome: subscription ' || subscription || ', event at position ' || seq FROM outcomes
		WHERE seq NOT IN (SELECT seq FROM log) OR subscription NOT IN (SELECT id FROM subscriptions)`},
	{RuleReference, `
		SELECT 'crash: subscription ' || subscription || ', event at position ' || seq FROM crashes
		WHERE seq NOT IN (SELECT seq FROM log) OR subscription NOT IN (SELECT id FROM subscriptions)`},
	{RuleReference, `
		SELECT 'discarded: subscription ' || subscription || ', event at position ' || seq FROM discarded
		WHERE seq NOT IN (SELECT seq FROM log) OR subscription NOT IN (SELECT id FROM subscriptions)`},
	{RuleReference, `
		SELECT 'cancelled: subscription ' || subscription || ', event at position ' || seq FROM cancelled
		WHERE seq NOT IN (SELECT seq FROM log) OR subscription NOT IN (SELECT id FROM subscriptions)`},
	{RuleReference, `
		SELECT 'audit ' || audit || ': subscription ' || subscription || ', event at position ' || seq FROM audit_deliveries
		WHERE seq NOT IN (SELECT seq FROM log) OR subscription NOT IN (SELECT id FROM subscriptions)`},
	{RuleReference, `
		SELECT 'route: subscription ' || subscription || ', type ' || type FROM routes
		WHERE type NOT IN (SELECT id FROM types) OR subscription NOT IN (SELECT id FROM subscriptions)`},
	{RuleReference, `
		SELECT 'schema: type ' || type FROM schemas WHERE type NOT IN (SELECT id FROM types)`},
	{RuleReference, `
		SELECT 'former name ' || name || ': subscription ' || subscription FROM former_names
		WHERE subscription NOT IN (SELECT id FROM subscriptions)`},
	{RuleReference, `
		SELECT 'origin of the event at position ' || seq FROM origins WHERE seq NOT IN (SELECT seq FROM log)`},
	{RuleCursor, `
		SELECT 'subscription ' || name || ' stands at ' || cursor FROM subscriptions
		WHERE cursor > (SELECT coalesce(max(seq), 0) FROM log)`},
	{RuleAbove, `
		SELECT 'subscription ' || s.name || ': position ' || d.seq || ', ' || d.state || ', above ' || s.cursor
		FROM deliveries d JOIN subscriptions s ON s.id = d.subscription JOIN log l ON l.seq = d.seq
		WHERE d.seq > s.cursor AND l.due_at IS NULL`},
	{RuleState, `
		SELECT 'subscription ' || subscription || ': position ' || seq || ', ' || state FROM deliveries
		WHERE state = 'waiting' AND due_at IS NULL OR state = 'dead' AND (dead_at IS NULL OR reason IS NULL)`},
}

// Check looks for what must not be. A file whose pages are damaged is checked
// no further.
func (a *Admin) Check(ctx context.Context) (found []Inconsistency, err error) {
	err = a.look(ctx, "check", func(c *conn) error {
		found, err = checkIntegrity(c)
		if err != nil || len(found) > 0 {
			return err
		}
		for _, one := range checks {
			inconsistency := Inconsistency{Rule: one.rule}
			err := c.query(one.sql, func(s *sqlite3.Stmt) error {
				inconsistency.add(s.ColumnText(0))
				return nil
			})
			if err != nil {
				return err
			}
			found = appendFound(found, inconsistency)
		}
		routes, err := checkRoutes(c)
		found = appendFound(found, routes)
		return err
	})
	return found, err
}

func (i *Inconsistency) add(sample string) {
	i.Count++
	if len(i.Samples) < checkSamples {
		i.Samples = append(i.Samples, sample)
	}
}

func appendFound(found []Inconsistency, one Inconsistency) []Inconsistency {
	if one.Count == 0 {
		return found
	}
	return append(found, one)
}

func checkIntegrity(c *conn) (found []Inconsistency, err error) {
	damage := Inconsistency{Rule: RuleIntegrity}
	err = c.query("PRAGMA integrity_check", func(s *sqlite3.Stmt) error {
		if line := s.ColumnText(0); line != "ok" {
			damage.add(line)
		}
		return nil
	})
	if errors.Is(err, sqlite3.CORRUPT) {
		damage.add(err.Error())
		err = nil
	}
	return appendFound(nil, damage), err
}

// checkRoutes holds the routes against the patterns.
func checkRoutes(c *conn) (wrong Inconsistency, err error) {
	wrong.Rule = RuleRoute
	type subscription struct {
		id            int64
		name, pattern string
	}
	var subscriptions []subscription
	err = c.query("SELECT id, name, pattern FROM subscriptions", func(s *sqlite3.Stmt) error {
		subscriptions = append(subscriptions, subscription{s.ColumnInt64(0), s.ColumnText(1), s.ColumnText(2)})
		return nil
	})
	for _, one := range subscriptions {
		if err != nil {
			return wrong, err
		}
		var want, have []int64
		want, err = typesFor(c, one.pattern)
		if err != nil {
			return wrong, err
		}
		err = c.query("SELECT type FROM routes WHERE subscription = ? AND NOT former ORDER BY type", func(s *sqlite3.Stmt) error {
			have = append(have, s.ColumnInt64(0))
			return nil
		}, one.id)
		if !slices.Equal(want, have) {
			wrong.add(fmt.Sprintf("subscription %s has %d types, its pattern %s matches %d", one.name, len(have), one.pattern, len(want)))
		}
	}
	return wrong, err
}

// Unsettled is an event that some subscription has yet to settle, or has given
// up.
type Unsettled struct {
	ID      uuid.UUID
	Type    string
	Names   []string // all that the type has ever had
	Version int
	Payload []byte
	Open    int // deliveries that wait, run or are on their way
	Dead    int
}

// Unsettled calls visit for every event with an open or a dead delivery, in log
// order. The bus's own events are passed over.
func (a *Admin) Unsettled(ctx context.Context, visit func(Unsettled)) error {
	return a.look(ctx, "check", func(c *conn) error {
		types, err := typeRows(c)
		if err != nil {
			return err
		}
		names := namesOf(types)
		return c.query(`
			SELECT l.id, t.name, t.version, l.payload,
			       (SELECT count(*) FROM deliveries d WHERE d.seq = l.seq AND d.state <> 'dead') + iif(l.due_at IS NULL,
			         (SELECT count(*) FROM routes r JOIN subscriptions s ON s.id = r.subscription
			          WHERE r.type = l.type AND s.cursor < l.seq
			            AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.subscription = s.id AND d.seq = l.seq)), 0) AS open,
			       (SELECT count(*) FROM deliveries d WHERE d.seq = l.seq AND d.state = 'dead') AS dead
			FROM log l JOIN types t ON t.id = l.type
			WHERE l.seq IN (SELECT seq FROM deliveries UNION SELECT seq FROM log WHERE seq > (SELECT min(cursor) FROM subscriptions))
			  AND (open > 0 OR dead > 0)
			ORDER BY l.seq`, func(s *sqlite3.Stmt) error {
			if name := s.ColumnText(1); name[0] != engine.OwnType {
				visit(Unsettled{ID: uuidOf(s, 0), Type: name, Names: names[name], Version: s.ColumnInt(2), Payload: s.ColumnRawText(3), Open: s.ColumnInt(4), Dead: s.ColumnInt(5)})
			}
			return nil
		})
	})
}
