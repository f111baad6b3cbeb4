package breaking_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/diag"
)

// A key names a finding, in the catalogue's own words, wherever its lines are.
func TestAFindingHasAKeyThatStaysTheSame(t *testing.T) {
	const before = `
types:
  Money: { fields: { amount: int64, tags: "[]int64" } }
  Color: { enum: [red, green] }
  Level: { enum: { low: 1, high: 2 } }
  Way:   { one_of: { land: { fields: { miles: int32 } }, sea: { fields: {} } } }
events:
  a.b: { partition_by: n, dedupe_by: n, await_by: n, aliases: [a.z], expires_after: 1h, payload: { n: int64, o: "string?", total: Money, color: Color, level: Level, way: Way, all: "map[string]int64" }, subscriptions: { x: { aliases: [y] }, z: {}, g: {} } }
  a.c: { version: 2, payload: { s: string, r: int64 }, history: { 1: { payload: { s: int32 } } } }
  a.d: {}
  a.e: {}
schedules:
  gone: { event: a.d, every: 1h }
  moved: { event: a.d, every: 1h }
  kept: { event: a.d, every: 1h }`
	const after = `
types:
  Money: { fields: { amount: string, tags: "[]bool" } }
  Color: { enum: [red, blue] }
  Level: { enum: { low: 1, high: 3 } }
  Way:   { one_of: { land: { fields: { miles: bool } }, air: { fields: {} } } }
events:
  a.b: { partition_by: o, dedupe_by: o, expires_after: 1m, payload: { n: { type: int64, min: 1 }, o: string, total: Money, color: Color, level: Level, way: Way, all: "map[string]string", extra: bool }, subscriptions: { g: { group: two }, h: { group: two } } }
  a.c: { version: 3, payload: { s: string }, history: { 1: dropped, 2: { payload: { s: string } } } }
  a.d: { subscriptions: { x: {} } }
  a.f: { aliases: [a.z] }
schedules:
  moved: { event: a.f, every: 1h }
  kept: { event: a.d, every: 2h, missed: all }
  new: { event: a.d, every: 1h }`
	keys := func(all diag.Findings) (keys []string) {
		for _, f := range all {
			keys = append(keys, f.Key)
		}
		slices.Sort(keys)
		return keys
	}
	want := []string{
		"alias-moved a.f a.z", "alias-removed a.d x y", "await-changed a.b n->nothing", "constraint-tightened a.b 1 n min", "dedupe-changed a.b n->o", "enum-renumbered Level high 2->3", "enum-value-added Color blue", "enum-value-removed Color green",
		"event-removed a.e", "expires-sooner a.b", "field-added a.b 1 extra", "field-required a.b 1 o", "history-dropped a.c 1", "history-edited a.c 2", "partition-changed a.b n->o",
		"schedule-moved moved a.d->a.f", "schedule-removed a.d gone",
		"subscription-moved x a.b->a.d", "subscription-regrouped a.b g g->two", "subscription-removed a.b z", "type-changed Money amount int64->string", "type-changed Money tags[] int64->bool",
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
			if f.Severity == diag.Note {
				text += " " + f.Hint
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", accepted, diff)
		}
	}
	// What was accepted before is not accepted now.
	if all := compare(t, "\naccepted: { field-added a.b 1 email: x }"+before, after); len(all) != 2 || all[0].Severity != diag.Warning {
		t.Errorf("%v", told(all))
	}
}

// Nothing in a stored event refers to a limit. That a program names one that is gone is for the compiler to say.
func TestLimitsChangeNothingOfStoredEvents(t *testing.T) {
	const before = `
limits: { bank: { at_once: 3 }, mail: { rate: 5 per 1s } }
events: { a.b: { limits: [bank, { limit: mail, by: n }], payload: { n: int } } }`
	for _, after := range []string{
		"events: { a.b: { payload: { n: int } } }",
		"limits: { cash: { at_once: 1 } }\nevents: { a.b: { limits: [{ limit: cash, by: n }], payload: { n: int } } }",
	} {
		if all := compare(t, before, "\n"+after); all != nil {
			t.Errorf("%s: %v", after, told(all))
		}
	}
}
