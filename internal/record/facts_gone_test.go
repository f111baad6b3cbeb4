package record_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalogtest"
	"github.com/busgen/busgen/internal/record"
)

func TestVersionsNumbersAndVariantsThatAreGoneStayInTheFacts(t *testing.T) {
	first := catalogtest.Parsed(t, `version: 1
package: shop
types:
  Level: { enum: { low: 1, high: 2 } }
  Money: { fields: { amount: int64 } }
  Paid:  { one_of: { card: { fields: { number: string } }, money: Money, cash: { fields: {} } } }
events:
  a.b: { version: 2, payload: { level: Level, paid: Paid, note: "string?" }, history: { 1: { payload: { sum: Money } } } }
  a.c: { payload: { level: Level } }
  a.d: { payload: {} }
`)
	second := catalogtest.Parsed(t, `version: 1
package: shop
types:
  Grade: { enum: { low: 1 } }
  Paid:  { one_of: { cash: { fields: {} } } }
events:
  a.b: { version: 2, payload: { level: Grade, paid: Paid }, history: { 1: dropped } }
`)
	want := []string{
		`reserved enum Grade high: 2`,
		`reserved event a.b 1`,
		`reserved event a.b 1 sum: {"type":"Money","types":{"Money":{"fields":{"amount":"int64"}}}}`,
		`reserved event a.b 2 note: "string?"`,
		`reserved event a.c 1`,
		`reserved event a.c 1 level: {"type":"Level","types":{"Level":{"numbers":{"low":1,"high":2}}}}`,
		`reserved event a.d 1`,
		`reserved union Paid card: {"type":"{}","fields":{"number":"string"}}`,
		`reserved union Paid money: {"type":"Money","types":{"Money":{"fields":{"amount":"int64"}}}}`,
	}
	removed := linesOf(record.RemovedFacts(first, second))
	if diff := cmp.Diff(want, removed); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	lines := slices.Sorted(slices.Values(append(linesOf(record.FactsOf(second)), removed...)))
	known, wrong := readFacts(t, lines)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	if diff := cmp.Diff(lines, linesOf(record.FactsOf(known))); diff != "" {
		t.Errorf("the facts of the record (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, linesOf(record.RemovedFacts(known, second))); diff != "" {
		t.Errorf("what is gone does not stay gone (-want +got):\n%s", diff)
	}
	if removed := linesOf(record.RemovedFacts(known, first)); !cmp.Equal(removed, []string(nil)) {
		t.Errorf("everything is there again, and still gone: %q", removed)
	}
}
