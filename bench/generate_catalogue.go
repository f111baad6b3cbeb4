package main

import (
	"fmt"
	"strings"
)

// kinds are the types of the fields of an event that is made up: what catalogues are full of, with
// something of everything that makes code.
var kinds = []string{
	"uuid", "string", "int64", "time", "Money", `"string?"`, `"[]Line"`, `"map[string]string"`,
	"{ type: string, format: email, max_length: 254 }", "{ type: Status, doc: How far it is. }",
}

// manyEvents is a catalogue of n events with ten fields each.
func manyEvents(n int) []byte {
	var b strings.Builder
	b.WriteString(`version: 1
package: many
policies:
  area1.*: { retry: { max_attempts: 6, max_delay: 1m } }
types:
  Status: { enum: [open, waiting, done] }
  Money: { fields: { amount: int64, currency: string } }
  Line: { fields: { sku: string, quantity: { type: int, min: 1 }, price: Money } }
events:
`)
	for i := range n {
		fmt.Fprintf(&b, "  area%d.thing_%d.happened:\n    doc: Something happened to thing %d.\n    partition_by: field_0\n    payload:\n", i%20, i, i)
		for j, kind := range kinds {
			fmt.Fprintf(&b, "      field_%d: %s\n", j, kind)
		}
		if i%4 == 0 {
			fmt.Fprintf(&b, "    subscriptions: { handle-%d: {} }\n", i)
		}
	}
	return []byte(b.String())
}
