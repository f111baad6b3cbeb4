package sqlite

import (
	"errors"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

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
	tables, listed := tablesIn(c)
	if err != nil && (errors.Is(err, sqlite3.INTERRUPT) || listed != nil) {
		return nil, err
	}
	var theirs []string
	for _, table := range tables {
		lines, err := integrity(c, table)
		switch {
		case isOurs(table) && (errors.Is(err, sqlite3.TOOBIG) || errors.Is(err, fault.ErrNoMemory)):
			found = append(found, table+" has a value that is too long to be checked")
			continue
		case errors.Is(err, sqlite3.INTERRUPT), err != nil && isOurs(table):
			return nil, err
		case err != nil:
			continue // it lacks something of the program
		case isOurs(table):
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
