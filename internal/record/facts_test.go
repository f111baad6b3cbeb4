package record_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/breaking"
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/catalogtest"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/record"
)

type fataler interface {
	Helper()
	Fatal(args ...any)
}

// linesOf are facts as text, sorted.
func linesOf(facts []record.Fact) []string {
	var lines []string
	for _, f := range facts {
		lines = append(lines, f.String())
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// readFacts reads facts from their lines.
func readFacts(t fataler, lines []string) (*catalog.Catalogue, []record.FactError) {
	t.Helper()
	var facts []record.Fact
	for i, line := range lines {
		f, err := record.ParseFact(line, diag.Position{File: "record", Line: i + 1, Column: 1})
		if err != nil {
			t.Fatal(line, err)
		}
		facts = append(facts, f)
	}
	return record.ReadFacts(facts)
}

func TestTheFactsOfACatalogue(t *testing.T) {
	c := catalogtest.Parsed(t, `version: 1
package: shop
defaults: { expires_after: 2d }
headers: { tenant: { type: string, required: true }, request_id: uuid }
policies:
  ping: { headers: { tenant: { required: false } } }
types:
  Money:    { fields: { amount: { type: int64, min: 1, max: 10 }, currency: Currency }, reserved: [cents] }
  Currency: { enum: [EUR, "US dollar: $"] }
  Level:    { enum: { low: 1, high: 2 } }
  Payment:  { discriminator: kind, one_of: { card: { fields: { number: string } }, money: Money, none: { fields: {} } } }
  Host:     { go: { import: net/netip, type: Addr }, type: string }
  Unused:   { fields: { x: int } }
  Tree:     { fields: { children: "[]Tree" } }
events:
  order.placed:
    version: 3
    aliases: [order.made]
    partition_by: id
    dedupe_by: id
    await_by: id
    reserved: [note]
    examples: [{ id: 018f4f2e-0000-7000-8000-000000000001, total: { amount: 1, currency: EUR }, at: { street: x, host: "::1", level: 1 }, paid: [], tree: { children: [] }, copies: 1 }]
    payload:
      id: uuid
      total: Money
      at: { fields: { street: { type: string, was: [road, way] }, host: Host, level: "Level?" }, reserved: [zip] }
      paid: "[]Payment"
      tree: Tree
      copies: { type: int, default: 2 }
      tip: { type: "decimal?", default: "0.5" }
    history: { 1: dropped, 2: { payload: { id: string } } }
    subscriptions: { send: { aliases: [mail], group: chain }, archive: { expires_after: off, group: chain } }
  ping: {}
subscriptions:
  watch: { aliases: [see], pattern: [order.*, "*"], group: chain, expires_after: 1h }
`)
	want := []string{
		`custom Host: {"custom":"string","go":"net/netip.Addr"}`,
		`enum Currency "US dollar: $"`,
		`enum Currency EUR`,
		`enum Level high: 2`,
		`enum Level low: 1`,
		`event order.placed 2 id: "string"`,
		`event order.placed 3 at host: "Host"`,
		`event order.placed 3 at level: "Level?"`,
		`event order.placed 3 at street: {"type":"string","was":["road","way"]}`,
		`event order.placed 3 at: "{}"`,
		`event order.placed 3 copies: {"type":"int","default":2}`,
		`event order.placed 3 id: "uuid"`,
		`event order.placed 3 paid: "[]Payment"`,
		`event order.placed 3 tip: {"type":"decimal?","default":"0.5"}`,
		`event order.placed 3 total: "Money"`,
		`event order.placed 3 tree: "Tree"`,
		`event order.placed alias order.made`,
		`event order.placed await_by: "id"`,
		`event order.placed dedupe_by: "id"`,
		`event order.placed expires_after: "48h0m0s"`,
		`event order.placed header request_id: "uuid?"`,
		`event order.placed header tenant: "string"`,
		`event order.placed history 2`,
		`event order.placed partition_by: "id"`,
		`event order.placed version: 3`,
		`event ping expires_after: "48h0m0s"`,
		`event ping header request_id: "uuid?"`,
		`event ping header tenant: "string?"`,
		`event ping version: 1`,
		`reserved event order.placed 3 at zip`,
		`reserved event order.placed 3 note`,
		`reserved struct Money cents`,
		`struct Money`,
		`struct Money amount: {"type":"int64","min":"1","max":"10"}`,
		`struct Money currency: "Currency"`,
		`struct Tree`,
		`struct Tree children: "[]Tree"`,
		`subscription archive event: "order.placed"`,
		`subscription archive expires_after: "0s"`,
		`subscription archive group: "chain"`,
		`subscription send alias mail`,
		`subscription send event: "order.placed"`,
		`subscription send group: "chain"`,
		`subscription watch alias see`,
		`subscription watch expires_after: "1h0m0s"`,
		`subscription watch group: "chain"`,
		`subscription watch pattern: "order.* *"`,
		`union Payment card`,
		`union Payment card number: "string"`,
		`union Payment money: "Money"`,
		`union Payment none`,
		`union Payment: "kind"`,
	}
	if diff := cmp.Diff(want, linesOf(record.FactsOf(c))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// From its facts, in any order, a catalogue is made that has the same facts and breaks nothing.
func TestACatalogueThatIsReadFromFactsHasTheSame(t *testing.T) {
	load := func(path string) *catalog.Catalogue {
		c, findings, err := parse.Load(path)
		if err != nil || len(findings) > 0 {
			t.Fatal(err, findings)
		}
		return c
	}
	fixed := []*catalog.Catalogue{load("../../examples/events.yaml"), load("../../templates/testdata/features.yaml")}
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(fixed).Draw(t, "catalogue")
		if rapid.Bool().Draw(t, "made up") {
			if made, findings := parse.Text("events.yaml", []byte(catalogtest.Made(t))); len(findings) == 0 {
				c = made
			}
		}
		want := linesOf(record.FactsOf(c))
		before, wrong := readFacts(t, rapid.Permutation(want).Draw(t, "order"))
		if diff := cmp.Diff(want, linesOf(record.FactsOf(before))); diff != "" || len(wrong) > 0 {
			t.Fatalf("%v (-want +got):\n%s", wrong, diff)
		}
		all, err := breaking.Compare(breaking.State{Catalogue: before}, breaking.State{Catalogue: c, Read: func(string) ([]byte, error) { return nil, nil }})
		if len(all) > 0 || err != nil {
			t.Fatal(all, err)
		}
		if removed := record.RemovedFacts(before, c); len(removed) > 0 {
			t.Fatal(linesOf(removed))
		}
	})
}

func TestNamesOfFieldsThatAreGoneStayInTheFacts(t *testing.T) {
	const before = `version: 1
package: shop
types:
  Money:   { fields: { amount: int64, note: "string?" } }
  Price:   { fields: { amount: int64, note: int } }
  Color:   { enum: [red] }
  Host:    { go: { import: net/netip, type: Addr }, type: string }
  Tree:    { fields: { label: string, color: Color, children: "[]Tree" } }
  Payment: { one_of: { card: { fields: { number: string, name: string } }, money: Money } }
events:
  a.b:
    examples: [{ id: 018f4f2e-0000-7000-8000-000000000001 }]
    payload: { id: uuid, total: "Money?", list: "[]Price?", at: { type: "{}?", fields: { street: string, host: Host } }, tree: "map[string]Tree?", paid: "Payment?", old: { type: "int?", was: [older, oldest] }, kept: "int?" }
  a.c: { version: 2, payload: {}, history: { 1: { payload: { x: string } } } }
`
	// Types have other names, some fields are gone, one has become the former name of another.
	const after = `version: 1
package: shop
types:
  Amount:  { fields: { amount: int64 } }
  Plant:   { fields: { label: string, children: "[]Plant" } }
  Payment: { one_of: { card: { fields: { number: string } }, money: Amount } }
events:
  a.d:
    aliases: [a.b]
    payload: { id: uuid, total: "Amount?", list: "[]Amount?", at: { type: "{}?", fields: { street: string } }, tree: "map[string]Plant?", paid: "Payment?", new: { type: "int?", was: oldest }, kept: "int?" }
  a.c: { version: 3, payload: {}, history: { 1: { payload: {} }, 2: { payload: {} } } }
`
	want := []string{
		`reserved event a.c 1 x: "string"`,
		`reserved event a.d 1 at host: {"type":"Host","types":{"Host":{"custom":"string","go":"net/netip.Addr"}}}`,
		`reserved event a.d 1 old: "int?"`,
		`reserved event a.d 1 older: "int?"`,
		`reserved struct Amount note: "int"`,
		`reserved struct Amount note: "string?"`,
		`reserved struct Plant color: {"type":"Color","types":{"Color":{"enum":["red"]}}}`,
		`reserved union Payment card name: "string"`,
	}
	first, second := catalogtest.Parsed(t, before), catalogtest.Parsed(t, after)
	removed := record.RemovedFacts(first, second)
	if diff := cmp.Diff(want, linesOf(removed)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	known, wrong := readFacts(t, append(linesOf(record.FactsOf(second)), linesOf(removed)...))
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	if diff := cmp.Diff(want, linesOf(record.RemovedFacts(known, second))); diff != "" {
		t.Errorf("what is gone does not stay gone (-want +got):\n%s", diff)
	}
	// The parent goes, and comes back; one name is used again.
	without := catalogtest.Parsed(t, strings.Replace(strings.Replace(after, `at: { type: "{}?", fields: { street: string } }, `, "", 1), `kept: "int?"`, `older: "int?"`, 1))
	gone := linesOf(record.RemovedFacts(known, without))
	for _, line := range []string{`reserved event a.d 1 at: {"type":"{}?","fields":{"street":"string"}}`, `reserved event a.d 1 kept: "int?"`, want[1], want[2]} {
		if !slices.Contains(gone, line) {
			t.Errorf("%s is missing in\n%s", line, strings.Join(gone, "\n"))
		}
	}
	if slices.Contains(gone, want[3]) {
		t.Errorf("a field reads older, and it is still reserved:\n%s", strings.Join(gone, "\n"))
	}
	known, wrong = readFacts(t, append(linesOf(record.FactsOf(without)), gone...))
	if back := linesOf(record.RemovedFacts(known, second)); len(wrong) > 0 || !slices.Contains(back, want[1]) {
		t.Errorf("%v %s is missing in\n%s", wrong, want[1], strings.Join(back, "\n"))
	}
}

func TestFactsThatCannotBeRead(t *testing.T) {
	for _, line := range []string{"", " event", "event", "event a.b", "event a.b version", `event a.b version: "2"`, "event a.b history x", "event a.b 1 n: int", `event a.b 1 n: {"type":"int","since":1}`, "event a.b color: 1",
		`event a.b expires_after: "2d"`, "event a.b  alias x", `event "a.b alias x`, `event a.b: 1`, "struct T x", "enum T", `enum T red: "x"`, "union T: 1", "custom T: {}", `custom T x: {"custom":"string"}`, "reserved", "reserved event a.b", "reserved enum T red",
		"subscription s", "subscription s event: 1", "nothing a.b", "event a.b 1 n:\"int\"", "<<<<<<< HEAD", "=======",
		"event a.b header t", `event a.b header: "int"`, `event a.b header t: "Money"`, `event a.b header t: "[]int"`, `event a.b header t: {}`,
		`event a.b header t u: "int"`, "reserved event a.b header t", `reserved event a.b header t: "json"`,
	} {
		f, err := record.ParseFact(line, diag.Position{Line: 1, Column: 1})
		if err != nil {
			continue
		}
		if _, wrong := record.ReadFacts([]record.Fact{f}); len(wrong) == 0 {
			t.Errorf("%s is read", line)
		}
	}
	_, wrong := readFacts(t, []string{`event a.b 1 n: "Money"`, `union U: "type"`, `union U a: "Price"`, "event a.b 1 x y: \"int\""})
	if len(wrong) != 2 || wrong[0].Missing != "Price" || wrong[1].Missing != "Money" {
		t.Errorf("%+v", wrong)
	}
}
