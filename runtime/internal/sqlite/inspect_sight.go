package sqlite

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// sees is the SQL function that asks the [engine.Sight] of the filter of the statement.
const sees = "busgen_sees"

// instr is the SQL of whether a text of event l contains the text that sql is. With seen, it is asked only of what
// contains it whether it may be seen there: what is shown of a payload was in it. Of a long payload nobody looks for the hidden values,
// so that nothing is found in the texts beside it.
func instr(part, sql string, seen bool) string {
	within := fmt.Sprintf("instr(%s, %s) > 0", part, sql)
	if !seen {
		return within
	}
	return fmt.Sprintf("(%s AND octet_length(l.payload) <= %d AND %s((SELECT name FROM busgen_types WHERE id = l.type), "+
		"(SELECT version FROM busgen_types WHERE id = l.type), l.payload, %s, %s))", within, listedBytes, sees, part, sql)
}

// lookThrough makes the connection answer for a filter, and reports whether there is something to ask. Statements that
// call it must be given the filter's own sight, so it is made for each of them.
func lookThrough(c *database.Conn, f engine.Filter) (seen bool, err error) {
	sight := f.Sight
	if sight == nil {
		return false, nil
	}
	return true, c.CreateFunction(sees, 5, sqlite3.DIRECTONLY, func(ctx sqlite3.Context, arg ...sqlite3.Value) {
		ctx.ResultBool(sight(arg[0].Text(), arg[1].Int(), arg[2].Blob(nil), arg[3].Blob(nil), arg[4].Text()))
	})
}
