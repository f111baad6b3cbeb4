package schema_test

import (
	"testing"

	"github.com/busgen/busgen/internal/catalogtest"
	"github.com/busgen/busgen/internal/payload/schema"
)

// Naming a scalar changes the Go code, and nothing of what is stored.
func TestTheSchemaOfAnEventHasNoNamedScalars(t *testing.T) {
	const head = "version: 1\npackage: p\n"
	plain := catalogtest.Parsed(t, head+`
types: { Money: { fields: { cents: { type: int64, min: 0 } } } }
events: { a.done: { payload: { id: uuid, mails: { type: "map[string][]string?", values: { items: { format: email, max_length: 9 } } }, m: Money } } }`)
	named := catalogtest.Parsed(t, head+`
types:
  ID: uuid
  Mail: { type: string, max_length: 9, format: email }
  Cents: { type: int64, min: 0 }
  Money: { fields: { cents: Cents } }
events: { a.done: { payload: { id: ID, mails: "map[string][]Mail?", m: Money } } }`)
	if before, after := schema.Of(plain.Events[0]), schema.Of(named.Events[0]); before != after {
		t.Errorf("got\n%s, want\n%s", after, before)
	}
}
