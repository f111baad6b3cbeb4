package breaking_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/breaking"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// header makes a catalogue of the pieces in the examples of rules.
const header = "version: 1\npackage: p"

func compare(t *testing.T, before, after string) diag.Findings {
	t.Helper()
	return compareTexts(t, header+before, header+after)
}

// compareTexts compares catalogues that have the same name in two places.
func compareTexts(t fataler, before, after string) diag.Findings {
	state := func(text, prefix string) breaking.State {
		c, findings := parse.Text("events.yaml", []byte(text))
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
func told(all diag.Findings) []string {
	var texts []string
	for _, f := range all {
		texts = append(texts, fmt.Sprintf("%s %s: %s [%s]", f.Severity, f.Direction, f.Message, f.Rule))
	}
	return texts
}

func TestEachRuleReportsItsBadExampleAndNotTheGoodOne(t *testing.T) {
	for _, rule := range breaking.Rules() {
		if rule.Bad == "" {
			continue // there is a test of the verb
		}
		t.Run(rule.ID, func(t *testing.T) {
			worst, directions := diag.Off, map[diag.Direction]bool{}
			for _, f := range compare(t, rule.Before, rule.Bad) {
				if f.Rule != rule.Rule {
					continue
				}
				worst, directions[f.Direction] = max(worst, f.Severity), true
				if f.Message == "" || f.Subject == "" || f.Pos.File != "events.yaml" || f.Line == "" || f.Pos.Column+f.Length-1 > len(f.Line) {
					t.Errorf("incomplete: %+v", f)
				}
				if f.Severity > diag.Note && f.Hint == "" {
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
				if f.Rule == rule.Rule {
					t.Errorf("the good example is reported: %s", f)
				}
			}
			if own := compare(t, rule.Bad, rule.Bad); len(own) > 0 {
				t.Errorf("without a change there is %v", told(own))
			}
		})
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
		got := map[diag.Direction]diag.Severity{}
		all := compare(t, written(test.before), written(test.after))
		for _, f := range all {
			if f.Severity == diag.Note {
				continue
			}
			for _, direction := range []diag.Direction{diag.Backward, diag.Forward} {
				if f.Direction&direction != 0 {
					got[direction] = max(got[direction], f.Severity)
				}
			}
		}
		for direction, want := range map[diag.Direction]string{diag.Backward: test.backward, diag.Forward: test.forward} {
			if want == "" {
				want = "off"
			}
			if got[direction].String() != want {
				t.Errorf("%s → %s: %s %s, want %s: %v", test.before, test.after, direction, got[direction], want, told(all))
			}
		}
	}
}

func TestARemovedEventIsMatchedByItsPayload(t *testing.T) {
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
		if len(all) != 2 || all[0].Rule != rules.EventRemoved || !strings.HasPrefix(all[0].Hint, "if it was renamed, add aliases: [a.b] to "+want+"; ") {
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
	all[:1].Render(&b)
	want := `events.yaml:3:37: error: field amount of type Money is string and was int64: neither program can decode the rows of the other; raise the version of order.placed, order.paid and keep the old payload under history, with the old Money under another name [type-changed Money amount int64->string]
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

func TestACatalogueThatIsRolledBackBehindAnUpcastIsToldWhatBecomesOfTheEvents(t *testing.T) {
	raised := "\nevents: { a.b: { version: 2, payload: { n: string }, history: { 1: { payload: { n: int64 } } } } }"
	for settings, want := range map[string]string{
		"":                        "hold its events for 7d (hold_unknown), and then make dead letters of them",
		", hold_unknown: 2d":      "hold its events for 2d (hold_unknown), and then make dead letters of them",
		", hold_unknown: \"off\"": "make dead letters of its events at once (hold_unknown is off)",
	} {
		lowered := "\nevents: { a.b: { payload: { n: int64 }" + settings + " } }"
		all := compare(t, raised, lowered)
		if len(all) == 0 || all[0].Rule != rules.VersionLowered ||
			all[0].Hint != "stored events of version 2 have no upcast to version 1, so this catalogue cannot be rolled back to: its programs "+want+"; give the new payload version 3" {
			t.Errorf("%s: %v: %s", settings, told(all), all[0].Hint)
		}
	}
}
