package sqlite

import (
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// deadFilter chooses dead letters.
type deadFilter struct {
	engine.Filter
	harmless bool   // none whose last attempt has ended the process
	step     string // those that have stored this step and are not undone; empty for all
}

// condition is SQL that follows "FROM deliveries d WHERE d.state = 'dead'", with its
// parameters. It has only the conditions that are set, so that SQLite can use the
// indexes of dead letters, and it reaches the log only where it must.
type condition struct {
	sql  strings.Builder
	args []any
}

func (w *condition) and(sql string, args ...any) {
	w.sql.WriteString(" AND ")
	w.sql.WriteString(sql)
	w.args = append(w.args, args...)
}

// in adds a condition about a list, which is a JSON array in SQL.
func (w *condition) in(sql string, list any) error {
	text, err := json.Marshal(list)
	w.and(sql, string(text))
	return err
}

// condition turns the filter into SQL.
func (f deadFilter) condition(c *database.Conn) (w *condition, err error) {
	w = &condition{}
	seen, err := lookThrough(c, f.Filter)
	if err != nil {
		return nil, err
	}
	if len(f.Types) > 0 {
		types, err := tables.TypesMatching(c, f.Types)
		if err == nil {
			err = w.in("(SELECT l.type FROM busgen_log l WHERE l.seq = d.seq) IN (SELECT value FROM json_each(?))", types)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(f.Events) > 0 {
		err = w.in("d.seq IN (SELECT l.seq FROM json_each(?) e JOIN busgen_log l ON l.id = unhex(e.value))", hexes(f.Events))
	}
	if len(f.Subscriptions) > 0 && err == nil {
		err = w.in("d.subscription IN (SELECT a.id FROM json_each(?) n JOIN "+tables.AllNames+" a ON a.name = n.value)", f.Subscriptions)
	}
	if f.step != "" {
		w.and("NOT d.undoing AND EXISTS (SELECT 1 FROM busgen_steps x WHERE x.seq = d.seq AND x.subscription = d.subscription AND x.run = d.run AND x.name = ?)", f.step)
	}
	if len(f.Reasons) > 0 && err == nil {
		err = w.in("d.reason IN (SELECT value FROM json_each(?))", f.Reasons)
	}
	if len(f.Keys) > 0 && err == nil {
		pairs := make([][2]string, len(f.Keys))
		for i, k := range f.Keys {
			pairs[i] = [2]string{hex.EncodeToString(k.EventID[:]), k.Subscription}
		}
		err = w.in(`(d.subscription, d.seq) IN (
			SELECT ks.id, kl.seq FROM json_each(?) k
			JOIN busgen_log kl ON kl.id = unhex(k.value ->> 0) JOIN `+tables.AllNames+` ks ON ks.name = k.value ->> 1)`, pairs)
	}
	if f.harmless {
		w.and("NOT " + diedOfCrash)
	}
	if f.Group != "" {
		w.and("d.fingerprint = ?", f.Group)
	}
	if !f.Since.IsZero() {
		w.and("d.dead_at >= ?", f.Since)
	}
	if !f.Until.IsZero() {
		w.and("d.dead_at <= ?", f.Until)
	}
	if f.CorrelationID != "" {
		w.and(searched+correlationIs("q.text", seen)+")", f.CorrelationID)
	}
	if f.Text != "" {
		w.and(searched+"("+tables.InListed("l.payload", "q.text", seen)+" OR "+tables.InErrors(" AND a.subscription = d.subscription", "q.text", seen)+"))", f.Text)
	}
	return w, err
}

// searched begins a condition on event l of delivery d and one parameter, q.text.
const searched = "EXISTS (SELECT 1 FROM (SELECT ? AS text) q CROSS JOIN busgen_log l WHERE l.seq = d.seq AND "

// correlationIs is the SQL of whether that of event l is the text that sql is, where it may be seen.
func correlationIs(sql string, seen bool) string {
	is := correlationID + " = " + sql
	if seen {
		is += " AND " + tables.Instr(correlationID, sql, seen)
	}
	return "(" + is + ")"
}

// correlationID is the SQL expression for that of event l. Metadata that somebody has
// damaged has none: json_extract alone would end the whole search.
const correlationID = "iif(json_valid(l.metadata), json_extract(l.metadata, '$.correlation_id'), NULL)"

// eventArgs are the parameters with which SQL chooses events.
type eventArgs struct {
	types             string // a JSON array
	ids               any    // a JSON array of hexadecimal texts; NULL for all
	first             int64  // no event before this position was published in time
	since, until      int64
	text, correlation any
	children          string // the condition childOf or childOfAny
	parent            any    // its parameter
	delivered         string // the condition deliveredTo, or empty
	subscriptions     any    // its parameter: a JSON array of numbers; NULL for all
	seen              bool   // not by everything: see lookThrough
}

// eventArgsOf puts a filter of events into parameters.
func eventArgsOf(c *database.Conn, f engine.Filter) (args eventArgs, err error) {
	args = eventArgs{since: -never, until: never, text: tables.Text(f.Text), correlation: tables.Text(f.CorrelationID)}
	if args.children = childOfAny; f.ChildOf != uuid.Nil {
		args.children, args.parent = childOf, f.ChildOf.String()
	}
	if args.types, err = typesOf(c, f); err != nil {
		return args, err
	}
	if len(f.Subscriptions) > 0 || f.State != "" {
		args.delivered = deliveredTo
	}
	if len(f.Subscriptions) > 0 {
		if args.subscriptions, err = idsNamed(c, f.Subscriptions); err != nil {
			return args, err
		}
	}
	if args.seen, err = lookThrough(c, f); err != nil {
		return args, err
	}
	if len(f.Events) > 0 {
		ids, err := json.Marshal(hexes(f.Events))
		if err != nil {
			return args, err
		}
		args.ids = string(ids)
	}
	if !f.Since.IsZero() {
		args.since = f.Since.UnixMicro()
		// Not the whole log, when it is about the last minutes.
		if args.first, err = firstSince(c, f.Since.Add(-clockSlack)); err != nil {
			return args, err
		}
	}
	if !f.Until.IsZero() {
		args.until = f.Until.UnixMicro()
	}
	return args, nil
}

// idsNamed returns the numbers of subscriptions, by current and former names, as a JSON array.
func idsNamed(c *database.Conn, names []string) (string, error) {
	list, err := json.Marshal(names)
	if err != nil {
		return "", err
	}
	ids := []int64{}
	err = c.Query("SELECT a.id FROM json_each(?) n JOIN "+tables.AllNames+" a ON a.name = n.value", func(s *sqlite3.Stmt) error {
		ids = append(ids, s.ColumnInt64(0))
		return nil
	}, string(list))
	if err != nil {
		return "", err
	}
	list, err = json.Marshal(ids)
	return string(list), err
}

func hexes(ids []uuid.UUID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = hex.EncodeToString(id[:])
	}
	return texts
}

// noTypes is what typesOf returns if a filter chooses no type of the log.
const noTypes = "[]"

// typesOf returns the numbers of the types that a filter of events chooses, as a JSON
// array: without globs all types, the bus's own among them for the children of an event and for a subscription.
func typesOf(c *database.Conn, f engine.Filter) (string, error) {
	ids, err := tables.TypesMatching(c, f.Types)
	if len(f.Types) == 0 {
		own := f.ChildOf != uuid.Nil || len(f.Subscriptions) > 0
		ids, err = tables.IdsWhere(c, "SELECT id, name FROM busgen_types", func(name string) (bool, error) { return own || !engine.IsOwn(name), nil })
	}
	if err != nil || len(ids) == 0 {
		return noTypes, err
	}
	list, err := json.Marshal(ids)
	return string(list), err
}

// lookThrough makes the connection answer for a filter, and reports whether there is something to ask. Statements that
// call it must be given the filter's own sight, so it is made for each of them.
func lookThrough(c *database.Conn, f engine.Filter) (seen bool, err error) {
	sight := f.Sight
	if sight == nil {
		return false, nil
	}
	return true, c.CreateFunction(tables.Sees, 5, sqlite3.DIRECTONLY, func(ctx sqlite3.Context, arg ...sqlite3.Value) {
		ctx.ResultBool(sight(arg[0].Text(), arg[1].Int(), arg[2].Blob(nil), arg[3].Blob(nil), arg[4].Text()))
	})
}
