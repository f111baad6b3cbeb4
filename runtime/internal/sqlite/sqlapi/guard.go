package sqlapi

import (
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
)

// Guard refuses what a program must not do on a connection. It is asked while a statement
// is prepared, and says nothing while no session uses the connection.
type Guard struct {
	// Protected tells whether a table or view is the bus's. Programs read those and no more.
	Protected func(name string) bool
	// Outbox is the view into which programs insert, and Trusted its trigger: by that they may
	// write to tables of the bus.
	Outbox, Trusted string

	up       bool
	within   bool
	refused  error
	dropping string // what a DROP is about
	changes  bool   // a statement can change the schema in ways that nobody sees while it is prepared

	published bool // a statement was prepared that writes by the trusted trigger
	reads     bool // a statement was prepared that reads what is the bus's
	rebuilds  bool // a statement was prepared that changes the schema
	changed   bool // a statement was prepared that changes the connection: others must not use it
}

// raise puts the guard up. within says that the transaction is somebody else's.
func (g *Guard) raise(within bool) {
	g.up, g.within, g.refused, g.changes, g.dropping = true, within, nil, false, ""
}

// unnote forgets what was noted of a statement.
func (g *Guard) unnote() { g.published, g.reads, g.rebuilds = false, false, false }

// lower takes it down, and returns what it has refused since.
func (g *Guard) lower() error {
	g.up = false
	return g.refused
}

func (g *Guard) authorize(action sqlite3.AuthorizerActionCode, first, second, schema, trigger string) sqlite3.AuthorizerReturnCode {
	if !g.up {
		return sqlite3.AUTH_OK
	}
	switch action {
	case sqlite3.AUTH_CREATE_TABLE, sqlite3.AUTH_CREATE_VTABLE, sqlite3.AUTH_ALTER_TABLE:
		g.changes = true
	case sqlite3.AUTH_READ:
		g.reads = g.reads || g.Protected(first)
	case sqlite3.AUTH_INSERT, sqlite3.AUTH_UPDATE, sqlite3.AUTH_DELETE:
		g.rebuilds = g.rebuilds || first == "sqlite_master"
	}
	problem := g.problem(action, first, second, schema, trigger)
	if problem == "" {
		return g.interruptible(action, first)
	}
	if g.refused == nil {
		g.refused = &event.ProtectedError{Problem: problem}
	}
	return sqlite3.AUTH_DENY
}

// interruptible makes SQLite delete all rows of a table one by one, when that is what a program wants:
// at once would be one step, which nothing interrupts. A DROP asks for leave to delete, too, and must
// have it.
func (g *Guard) interruptible(action sqlite3.AuthorizerActionCode, name string) sqlite3.AuthorizerReturnCode {
	switch action {
	case sqlite3.AUTH_DROP_TABLE, sqlite3.AUTH_DROP_VIEW, sqlite3.AUTH_DROP_VTABLE:
		g.dropping = name
	case sqlite3.AUTH_DELETE:
		if name == g.dropping {
			g.dropping = ""
		} else if g.within && !strings.HasPrefix(name, "sqlite_") {
			return sqlite3.AUTH_IGNORE
		}
	}
	return sqlite3.AUTH_OK
}

// problem says what is wrong with what a statement does, or "".
func (g *Guard) problem(action sqlite3.AuthorizerActionCode, first, second, schema, trigger string) string {
	if action == sqlite3.AUTH_CREATE_VTABLE && schema == "temp" {
		action = sqlite3.AUTH_CREATE_TEMP_TABLE
	}
	switch action {
	case sqlite3.AUTH_INSERT, sqlite3.AUTH_UPDATE, sqlite3.AUTH_DELETE:
		if action != sqlite3.AUTH_DELETE && schema == "main" && strings.HasPrefix(strings.ToLower(first), "sqlite_stat") {
			return fmt.Sprintf("%s tells SQLite how to find rows, those of the bus too: only ANALYZE writes it", first)
		}
		if !g.Protected(first) || action == sqlite3.AUTH_INSERT && first == g.Outbox && schema == "main" {
			break
		}
		if g.Trusted != "" && trigger == g.Trusted {
			g.published = true
			break
		}
		// VACUUM copies all tables into a database of that name.
		if !strings.HasPrefix(schema, "vacuum_") || g.within {
			return fmt.Sprintf("%s belongs to the bus: programs may read it, and change it only by publishing events and with the tools for operators", first)
		}
	case sqlite3.AUTH_CREATE_TABLE, sqlite3.AUTH_DROP_TABLE, sqlite3.AUTH_CREATE_VIEW, sqlite3.AUTH_DROP_VIEW, sqlite3.AUTH_CREATE_VTABLE,
		sqlite3.AUTH_CREATE_TEMP_TABLE, sqlite3.AUTH_CREATE_TEMP_VIEW:
		if g.Protected(first) && !strings.HasPrefix(schema, "vacuum_") {
			if action == sqlite3.AUTH_DROP_TABLE || action == sqlite3.AUTH_DROP_VIEW {
				return fmt.Sprintf("%s belongs to the bus: it cannot be dropped", first)
			}
			return fmt.Sprintf("the name %s belongs to the bus: choose another one", first)
		}
		if creates := action != sqlite3.AUTH_DROP_TABLE && action != sqlite3.AUTH_DROP_VIEW; creates && schema == "main" && Hides(first) {
			return fmt.Sprintf("a table or view with the name %s would hide a function of SQLite that the bus uses: choose another one", first)
		}
	case sqlite3.AUTH_ALTER_TABLE, sqlite3.AUTH_CREATE_INDEX, sqlite3.AUTH_DROP_INDEX, sqlite3.AUTH_CREATE_TRIGGER, sqlite3.AUTH_DROP_TRIGGER,
		sqlite3.AUTH_CREATE_TEMP_TRIGGER:
		if strings.HasPrefix(schema, "vacuum_") {
			break
		}
		if g.Protected(second) {
			return fmt.Sprintf("%s belongs to the bus: it cannot be altered, and has no indexes and triggers of programs", second)
		}
		if action != sqlite3.AUTH_ALTER_TABLE && g.Protected(first) {
			return fmt.Sprintf("the name %s belongs to the bus: choose another one", first)
		}
	}
	if g.within {
		return withinProblem(action, first, second)
	}
	return g.ownProblem(action, first, second)
}

// ownProblem is what is wrong with it on a connection of a program's own.
func (g *Guard) ownProblem(action sqlite3.AuthorizerActionCode, first, second string) string {
	switch action {
	case sqlite3.AUTH_ATTACH, sqlite3.AUTH_DETACH,
		sqlite3.AUTH_CREATE_TEMP_TABLE, sqlite3.AUTH_CREATE_TEMP_VIEW, sqlite3.AUTH_CREATE_TEMP_TRIGGER, sqlite3.AUTH_CREATE_TEMP_INDEX:
		g.changed = true
	case sqlite3.AUTH_PRAGMA:
		switch {
		case harmless(first, second):
		case !ofConnection(first):
			return fmt.Sprintf("PRAGMA %s would change the file, or how the bus keeps it", first)
		default:
			g.changed = true
		}
	}
	return ""
}

// withinProblem is what is wrong with it inside a transaction that others share.
func withinProblem(action sqlite3.AuthorizerActionCode, first, second string) string {
	switch action {
	case sqlite3.AUTH_TRANSACTION:
		return fmt.Sprintf("the bus begins and ends this transaction, which may be shared with others: leave out %s; in a function, return nil to commit, and an error to roll back", first)
	case sqlite3.AUTH_SAVEPOINT:
		return "savepoints are not for this function, which has one of its own: run what may fail in another transaction, or check before you write"
	case sqlite3.AUTH_ATTACH, sqlite3.AUTH_DETACH:
		return "databases cannot be attached or detached inside a transaction"
	case sqlite3.AUTH_CREATE_TEMP_TABLE, sqlite3.AUTH_CREATE_TEMP_VIEW, sqlite3.AUTH_CREATE_TEMP_TRIGGER, sqlite3.AUTH_CREATE_TEMP_INDEX:
		return "temporary tables, views and triggers would outlive the transaction, because its connection is that of the bus: use a WITH clause, or a table"
	case sqlite3.AUTH_PRAGMA:
		if !harmless(first, second) {
			return fmt.Sprintf("PRAGMA %s would change the connection of the bus", first)
		}
	}
	return ""
}

// Hides tells whether a table or view of this name would be found in the place of a function that
// returns rows.
func Hides(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "json_each", "json_tree", "jsonb_each", "jsonb_tree", "generate_series":
		return true
	}
	return strings.HasPrefix(name, "pragma_")
}

// Savepoint is the name of the savepoints that sessions within a transaction have.
const Savepoint = "busgen_tx"

// ofConnection tells whether a pragma changes nothing but the connection.
func ofConnection(name string) bool {
	switch strings.ToLower(name) {
	case "analysis_limit", "automatic_index", "busy_timeout", "cache_size", "cache_spill", "case_sensitive_like", "cell_size_check",
		"defer_foreign_keys", "foreign_keys", "ignore_check_constraints", "legacy_alter_table", "optimize", "query_only",
		"read_uncommitted", "recursive_triggers", "reverse_unordered_selects", "shrink_memory", "temp_store", "threads":
		return true
	}
	return false
}

// harmless tells whether a pragma only answers.
func harmless(name, value string) bool {
	switch strings.ToLower(name) {
	case "table_info", "table_xinfo", "table_list", "index_info", "index_xinfo", "index_list", "foreign_key_list", "foreign_key_check",
		"integrity_check", "quick_check", "compile_options", "database_list", "collation_list", "function_list", "module_list", "pragma_list":
		return true
	case "wal_checkpoint", "incremental_vacuum", "optimize", "shrink_memory":
		return false
	}
	return value == ""
}
