package sqlite

import (
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// impersonal are the texts of the file that an erasure leaves alone, with the reason.
var impersonal = map[string]string{
	"busgen_types": "names of the catalogue", "busgen_schemas": "the catalogue's words, and the name of a program",
	"busgen_subscriptions": "names of the catalogue or the program", "busgen_former_names": "the same",
	"busgen_schedules": "names and times of the catalogue", "busgen_breaker_requests": "the name of an operator",
	"busgen_running": "names of the catalogue", "busgen_unhandled": "the same", "busgen_saturated": "the same",
	"busgen_log.payload":      "erased with its event; of others it is counted",
	"busgen_deliveries.state": "a word of the bus", "busgen_deliveries.reason": "a word of the bus",
	"busgen_deliveries.fingerprint": "a hash", "busgen_deliveries.progress": "names of subscriptions",
	"busgen_discarded.dead_reason": "a word of the bus", "busgen_discarded.fingerprint": "a hash; erased with its event",
	"busgen_discarded.progress": "names of subscriptions",
	"busgen_attempts.kind":      "a word of the bus", "busgen_attempts.error_type": "a Go type", "busgen_attempts.member": "the name of a subscription",
	"busgen_pauses.kind": "a word of the bus", "busgen_pauses.target": "a name or a glob", "busgen_pauses.key": "what an operator has typed",
	"busgen_pauses.actor": "the name of an operator",
	"busgen_audit.actor":  "the name of an operator", "busgen_audit.action": "a word of the bus", "busgen_audit.subscription": "a name",
	"busgen_breakers.subscription": "a name", "busgen_breakers.key": "a value of a field that is not personal",
	"busgen_breakers.member_of": "a name", "busgen_breakers.state": "a word of the bus",
	"busgen_limits.name": "a name of the catalogue",
	"busgen_awaited":     "names of the catalogue", "busgen_waits.member": "the name of a subscription",
	"busgen_steps.member": "the name of a subscription", "busgen_steps.kind": "a word of the bus",
	"busgen_deliveries.waitlist": "a key of an event that is not settled, and it is gone when that is", "busgen_deliveries.key": "the same",
}

// Who adds a text to the file decides whether a person can be in it.
func TestAnErasureKnowsEveryTextOfTheFile(t *testing.T) {
	c, err := sqlite3.Open(":memory:")
	must(t, err)
	defer c.Close()
	must(t, c.Exec(tables.Schema))
	s, _, err := c.Prepare(`SELECT m.name, c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name LIKE 'busgen_%' AND c.type = 'TEXT'`)
	must(t, err)
	defer s.Close()
	found := 0
	for s.Step() {
		found++
		table, column := s.ColumnText(0), s.ColumnText(1)
		erased := slices.ContainsFunc(textColumns, func(w textColumn) bool { return w.table == table && w.column == column })
		if known := impersonal[table] + impersonal[table+"."+column]; erased == (known != "") {
			t.Errorf("%s.%s: is it in textColumns (%t), or is there a reason why nobody is in it (%q)?", table, column, erased, known)
		}
	}
	must(t, s.Err())
	if found < 30 {
		t.Errorf("found %d texts only", found)
	}
	for _, w := range textColumns {
		if !strings.Contains(tables.Schema, w.column) {
			t.Errorf("there is no %s.%s", w.table, w.column)
		}
	}
}
