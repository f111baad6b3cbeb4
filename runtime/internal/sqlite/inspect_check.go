package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// The rules that a file keeps, besides engine.RuleIntegrity.
const (
	ruleReference = "reference" // no row points to one that is missing
	ruleCursor    = "cursor"    // no cursor stands beyond the log
	ruleAbove     = "above"     // no delivery above a cursor has a row, except those of delayed events
	ruleState     = "state"     // what waits has a due time, what is dead has a time and a reason
	ruleRoute     = "route"     // the routes are those of the patterns
	ruleProgram   = "program"   // each row of the program is in its indexes, and has a value where it must
	ruleForeign   = "foreign"   // nothing of another program is in the bus's way
)

// checkSamples is how many samples of a problem are kept.
const checkSamples = 5

// checks are queries for what must not be. Each row is one, in words.
var checks = []struct{ rule, sql string }{
	{ruleReference, `
		SELECT 'event at position ' || seq || ': type ' || type || ' is missing' FROM busgen_log WHERE type NOT IN (SELECT id FROM busgen_types)`},
	{ruleReference, `
		SELECT 'delivery: subscription ' || subscription || ', event at position ' || seq FROM busgen_deliveries
		WHERE seq NOT IN (SELECT seq FROM busgen_log) OR subscription NOT IN (SELECT id FROM busgen_subscriptions)`},
	{ruleReference, `
		SELECT 'attempt ' || n || ': subscription ' || subscription || ', event at position ' || seq FROM busgen_attempts
		WHERE seq NOT IN (SELECT seq FROM busgen_log) OR subscription NOT IN (SELECT id FROM busgen_subscriptions)`},
	{ruleReference, `
		SELECT 'step ' || name || ': subscription ' || subscription || ', event at position ' || seq FROM busgen_steps
		WHERE seq NOT IN (SELECT seq FROM busgen_log) OR subscription NOT IN (SELECT id FROM busgen_subscriptions)`},
	{ruleReference, `
		SELECT 'outcome: subscription ' || subscription || ', event at position ' || seq FROM busgen_outcomes
		WHERE seq NOT IN (SELECT seq FROM busgen_log) OR subscription NOT IN (SELECT id FROM busgen_subscriptions)`},
	{ruleReference, `
		SELECT 'crash: subscription ' || subscription || ', event at position ' || seq FROM busgen_crashes
		WHERE seq NOT IN (SELECT seq FROM busgen_log) OR subscription NOT IN (SELECT id FROM busgen_subscriptions)`},
	{ruleReference, `
		SELECT 'discarded: subscription ' || subscription || ', event at position ' || seq FROM busgen_discarded
		WHERE seq NOT IN (SELECT seq FROM busgen_log) OR subscription NOT IN (SELECT id FROM busgen_subscriptions)`},
	{ruleReference, `
		SELECT 'cancelled: subscription ' || subscription || ', event at position ' || seq FROM busgen_cancelled
		WHERE seq NOT IN (SELECT seq FROM busgen_log) OR subscription NOT IN (SELECT id FROM busgen_subscriptions)`},
	{ruleReference, `
		SELECT 'audit ' || audit || ': subscription ' || subscription || ', event at position ' || seq FROM busgen_audit_deliveries
		WHERE seq NOT IN (SELECT seq FROM busgen_log) OR subscription NOT IN (SELECT id FROM busgen_subscriptions)`},
	{ruleReference, `
		SELECT 'route: subscription ' || subscription || ', type ' || type FROM busgen_routes
		WHERE type NOT IN (SELECT id FROM busgen_types) OR subscription NOT IN (SELECT id FROM busgen_subscriptions)`},
	{ruleReference, `
		SELECT 'schema: type ' || type FROM busgen_schemas WHERE type NOT IN (SELECT id FROM busgen_types)`},
	{ruleReference, `
		SELECT 'former name ' || name || ': subscription ' || subscription FROM busgen_former_names
		WHERE subscription NOT IN (SELECT id FROM busgen_subscriptions)`},
	{ruleReference, `
		SELECT 'origin of the event at position ' || seq FROM busgen_origins WHERE seq NOT IN (SELECT seq FROM busgen_log)`},
	{ruleReference, `
		SELECT 'key of the event at position ' || seq || ': type ' || type FROM busgen_event_keys
		WHERE seq NOT IN (SELECT seq FROM busgen_log) OR type NOT IN (SELECT id FROM busgen_awaited)`},
	{ruleReference, `
		SELECT 'wait: subscription ' || subscription || ', event at position ' || seq || ', type ' || type FROM busgen_waits
		WHERE seq NOT IN (SELECT seq FROM busgen_log) OR subscription NOT IN (SELECT id FROM busgen_subscriptions)
		  OR type NOT IN (SELECT id FROM busgen_awaited)`},
	{ruleCursor, `
		SELECT 'subscription ' || name || ' stands at ' || cursor FROM busgen_subscriptions
		WHERE cursor > (SELECT coalesce(max(seq), 0) FROM busgen_log)`},
	{ruleAbove, `
		SELECT 'subscription ' || s.name || ': position ' || d.seq || ', ' || d.state || ', above ' || s.cursor
		FROM busgen_deliveries d JOIN busgen_subscriptions s ON s.id = d.subscription JOIN busgen_log l ON l.seq = d.seq
		WHERE d.seq > s.cursor AND l.due_at IS NULL AND NOT ` + goneAhead},
	{ruleState, `
		SELECT 'subscription ' || subscription || ': position ' || seq || ', ' || state FROM busgen_deliveries
		WHERE state = 'waiting' AND due_at IS NULL OR state = 'dead' AND (dead_at IS NULL OR reason IS NULL)`},
}

// Check implements [engine.Checker].
func (i *Inspection) Check(ctx context.Context) (found []event.Problem, err error) {
	err = i.lookFor(ctx, checkTime, "check", func(c *database.Conn) error {
		found, err = checkIntegrity(c)
		if err != nil || slices.ContainsFunc(found, func(p event.Problem) bool { return p.Rule == engine.RuleIntegrity }) {
			return err
		}
		for _, one := range checks {
			problem := event.Problem{Rule: one.rule}
			err := c.Query(one.sql, func(s *sqlite3.Stmt) error {
				addProblem(&problem, s.ColumnText(0))
				return nil
			})
			if err != nil {
				return err
			}
			found = appendFound(found, problem)
		}
		routes, err := checkRoutes(c)
		found = appendFound(found, routes)
		if err != nil {
			return err
		}
		foreign := event.Problem{Rule: ruleForeign}
		problems, err := findTrespasses(c)
		for _, sample := range problems {
			addProblem(&foreign, sample)
		}
		found = appendFound(found, foreign)
		return err
	})
	return found, err
}

func addProblem(p *event.Problem, sample string) {
	p.Count++
	if len(p.Samples) < checkSamples {
		p.Samples = append(p.Samples, sample)
	}
}

func appendFound(found []event.Problem, one event.Problem) []event.Problem {
	if one.Count == 0 {
		return found
	}
	return append(found, one)
}

// checkRoutes holds the routes against the patterns.
func checkRoutes(c *database.Conn) (wrong event.Problem, err error) {
	wrong.Rule = ruleRoute
	type subscription struct {
		id            int64
		name, pattern string
	}
	var subscriptions []subscription
	err = c.Query("SELECT id, name, pattern FROM busgen_subscriptions", func(s *sqlite3.Stmt) error {
		subscriptions = append(subscriptions, subscription{s.ColumnInt64(0), s.ColumnText(1), s.ColumnText(2)})
		return nil
	})
	for _, one := range subscriptions {
		if err != nil {
			return wrong, err
		}
		var want, have []int64
		want, err = tables.TypesFor(c, one.pattern)
		if err != nil {
			return wrong, err
		}
		err = c.Query("SELECT type FROM busgen_routes WHERE subscription = ? AND NOT former ORDER BY type", func(s *sqlite3.Stmt) error {
			have = append(have, s.ColumnInt64(0))
			return nil
		}, one.id)
		if !slices.Equal(want, have) {
			addProblem(&wrong, fmt.Sprintf("subscription %s has %d types, its pattern %s matches %d", one.name, len(have), one.pattern, len(want)))
		}
	}
	return wrong, err
}

// Unsettled implements [engine.EventReader].
func (i *Inspection) Unsettled(ctx context.Context, visit func(event.Unsettled)) error {
	return i.lookFor(ctx, checkTime, "check", func(c *database.Conn) error {
		types, err := tables.TypeRows(c)
		if err != nil {
			return err
		}
		names := typenames.All(types)
		return c.Query(`
			SELECT l.id, t.name, t.version, `+tables.Bounded("l.payload")+`, l.seq,
			       (SELECT count(*) FROM busgen_deliveries d WHERE d.seq = l.seq AND d.state <> 'dead') +
			         (SELECT count(*) FROM busgen_routes r JOIN busgen_subscriptions s ON s.id = r.subscription
			          WHERE r.type = l.type AND `+notPassed+`
			            AND NOT EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.subscription = s.id AND d.seq = l.seq)) AS open,
			       (SELECT count(*) FROM busgen_deliveries d WHERE d.seq = l.seq AND d.state = 'dead') AS dead
			FROM busgen_log l JOIN busgen_types t ON t.id = l.type
			WHERE l.seq IN (SELECT seq FROM busgen_deliveries UNION SELECT seq FROM busgen_log WHERE seq > (SELECT min(cursor) FROM busgen_subscriptions))
			  AND (open > 0 OR dead > 0)
			ORDER BY l.seq`, func(s *sqlite3.Stmt) error {
			if name := s.ColumnText(1); !engine.IsOwn(name) {
				payload := tables.ColumnOf(s, 3)
				e := event.Unsettled{
					ID: database.UUID(s, 0), Type: name, Names: names[name], Version: s.ColumnInt(2), Open: s.ColumnInt(5), Dead: s.ColumnInt(6),
					Unreadable: tables.TooLong("payload", payload.Size),
				}
				if e.Unreadable == nil {
					if e.Payload, err = payload.Read(c, "payload", s.ColumnInt64(4)); err != nil {
						return err
					}
				}
				visit(e)
			}
			return nil
		})
	})
}

// checkIntegrity has SQLite check the file, with the tables of the program in it. Damaged pages
// concern everybody. But a row of the program that lacks a value, or is not in an index, does the bus
// no harm, and is reported as what it is. References of the program are not checked, because many
// programs do not turn them on, and nor are its CHECK constraints, which SQLite does not know
// when it only reads.
func checkIntegrity(c *database.Conn) ([]event.Problem, error) {
	damage, program := event.Problem{Rule: engine.RuleIntegrity}, event.Problem{Rule: ruleProgram}
	found, err := integrity(c, "")
	if err == nil && len(found) == 0 {
		return nil, nil
	}
	// SQLite stops after a hundred lines, and before the first if it lacks a function or a
	// collation of the program. So everything is asked for by itself.
	names, listed := tablesIn(c)
	if err != nil && (errors.Is(err, sqlite3.INTERRUPT) || listed != nil) {
		return nil, err
	}
	var theirs []string
	for _, table := range names {
		lines, err := integrity(c, table)
		switch {
		case tables.IsOurs(table) && (errors.Is(err, sqlite3.TOOBIG) || errors.Is(err, fault.ErrNoMemory)):
			found = append(found, table+" has a value that is too long to be checked")
			continue
		case errors.Is(err, sqlite3.INTERRUPT), err != nil && tables.IsOurs(table):
			return nil, err
		case err != nil:
			continue // it lacks something of the program
		case tables.IsOurs(table):
			found = append(found, lines...)
			continue
		}
		for _, line := range lines {
			if aboutRows(line) {
				theirs = append(theirs, line)
			}
		}
	}
	slices.Sort(found)
	for _, line := range slices.Compact(found) {
		if !slices.Contains(theirs, line) {
			addProblem(&damage, line)
		}
	}
	for _, line := range theirs {
		addProblem(&program, line)
	}
	return appendFound(appendFound(nil, damage), program), nil
}

// integrity returns what SQLite finds wrong with one table, or with the whole file.
func integrity(c *database.Conn, table string) (found []string, err error) {
	pragma := "PRAGMA integrity_check"
	if table != "" {
		pragma += `("` + strings.ReplaceAll(table, `"`, `""`) + `")`
	}
	err = c.Query(pragma, func(s *sqlite3.Stmt) error {
		if line := s.ColumnText(0); line != "ok" {
			found = append(found, line)
		}
		return nil
	})
	if errors.Is(err, sqlite3.CORRUPT) {
		return append(found, err.Error()), nil
	}
	return found, err
}

// tablesIn returns the tables in the file that can be checked by themselves. A name that looks like a
// number would be taken for one.
func tablesIn(c *database.Conn) (names []string, err error) {
	err = c.Query("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name NOT GLOB '[-+0-9]*'", func(s *sqlite3.Stmt) error {
		names = append(names, s.ColumnText(0))
		return nil
	})
	return names, err
}

// aboutRows tells whether a line of an integrity check is about what rows say, and not about the
// pages that they are on.
func aboutRows(line string) bool {
	for _, physical := range []string{"Tree ", "Page ", "Freelist", "On ", "***", "sqlite3: ", "database "} {
		if strings.HasPrefix(line, physical) {
			return false
		}
	}
	return true
}
