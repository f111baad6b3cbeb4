package breaking_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/breaking"
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/lint"
)

// header makes a catalogue of the pieces in the examples of rules.
const header = "version: 1\npackage: p"

func compare(t *testing.T, before, after string) []lint.Finding {
	t.Helper()
	return compareTexts(t, header+before, header+after)
}

// compareTexts compares catalogues that have the same name in two places.
func compareTexts(t fataler, before, after string) []lint.Finding {
	state := func(text, prefix string) breaking.State {
		c, findings := catalog.Parse("events.yaml", []byte(text))
		if findings != nil {
			t.Fatal(findings, text)
		}
		return breaking.State{Catalogue: c, Read: func(string) ([]byte, error) { return []byte(text), nil }, Name: func(file string) string { return prefix + file }}
	}
	all, err := breaking.Compare(state(before, "main:"), state(after, ""))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

type fataler interface{ Fatal(args ...any) }

// told are findings in short: severity, direction, message and rule.
func told(all []lint.Finding) []string {
	var texts []string
	for _, f := range all {
		texts = append(texts, fmt.Sprintf("%s %s: %s [%s]", f.Severity, f.Direction, f.Message, f.Rule))
	}
	return texts
}

func TestEachRuleReportsItsBadExampleAndNotTheGoodOne(t *testing.T) {
	for _, rule := range breaking.Rules() {
		if rule.ID == breaking.StoredRows.ID {
			continue // there is a test of the verb
		}
		t.Run(rule.ID, func(t *testing.T) {
			worst, directions := lint.Off, map[string]bool{}
			for _, f := range compare(t, rule.Before, rule.Bad) {
				if string(f.Rule) != rule.ID {
					continue
				}
				worst, directions[f.Direction] = max(worst, f.Severity), true
				if f.Message == "" || f.Subject == "" || f.Pos.File != "events.yaml" || f.Line == "" || f.Pos.Column+f.Length-1 > len(f.Line) {
					t.Errorf("incomplete: %+v", f)
				}
				if f.Severity > lint.Note && f.Hint == "" {
					t.Errorf("without a hint: %s", f)
				}
				for _, was := range f.Related {
					if was.Pos.File != "main:events.yaml" || was.Line == "" {
						t.Errorf("the place before is %+v", was)
					}
				}
			}
			if worst != rule.Severity {
				t.Errorf("the bad example gives %s, and the rule says %s: %v", worst, rule.Severity, told(compare(t, rule.Before, rule.Bad)))
			}
			for _, f := range compare(t, rule.Before, rule.Good) {
				if string(f.Rule) == rule.ID {
					t.Errorf("the good example is reported: %s", f)
				}
			}
			if own := compare(t, rule.Bad, rule.Bad); len(own) > 0 {
				t.Errorf("without a change there is %v", told(own))
			}
		})
	}
}

func TestRulesHaveIDsOfTheirOwnAndAPurpose(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range breaking.Rules() {
		if _, ofLint := lint.RuleOf(rule.ID); ofLint || seen[rule.ID] || !strings.HasSuffix(rule.Purpose, ".") && !strings.HasSuffix(rule.Purpose, ")") && rule.Purpose != "" {
			t.Errorf("%+v", rule)
		}
		seen[rule.ID] = true
		if found, ok := breaking.RuleOf(rule.ID); !ok || found.Purpose != rule.Purpose || rule.Purpose == "" {
			t.Errorf("%s is not found", rule.ID)
		}
	}
}

// A type in a payload, before and after, with all that is said of it.
func TestChangesOfTypes(t *testing.T) {
	const types = `
types:
  Currency: { enum: [EUR, USD] }
  Wider:    { enum: [EUR, USD, JPY] }
  Level:    { enum: { low: 1, high: 2 } }
  Money:    { fields: { amount: int64, currency: "string?" } }
  Price:    { fields: { currency: "string?", amount: int64 } }
  Cents:    { fields: { amount: int64 } }
  Texts:    { fields: { amount: string } }
  Notes:    { fields: { a: "string?", b: "string?" } }
  Payment:  { one_of: { card: { fields: { amount: int64 } }, cash: { fields: { amount: int64 } } } }
  Bill:     { one_of: { card: { fields: { amount: int64 } }, cash: { fields: { amount: int64, tip: int64 } } } }
  Typed:    { fields: { type: string, amount: int64 } }
  Tagged:   { fields: { amount: int64, tag: { type: string, default: none } } }
  Untagged: { fields: { amount: int64, tag: string } }
  Moved:    { fields: { cents: { type: int64, was: amount } } }
  Maybe:    { one_of: { card: { fields: { amount: "int64?" } } } }
  Host:     { go: { import: net/netip, type: Addr }, type: string }
  Prefix:   { go: { import: net/netip, type: Prefix }, type: string }
  Tree:     { fields: { label: string, children: "[]Tree" } }
  Plant:    { fields: { label: string, children: "[]Plant" } }
  Bush:     { fields: { label: int64, children: "[]Bush" } }
events:
  e.happened:
    examples: [{ }]
    payload: { f: { type: "%s?"%s } }`
	for _, test := range []struct{ before, after, backward, forward string }{
		{"int32", "int64", "", "error"},
		{"int64", "int32", "error", ""},
		{"int", "int64", "", ""},
		{"uint64", "int64", "error", "error"},
		{"int64, min: 0, max: 100", "uint64", "warning", "error"},
		{"int64, min: 0, max: 100", "int32, min: 0", "warning", ""},
		{"int32", "float64", "", "error"},
		{"int64", "float64", "warning", "error"},
		{"int64, max: 1000, min: -5", "float64", "warning", "error"},
		{"uint64", "float64", "warning", "error"},
		{"int", "float64", "warning", "error"},
		{"int", "int32", "error", ""},
		{"string", "int64", "error", "error"},
		{"uuid", "string", "", "error"},
		{"string", "decimal", "warning", ""},
		{"decimal", "date", "error", "warning"},
		{"date", "time", "error", "error"},
		{"bytes", "string", "warning", "error"},
		{"bytes", "decimal", "warning", "error"},
		{"bytes", "Currency", "warning", "error"},
		{"date", "string", "", "error"},
		{"duration", "string", "", "error"},
		{"[]bytes", "[]string", "warning", "error"},
		{"bool", "string", "error", "error"},
		{"bool", "json", "", "error"},
		{"Money", "json", "", "error"},
		{"Currency", "string", "", "warning"},
		{"Currency", "Wider", "", "warning"},
		{"Currency", "Level", "error", "error"},
		{"Level", "int64", "", "warning"},
		{"Level", "int32", "", "warning"},
		{"Money", "Price", "", ""},
		{"Money", "Cents", "", ""},
		{"Cents", "Texts", "error", "error"},
		{"map[string]int64", "Cents", "warning", ""},
		{"map[string]string", "Cents", "error", "error"},
		{"Notes", "map[string]string", "", "warning"},
		{"Payment", "Cents", "", "error"},
		{"Payment", "Typed", "", "error"},
		{"Payment", "Tagged", "", "error"},
		{"Payment", "Untagged", "warning", "error"},
		{"Payment", "Moved", "", "error"},
		{"Maybe", "Cents", "warning", "error"},
		{"Payment", "Bill", "warning", ""},
		{"Payment", "map[string]json", "", "error"},
		{"[]int32", "[]int64", "", "error"},
		{"[]int32", "int32", "error", "error"},
		{"map[string]int32", "map[string]int64", "", "error"},
		{"[]Cents", "[]Money", "", ""},
		{"Tree", "Plant", "", ""},
		{"Tree", "Bush", "error", "error"},
		{"Tree", "map[string]json", "", "error"},
		{"Host", "string", "", "warning"},
		{"string", "Host", "warning", ""},
		{"Host", "Prefix", "warning", "warning"},
		{"Host", "int64", "error", "error"},
		{"[]Host", "[]string", "", "warning"},
	} {
		written := func(text string) string {
			name, constraints, _ := strings.Cut(text, ",")
			if constraints != "" {
				constraints = "," + constraints
			}
			return fmt.Sprintf(types, name, constraints)
		}
		got := map[string]lint.Severity{}
		all := compare(t, written(test.before), written(test.after))
		for _, f := range all {
			if f.Severity == lint.Note {
				continue
			}
			for _, direction := range []string{"backward", "forward"} {
				if f.Direction == direction || f.Direction == "both" {
					got[direction] = max(got[direction], f.Severity)
				}
			}
		}
		for direction, want := range map[string]string{"backward": test.backward, "forward": test.forward} {
			if want == "" {
				want = "off"
			}
			if got[direction].String() != want {
				t.Errorf("%s → %s: %s %s, want %s: %v", test.before, test.after, direction, got[direction], want, told(all))
			}
		}
	}
}

func TestWhatIsToldOfAChange(t *testing.T) {
	for name, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"a type that two events share is told once": {
			before: `
types: { Money: { fields: { amount: int64 } } }
events:
  a.b: { payload: { total: Money, tips: "[]Money" } }
  a.c: { payload: { total: Money } }`,
			after: `
types: { Money: { fields: { amount: string } } }
events:
  a.b: { payload: { total: Money, tips: "[]Money" } }
  a.c: { payload: { total: Money } }`,
			want: []string{"error both: field amount of type Money is string and was int64: neither program can decode the rows of the other [type-changed]"},
		},
		"one that an event keeps apart in its history is told for the other": {
			before: `
types: { Money: { fields: { amount: int64 } } }
events:
  a.b: { payload: { total: Money } }`,
			after: `
types: { Money: { fields: { amount: string } }, MoneyV1: { fields: { amount: int64 } } }
events:
  a.b: { version: 2, payload: { total: Money }, history: { 1: { payload: { total: MoneyV1 } } } }`,
			want: []string{"error forward: event a.b is version 2 and was 1 [version-raised]"},
		},
		"a type in the history that has changed": {
			before: `
types: { Money: { fields: { amount: int64 } } }
events:
  a.b: { payload: { total: Money } }`,
			after: `
types: { Money: { fields: { amount: string } } }
events:
  a.b: { version: 2, payload: { total: Money }, history: { 1: { payload: { total: Money } } } }`,
			want: []string{
				"error backward: field amount of type Money is string and was int64: the new program cannot decode old rows [type-changed]",
				"error forward: event a.b is version 2 and was 1 [version-raised]",
			},
		},
		"a history that is not what was stored": {
			before: `
events:
  a.b: { payload: { total: int64 } }`,
			after: `
events:
  a.b: { version: 2, payload: { total: string }, history: { 1: { payload: { total: bool, note: string } } } }`,
			want: []string{
				"error forward: event a.b is version 2 and was 1 [version-raised]",
				"error backward: field total of version 1 of event a.b is bool and was int64: the new program cannot decode old rows [type-changed]",
				"warning backward: field note of version 1 of event a.b is new, and not optional: in old rows the new program finds the zero value [field-added]",
			},
		},
		"an event of three versions": {
			before: `
events:
  a.b: { version: 2, payload: { total: int64 }, history: { 1: { payload: { total: bool } } } }`,
			after: `
events:
  a.b: { version: 3, payload: { total: string }, history: { 1: { payload: { total: bool } }, 2: { payload: { total: int64 } } } }`,
			want: []string{"error forward: event a.b is version 3 and was 2 [version-raised]"},
		},
		"a version that is taken back": {
			before: `
events:
  a.b: { version: 2, payload: { total: int64 }, history: { 1: { payload: { total: bool } } } }`,
			after: `
events:
  a.b: { payload: { total: string } }`,
			want: []string{
				"error backward: event a.b is version 1 and was 2 [version-lowered]",
				"error both: field total of event a.b is string and was bool: neither program can decode the rows of the other [type-changed]",
			},
		},
		"an event under another name with another payload": {
			before: `
events:
  a.b: { payload: { total: int64 } }`,
			after: `
events:
  a.c: { aliases: [a.b], payload: { total: string } }`,
			want: []string{"error both: field total of event a.c is string and was int64: neither program can decode the rows of the other [type-changed]"},
		},
		"fields that come and go": {
			before: `
events:
  a.b: { payload: { a: string, b: "int?", c: int, d: "[]string" } }`,
			after: `
events:
  a.b: { payload: { e: string, f: "int?", g: bool, d: "[]string?" } }`,
			want: []string{
				"warning both: field e of event a.b is new, and may be field a, which is gone: neither program sees what rows of the other have under its name [field-renamed]",
				"warning both: field f of event a.b is new, and may be one of fields b, c, which are gone: neither program sees what rows of the other have under its name [field-renamed]",
				"warning backward: field g of event a.b is new, and not optional: in old rows the new program finds the zero value [field-added]",
				"warning forward: field d of event a.b has become optional: in new rows the old program finds the zero value [field-optional]",
			},
		},
		"a type that two old versions share, and one that the present shares with them": {
			before: `
types: { Money: { fields: { amount: int64 } }, Color: { enum: [red] } }
events:
  a.b: { version: 2, payload: { total: Money, color: Color }, history: { 1: { payload: { total: Money } } } }
  a.c: { version: 2, payload: { color: Color }, history: { 1: { payload: { color: Color } } } }`,
			after: `
types: { Money: { fields: { amount: string } }, Color: { enum: [red, blue] } }
events:
  a.b: { version: 3, payload: {}, history: { 1: { payload: { total: Money } }, 2: { payload: { total: Money, color: { type: string } } } } }
  a.c: { version: 2, payload: { color: Color }, history: { 1: { payload: { color: { type: string } } } } }`,
			want: []string{
				"error backward: field amount of type Money is string and was int64: the new program cannot decode old rows [type-changed]",
				"error forward: event a.b is version 3 and was 2 [version-raised]",
				"warning forward: value blue of type Color is new: new rows decode in the old program, but may hold what it does not allow [enum-value-added]",
			},
		},
		"a type that is read in the history, and read and written in the present": {
			before: `
types: { Color: { enum: [red] } }
events: { a.b: { version: 2, payload: { c: Color }, history: { 1: { payload: { color: Color } } } } }`,
			after: `
types: { Color: { enum: [red, blue] } }
events: { a.b: { version: 2, payload: { c: Color }, history: { 1: { payload: { color: Color } } } } }`,
			want: []string{
				"warning forward: value blue of type Color is new: new rows decode in the old program, but may hold what it does not allow [enum-value-added]",
			},
		},
		"types that have changed their sort and kept their name": {
			before: `
types: { T: { enum: [a] }, U: { enum: { a: 1 } } }
events: { a.b: { payload: { t: T, u: U } } }`,
			after: `
types: { T: { fields: { x: int } }, U: { one_of: { a: { fields: {} } } } }
events: { a.b: { payload: { t: T, u: U } } }`,
			want: []string{
				"error both: field t of event a.b is T, a struct and was T, an enum of texts: neither program can decode the rows of the other [type-changed]",
				"error both: field u of event a.b is U, a union and was U, an enum of integers: neither program can decode the rows of the other [type-changed]",
			},
		},
		"a history that leaves out what is deep inside": {
			before: `
types: { A: { fields: { u: "[]U" } }, U: { one_of: { a: { fields: { x: "int?", a: "A?" } } } } }
events: { a.b: { payload: { a: A } } }`,
			after: `
types: { A: { fields: { u: "[]U" } }, U: { one_of: { a: { fields: { a: "A?" } } } } }
events: { a.b: { version: 2, payload: {}, history: { 1: { payload: { a: A } } } } }`,
			want: []string{
				"error forward: event a.b is version 2 and was 1 [version-raised]",
				"warning backward: version 1 of event a.b leaves out what it had [history-edited]",
			},
		},
		"a custom type that does not even fit by what is declared": {
			before: `
types: { Host: { go: { import: net/netip, type: Addr }, type: string } }
events: { a.b: { payload: { h: "Host?" } } }`,
			after: `
types: { Host: { go: { import: math/big, type: Int }, type: int64 } }
events: { a.b: { payload: { h: "Host?" } } }`,
			want: []string{"error both: field h of event a.b is math/big.Int and was net/netip.Addr: neither program can decode the rows of the other [type-changed]"},
		},
		"a type that breaks two old versions, and leaves something out": {
			before: `
types: { Money: { fields: { amount: int64, note: "string?" } } }
events: { a.b: { version: 2, payload: { total: Money }, history: { 1: { payload: { m: Money } } } } }`,
			after: `
types: { Money: { fields: { amount: string } } }
events: { a.b: { version: 3, payload: {}, history: { 1: { payload: { m: Money } }, 2: { payload: { total: Money } } } } }`,
			want: []string{
				"error backward: field amount of type Money is string and was int64: the new program cannot decode old rows [type-changed]",
				"error forward: event a.b is version 3 and was 2 [version-raised]",
			},
		},
		"a history of types that contain themselves": {
			before: `
types: { Tree: { fields: { label: string, children: "[]Tree" } } }
events: { a.b: { payload: { tree: Tree } } }`,
			after: `
types: { Plant: { fields: { label: string, children: "[]Plant" } } }
events: { a.b: { version: 2, payload: {}, history: { 1: { payload: { tree: Plant } } } } }`,
			want: []string{"error forward: event a.b is version 2 and was 1 [version-raised]"},
		},
		"a history in which a field has become optional": {
			before: `
events: { a.b: { payload: { n: int } } }`,
			after: `
events: { a.b: { version: 2, payload: {}, history: { 1: { payload: { n: "int?" } } } } }`,
			want: []string{"error forward: event a.b is version 2 and was 1 [version-raised]"},
		},
		"fields that could have been renamed in two ways": {
			before: `
events: { a.b: { payload: { a: string, b: string, c: int } } }`,
			after: `
events: { a.b: { payload: { d: string, e: int, f: int } } }`,
			want: []string{
				"warning both: field d of event a.b is new, and may be one of fields a, b, which are gone: neither program sees what rows of the other have under its name [field-renamed]",
				"warning both: field e of event a.b is new, and may be field c, which is gone: neither program sees what rows of the other have under its name [field-renamed]",
				"warning both: field f of event a.b is new, and may be field c, which is gone: neither program sees what rows of the other have under its name [field-renamed]",
			},
		},
		"a value of an enum with a number that none had": {
			before: `
types: { Level: { enum: { low: 1, high: 2 } } }
events: { a.b: { payload: { level: Level } } }`,
			after: `
types: { Level: { enum: { low: 1, high: 3 } } }
events: { a.b: { payload: { level: Level } } }`,
			want: []string{"error both: value high of type Level is 3 and was 2: rows mean something else by it in the other program [enum-renumbered]"},
		},
		"a subscription that goes elsewhere with the end of its event": {
			before: `
events:
  a.b: { subscriptions: { x: {} } }
  a.c: {}`,
			after: `
events:
  a.c: { subscriptions: { x: {} } }`,
			want: []string{
				"error backward: event a.b is gone [event-removed]",
				"error both: subscription x is for event a.c, and was for event a.b [subscription-moved]",
			},
		},
		"numbers of an enum that change places": {
			before: `
types: { Level: { enum: { low: 1, high: 2, odd: 3, top: 9 } } }
events: { a.b: { payload: { level: Level } } }`,
			after: `
types: { Level: { enum: { low: 2, high: 1, even: 4, peak: 9 } } }
events: { a.b: { payload: { level: Level } } }`,
			want: []string{
				"warning backward: value odd of type Level is gone: old rows decode, but may hold what it does not allow [enum-value-removed]",
				"error both: value low of type Level is 2 and was 1: rows mean something else by it in the other program [enum-renumbered]",
				"error both: value high of type Level is 1 and was 2: rows mean something else by it in the other program [enum-renumbered]",
				"warning forward: value even of type Level is new: new rows decode in the old program, but may hold what it does not allow [enum-value-added]",
			},
		},
		"constraints that are tighter, and some that are not": {
			before: `
events: { a.b: { payload: { a: { type: duration, min: 1s, max: 2h }, b: { type: string, max_length: 5, pattern: x }, c: { type: "[]string", min_items: 2 } } } }`,
			after: `
events: { a.b: { payload: { a: { type: duration, min: 500ms, max: 90m }, b: { type: string, max_length: 6, pattern: y }, c: { type: "[]string", min_items: 3, unique: true } } } }`,
			want: []string{
				"note backward: max of field a of event a.b is 1h30m0s and was 2h0m0s [constraint-tightened]",
				"note backward: pattern of field b of event a.b is y and was x [constraint-tightened]",
				"note backward: min_items of field c of event a.b is 3 and was 2 [constraint-tightened]",
				"note backward: unique of field c of event a.b is true [constraint-tightened]",
			},
		},
		"a life that is shorter, once for all that inherit it": {
			before: `
defaults: { expires_after: 2h }
events:
  a.b: { subscriptions: { x: {}, y: { expires_after: 1h } } }
  a.c: {}`,
			after: `
defaults: { expires_after: 1h }
events:
  a.b: { subscriptions: { x: {}, y: { expires_after: 1h } } }
  a.c: {}`,
			want: []string{"note backward: expires_after is 1h0m0s and was 2h0m0s [expires-sooner]"},
		},
		"a subscription of an event that is gone": {
			before: `
events:
  a.b: { subscriptions: { x: {} } }
  a.c: {}`,
			after: `
events:
  a.c: {}`,
			want: []string{
				"error backward: event a.b is gone [event-removed]",
				"warning backward: subscription x of event a.b is gone [subscription-removed]",
			},
		},
		"an alias of a subscription that is dropped": {
			before: `
events: { a.b: { subscriptions: { x: { aliases: [y] } } } }`,
			after: `
events: { a.b: { subscriptions: { x: {} } } }`,
			want: []string{"warning backward: alias y of subscription x is gone [alias-removed]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := told(compare(t, test.before, test.after))
			slices.Sort(got)
			slices.Sort(test.want)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnEventThatIsGoneIsLookedForByItsPayload(t *testing.T) {
	const before = `
types: { Tree: { fields: { label: string, kind: Kind, children: "[]Tree?" } }, Kind: { enum: [a, b] } }
events:
  a.b: { payload: { tree: Tree, n: "int?" } }`
	for after, want := range map[string]string{
		strings.ReplaceAll(before, "Tree", "Plant"):                   "a.c",
		strings.ReplaceAll(before, "[a, b]", "[b, a]"):                "a.c",
		strings.Replace(before, `"int?"`, "int", 1):                   "its new name",
		strings.Replace(before, "[a, b]", "[a, b, c]", 1):             "its new name",
		strings.Replace(before, "[a, b]", "[a, c]", 1):                "its new name",
		strings.Replace(before, "label: string", "label: uuid", 1):    "its new name",
		strings.Replace(before, `n: "int?"`, `m: "int?"`, 1):          "its new name",
		strings.Replace(before, `"[]Tree?"`, `"map[string]Tree?"`, 1): "its new name",
	} {
		all := compare(t, before, strings.Replace(after, "a.b:", "a.c:", 1))
		if len(all) != 2 || string(all[0].Rule) != "event-removed" || !strings.HasPrefix(all[0].Hint, "if it was renamed, add aliases: [a.b] to "+want+"; ") {
			t.Errorf("%s\ngives %v", after, all)
		}
	}
}

func TestAFindingHasBothPlacesAndAWayOut(t *testing.T) {
	all := compare(t, `
types: { Money: { fields: { amount: int64 } } }
events:
  order.placed: { payload: { total: Money } }
  order.paid: { payload: { total: Money } }`, `
types: { Money: { fields: { amount: string } } }
events:
  order.placed: { payload: { total: Money } }
  order.paid: { payload: { total: Money } }`)
	var b strings.Builder
	catalog.Findings{all[0].Finding}.Render(&b)
	want := `events.yaml:3:37: field amount of type Money is string and was int64: neither program can decode the rows of the other; raise the version of order.placed, order.paid and keep the old payload under history, with the old Money under another name [type-changed]
    3 | types: { Money: { fields: { amount: string } } }
      |                                     ^^^^^^
  main:events.yaml:3:37: it was here
    3 | types: { Money: { fields: { amount: int64 } } }
      |                                     ^^^^^
`
	if diff := cmp.Diff(want, b.String()); diff != "" || len(all) != 1 {
		t.Errorf("%d findings (-want +got):\n%s", len(all), diff)
	}
}

// A key names a finding, in the catalogue's own words, wherever its lines are.
func TestAFindingHasAKeyThatStaysTheSame(t *testing.T) {
	const before = `
types:
  Money: { fields: { amount: int64, tags: "[]int64" } }
  Color: { enum: [red, green] }
  Level: { enum: { low: 1, high: 2 } }
  Way:   { one_of: { land: { fields: { miles: int32 } }, sea: { fields: {} } } }
events:
  a.b: { partition_by: n, aliases: [a.z], expires_after: 1h, payload: { n: int64, o: "string?", total: Money, color: Color, level: Level, way: Way, all: "map[string]int64" }, subscriptions: { x: { aliases: [y] }, z: {} } }
  a.c: { version: 2, payload: { s: string, r: int64 }, history: { 1: { payload: { s: int32 } } } }
  a.d: {}
  a.e: {}`
	const after = `
types:
  Money: { fields: { amount: string, tags: "[]bool" } }
  Color: { enum: [red, blue] }
  Level: { enum: { low: 1, high: 3 } }
  Way:   { one_of: { land: { fields: { miles: bool } }, air: { fields: {} } } }
events:
  a.b: { partition_by: o, expires_after: 1m, payload: { n: { type: int64, min: 1 }, o: string, total: Money, color: Color, level: Level, way: Way, all: "map[string]string", extra: bool } }
  a.c: { version: 3, payload: { s: string }, history: { 1: dropped, 2: { payload: { s: string } } } }
  a.d: { subscriptions: { x: {} } }
  a.f: { aliases: [a.z] }`
	keys := func(all []lint.Finding) (keys []string) {
		for _, f := range all {
			keys = append(keys, f.Key)
		}
		slices.Sort(keys)
		return keys
	}
	want := []string{
		"alias-moved a.f a.z", "alias-removed a.d x y", "constraint-tightened a.b 1 n min", "enum-renumbered Level high 2->3", "enum-value-added Color blue", "enum-value-removed Color green",
		"event-removed a.e", "expires-sooner a.b", "field-added a.b 1 extra", "field-required a.b 1 o", "history-dropped a.c 1", "history-edited a.c 2", "partition-changed a.b n->o",
		"subscription-moved x a.b->a.d", "subscription-removed a.b z", "type-changed Money amount int64->string", "type-changed Money tags[] int64->bool",
		"type-changed WayLand miles int32->bool", "type-changed a.b 1 all[] int64->string", "variant-added Way air", "variant-removed Way sea", "version-raised a.c 2->3",
	}
	first := compare(t, before, after)
	if diff := cmp.Diff(want, keys(first)); diff != "" {
		t.Errorf("(-want +got):\n%s\n%v", diff, told(first))
	}
	if moved := compare(t, "\n# moved\n"+before, strings.Replace(after, "events:", "\n\nevents:", 1)); !slices.Equal(keys(moved), keys(first)) {
		t.Errorf("%v", keys(moved))
	}
}

func TestAnAcceptedFindingIsANoteWithTheReason(t *testing.T) {
	const before = `
events: { a.b: { payload: { n: int } } }`
	const after = `
events: { a.b: { payload: { n: int, email: string, phone: string } } }`
	for accepted, want := range map[string][]string{
		"": {"warning field-added a.b 1 email", "warning field-added a.b 1 phone"},
		"\naccepted: { field-added a.b 1 email: No rows are left. }":                        {"note field-added a.b 1 email accepted: No rows are left.", "warning field-added a.b 1 phone"},
		"\naccepted: { field-added a.b 2 email: x, field-removed a.b 1 email: x }":          {"warning field-added a.b 1 email", "warning field-added a.b 1 phone"},
		"\naccepted: { field-added a.b 1 email: x., field-added a.b 1 phone: \" y\\nz \" }": {"note field-added a.b 1 email accepted: x.", "note field-added a.b 1 phone accepted: y z"},
	} {
		var got []string
		for _, f := range compare(t, before, accepted+after) {
			text := f.Severity.String() + " " + f.Key
			if f.Severity == lint.Note {
				text += " " + f.Hint
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", accepted, diff)
		}
	}
	// What was accepted before is not accepted now.
	if all := compare(t, "\naccepted: { field-added a.b 1 email: x }"+before, after); len(all) != 2 || all[0].Severity != lint.Warning {
		t.Errorf("%v", told(all))
	}
}

func TestAValueThatIsGoneCanStayOnTheWire(t *testing.T) {
	for enum, want := range map[string]string{
		"[red, mauve]":         "keep it as it is stored, with another go_name or deprecated",
		"{ red: 1, mauve: 7 }": "keep its number 7, under another name or deprecated",
	} {
		const event = "\nevents: { a.b: { payload: { c: Color } } }\ntypes: { Color: { enum: "
		all := compare(t, event+enum+" } }", event+strings.NewReplacer(", mauve: 7", "", ", mauve", "").Replace(enum)+" } }")
		if len(all) != 1 || !strings.HasPrefix(all[0].Hint, want+", or raise the version of a.b") {
			t.Errorf("%v %s", told(all), all[0].Hint)
		}
	}
}
