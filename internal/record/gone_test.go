package record_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/record"
)

func accepting(o *record.Options) { o.Accept = true }

// What is gone stays in stored events, so that what comes back in its place is compared with it.
func TestATypeThatReturnsIsComparedWithItsLastForm(t *testing.T) {
	const enum = "types: { Level: { enum: { %s } } }\nevents: { a.b: { payload: { level: Level } } }\n"
	const union = "types: { Way: { one_of: { %s sea: { fields: { port: string } } } }, Road: { fields: { miles: int32, way: \"Way?\" } } }\nevents: { a.b: { payload: { way: Way } } }\n"
	const inner = "events:\n  a.b: { payload: { %s a: int } }\n"
	in := func(form, part string) string {
		return strings.Replace(form, "%s", part, 1)
	}
	for name, test := range map[string]struct {
		before, without, after string
		want                   []string
	}{
		"a number under another name": {in(enum, "low: 1, high: 2"), in(enum, "low: 1"), in(enum, "low: 1, top: 2"),
			[]string{"enum-renumbered Level high->top 2", "(enum-value-added Level top)"}},
		"a number under its name":     {in(enum, "low: 1, high: 2"), in(enum, "low: 1"), in(enum, "low: 1, high: 2"), []string{"(enum-value-added Level high)"}},
		"a name under another number": {in(enum, "low: 1, high: 2"), in(enum, "low: 1"), in(enum, "low: 1, high: 3"), []string{"(enum-value-added Level high)"}},
		"a variant with another type": {in(union, "land: { fields: { miles: int32 } },"), in(union, ""), in(union, "land: { fields: { miles: string } },"),
			[]string{"type-changed WayLand miles int32->string", "(variant-added Way land)"}},
		"a variant as it was":              {in(union, "land: { fields: { miles: int32 } },"), in(union, ""), in(union, "land: { fields: { miles: int32 } },"), []string{"(variant-added Way land)"}},
		"a variant of a struct of its own": {in(union, "land: Road,"), in(union, ""), in(union, "land: { fields: { miles: string } },"), []string{"type-changed WayLand miles int32->string", "(variant-added Way land)"}},
		"an event with another type": {"events: { a.b: { payload: { n: int32 } }, a.c: {} }\n", "events: { a.c: {} }\n", "events: { a.b: { payload: { n: string } }, a.c: {} }\n",
			[]string{"type-changed a.b 1 n int32->string", "(event-added a.b)"}},
		"an event as it was":        {"events: { a.b: { payload: { n: int32 } }, a.c: {} }\n", "events: { a.c: {} }\n", "events: { a.b: { payload: { n: int32 } }, a.c: {} }\n", []string{"(event-added a.b)"}},
		"an event without a field":  {"events: { a.b: {}, a.c: {} }\n", "events: { a.c: {} }\n", "events: { a.b: { payload: { n: int32 } }, a.c: {} }\n", []string{"(event-added a.b)", "field-added a.b 1 n"}},
		"an event as an alias":      {"events: { a.b: { payload: { n: int32 } }, a.c: { payload: { n: string } } }\n", "events: { a.c: { payload: { n: string } } }\n", "events: { a.c: { aliases: [a.b], payload: { n: string } } }\n", []string{"type-changed a.c 1 n int32->string"}},
		"an event in a new version": {"events: { a.b: { payload: { n: int32 } }, a.c: {} }\n", "events: { a.c: {} }\n", "events: { a.b: { version: 2, payload: { n: string }, history: { 1: { payload: { n: int32 } } } }, a.c: {} }\n", []string{"(event-added a.b)"}},
		"a field with another default inside of its struct in place": {in(inner, "m: { type: \"{}?\", fields: { k: { type: string, default: xx, min_length: 1 } } },"), in(inner, ""),
			in(inner, "m: { type: \"{}?\", fields: { k: { type: string, default: yy, min_length: 2 } } },"), []string{"(constraint-tightened ABM k min_length)", "(default-changed ABM k)"}},
		"a field with another default inside of its type": {"types: { M: { fields: { k: { type: string, default: x } } } }\n" + in(inner, `m: "[]M?",`), in(inner, ""), "types: { M: { fields: { k: { type: string, default: y } } } }\n" + in(inner, `m: "[]M?",`),
			[]string{"(default-changed M k)"}},
		"an event with another default inside of a struct in place": {in(inner, "m: { type: \"{}?\", fields: { k: { type: string, default: x } } },") + "  a.c: {}\n", "events:\n  a.c: {}\n",
			in(inner, "m: { type: \"{}?\", fields: { k: { type: string, default: y } } },") + "  a.c: {}\n", []string{"(default-changed ABM k)", "(event-added a.b)"}},
		"a variant with another default": {in(union, "land: { fields: { n: { type: int32, default: 1 } } },"), in(union, ""), in(union, "land: { fields: { n: { type: int32, default: 2 } } },"),
			[]string{"(default-changed WayLand n)", "(variant-added Way land)"}},
		"an event in an old version": {"events: { a.b: { version: 2, payload: { n: string }, history: { 1: { payload: { n: int32 } } } }, a.c: {} }\n", "events: { a.c: {} }\n",
			"events: { a.b: { payload: { n: int32 } }, a.c: {} }\n", []string{"version-lowered a.b 2->1", "(event-added a.b)"}},
		"a dropped version": {"events: { a.b: { version: 2, history: { 1: { payload: { n: int32 } } } } }\n", "events: { a.b: { version: 2, history: { 1: dropped } } }\n",
			"events: { a.b: { version: 2, history: { 1: { payload: { n: string } } } } }\n", []string{"type-changed a.b 1 n int32->string"}},
		"a version that was taken back": {"events: { a.b: { version: 2, payload: { n: int32 }, history: { 1: dropped } } }\n", "events: { a.b: {} }\n",
			"events: { a.b: { version: 2, payload: { n: string }, history: { 1: {} } } }\n", []string{"(version-raised a.b 1->2)", "type-changed a.b 2 n int32->string"}},
	} {
		t.Run(name, func(t *testing.T) {
			without := compare(t, test.without, recordIn(recordOf(t, test.before)), accepting)
			text := string(without.File.Content)
			// It stays in the record while other things change, and is found once.
			if again := compare(t, test.without, recordIn(text)); string(again.File.Content) != text || len(again.Findings) > 0 {
				t.Errorf("%q changes the record:\n%s", keys(again), cmp.Diff(text, string(again.File.Content)))
			}
			found := compare(t, test.after, recordIn(text))
			got := keys(found)
			slices.Sort(got)
			slices.Sort(test.want)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\nrecord:\n%s", diff, text)
			}
			// Once it is accepted it is what counts.
			after := compare(t, test.after, recordIn(text), accepting)
			if last := compare(t, test.after, recordIn(string(after.File.Content))); len(last.Findings) > 0 {
				t.Errorf("once more it finds %q", keys(last))
			}
		})
	}
}

// A field that goes takes along what its type was made of, and what was gone from that before.
func TestRemovedPartsOfATypeStayRecordedWhenTheTypeIsNotUsed(t *testing.T) {
	for name, form := range map[string]string{
		"a struct":  "types: { Money: { fields: { amount: int64%s } } }\nevents: { a.b: { payload: { n: int%s } } }\n",
		"a variant": "types: { Money: { one_of: { cash: { fields: { amount: int64%s } } } } }\nevents: { a.b: { payload: { n: int%s } } }\n",
	} {
		t.Run(name, func(t *testing.T) {
			const use = `, total: "[]Money?"`
			var last string
			for _, parts := range [][2]string{{`, cents: "int64?"`, use}, {"", use}, {"", ""}, {"", ""}} {
				before := recordIn(last)
				if last == "" {
					before = nil
				}
				last = string(compare(t, fmt.Sprintf(form, parts[0], parts[1]), before).File.Content)
			}
			for cents, want := range map[string]string{`, cents: "string?"`: "cents int64->string", `, cents: "int64?"`: "", "": ""} {
				got := compare(t, fmt.Sprintf(form, cents, use), recordIn(last))
				found := strings.Join(keys(got), " ")
				if want == "" && found != "" || !strings.Contains(found, want) {
					t.Errorf("%q: %s", cents, found)
				}
			}
			// It is used again without the field, which stays reserved.
			again := string(compare(t, fmt.Sprintf(form, "", use), recordIn(last)).File.Content)
			if got := compare(t, fmt.Sprintf(form, `, cents: "string?"`, use), recordIn(again)); !strings.Contains(strings.Join(keys(got), " "), "cents int64->string") {
				t.Errorf("%q\n%s", keys(got), again)
			}
		})
	}
}
