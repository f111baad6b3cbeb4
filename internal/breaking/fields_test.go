package breaking_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/breaking"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// What is said of fields that were renamed or removed. The pieces are payloads of one event.
func TestFieldsThatWereRenamedOrRemoved(t *testing.T) {
	const (
		renamedForward = ": the old program does not see what new rows have under the new name [field-renamed]"
		renamedBoth    = ": neither program sees what rows of the other have under its name [field-renamed]"
		gone           = ": in new rows the old program sees the zero value [field-removed]"
		zero           = ": in old rows the new program sees the zero value "
		another        = ": old rows may hold another value under it "
	)
	for name, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"a rename that is said": {`payload: { ward: string }`, `payload: { district: { type: string, was: ward } }`,
			[]string{"warning forward: field district of event a.b was ward" + renamedForward}},
		"one to an optional field that is not said": {`payload: { ward: string }`, `payload: { district: "string?" }`,
			[]string{"warning both: field district of event a.b is new, and may be a new name of field ward, which is gone" + renamedBoth}},
		"one to another type that fits": {`payload: { ward: uuid }`, `payload: { district: "string?" }`,
			[]string{"warning both: field district of event a.b is new, and may be a new name of field ward, which is gone" + renamedBoth}},
		"one to a field with a default": {`payload: { ward: string }`, `payload: { district: { type: string, default: none } }`,
			[]string{"warning both: field district of event a.b is new, and may be a new name of field ward, which is gone" + renamedBoth}},
		"a field that is gone and one that is new, of types that do not fit": {`payload: { ward: "string?" }`, `payload: { floor: "int?" }`,
			[]string{"note forward: field ward of event a.b is gone [field-removed]"}},
		"one that is really gone": {`payload: { ward: "string?" }`, `payload: { district: "string?" }, reserved: [ward]`, nil},
		"one that is really gone, and was required": {`payload: { ward: string }`, `payload: { district: string }, reserved: [ward]`,
			[]string{"warning forward: field ward of event a.b is gone" + gone, "warning backward: field district of event a.b is new, and is required" + zero + "[field-added]"}},
		"a field of another name that goes elsewhere": {`payload: { ward: string, x: "string?" }`, `payload: { ward: string, y: { type: "string?", was: z } }`,
			[]string{"warning both: field y of event a.b is new, and may be a new name of field x, which is gone" + renamedBoth}},
		"a rename to another type": {`payload: { ward: string }`, `payload: { district: { type: int, was: ward } }`,
			[]string{"warning forward: field district of event a.b was ward" + renamedForward,
				"error backward: field district of event a.b is int and was string: the new program cannot decode old rows [type-changed]"}},
		"a rename of an optional field to a required one": {`payload: { ward: "string?" }`, `payload: { district: { type: string, was: ward } }`,
			[]string{"warning forward: field district of event a.b was ward" + renamedForward,
				"warning backward: field district of event a.b is no longer optional" + zero + "[field-required]"}},
		"a field that becomes nullable": {`payload: { ward: string }`, `payload: { ward: string|null }`,
			[]string{"warning forward: field ward of event a.b has become nullable: in new rows the old program sees the zero value [field-optional]"}},
		"a nullable field that is not any more": {`payload: { ward: string|null }`, `payload: { ward: string }`,
			[]string{"warning backward: field ward of event a.b is no longer nullable" + zero + "[field-required]"}},
		"the same with a default for what is null": {`payload: { ward: string|null }`, `payload: { ward: { type: string, default: none } }`,
			[]string{`note backward: the default of field ward of event a.b is "none" and was nothing [default-changed]`}},
		"an optional field that becomes nullable": {`payload: { ward: "string?" }`, `payload: { ward: string|null }`, nil},
		"a nullable field that becomes optional":  {`payload: { ward: string|null }`, `payload: { ward: "string?" }`, nil},
		"a new nullable field":                    {`payload: { x: int }`, `payload: { x: int, ward: string|null }`, nil},
		"a field that differs from another only in case": {`payload: { ward: "string?" }`, `payload: { ward: "string?", w: { type: "string?", json: Ward } }`,
			[]string{"warning forward: field Ward of event a.b is new, and differs from field ward only in case: the old program reads it in new rows for that field [field-renamed]"}},
		"one of two such fields that is gone": {`payload: { ward: "string?", w: { type: "string?", json: Ward } }`, `payload: { ward: "string?" }`,
			[]string{"warning backward: field Ward of event a.b is gone, and differs from field ward only in case: the new program reads it in old rows for that field [field-renamed]", "note forward: field Ward of event a.b is gone [field-removed]"}},
		"two such fields that stay":     {`payload: { ward: "string?", w: { type: "string?", json: Ward } }`, `payload: { w: { type: "string?", json: Ward }, ward: "string?" }`, nil},
		"a nullable field that is gone": {`payload: { x: int, ward: string|null }`, `payload: { x: int }`, []string{"note forward: field ward of event a.b is gone [field-removed]"}},
		"a nullable field of another type": {`payload: { ward: string|null }`, `payload: { ward: int|null }`,
			[]string{"error both: field ward of event a.b is int and was string: neither program can decode the rows of the other [type-changed]"}},
		"the same with a default": {`payload: { ward: "string?" }`, `payload: { district: { type: string, was: ward, default: none } }`,
			[]string{"warning forward: field district of event a.b was ward" + renamedForward,
				`note backward: the default of field district of event a.b is "none" and was nothing [default-changed]`}},
		"a second rename": {`payload: { ward: { type: string, was: area } }`, `payload: { district: { type: string, was: [ward, area] } }`,
			[]string{"warning forward: field district of event a.b was ward" + renamedForward}},
		"a second rename that forgets the first": {`payload: { ward: { type: string, was: area } }`, `payload: { district: { type: string, was: ward } }`,
			[]string{"warning forward: field district of event a.b was ward" + renamedForward,
				"warning backward: former name area of field district of event a.b is gone: the new program does not see what old rows have under it [was-removed]"}},
		"one that reserves the first": {`payload: { ward: { type: string, was: area } }`, `payload: { ward: string }, reserved: [area]`, nil},
		"a rename that is taken back": {`payload: { district: { type: string, was: ward } }`, `payload: { ward: { type: string, was: district } }`, nil},
		"a former name that becomes a field": {`payload: { district: { type: string, was: ward } }`, `payload: { district: string, ward: "string?" }`,
			[]string{"error backward: ward is a name of field ward of event a.b, and was a name of field district" + another + "[was-moved]"}},
		"a field that is put into one that was there": {`payload: { a: string, b: string }`, `payload: { b: { type: string, was: a } }`,
			[]string{"warning forward: field a of event a.b is gone" + gone}},
		"one of another type": {`payload: { a: "int?", b: string }`, `payload: { b: { type: string, was: a } }`,
			[]string{"error backward: field b of event a.b is string and was int: the new program cannot decode old rows [type-changed]",
				"note forward: field a of event a.b is gone [field-removed]"}},
		"a dedupe key that is renamed": {`payload: { ward: string }, dedupe_by: ward`, `payload: { district: { type: string, was: ward } }, dedupe_by: district`,
			[]string{"warning forward: field district of event a.b was ward" + renamedForward}},
		"a dedupe key that is new": {`payload: { ward: string }`, `payload: { ward: string }, dedupe_by: ward`, nil},
		"a field to wait by that is renamed": {`payload: { ward: string }, await_by: ward`, `payload: { district: { type: string, was: ward } }, await_by: district`,
			[]string{"warning forward: field district of event a.b was ward" + renamedForward}},
		"a field to wait by that is new": {`payload: { ward: string }`, `payload: { ward: string }, await_by: ward`, nil},
		"a field to wait by that is gone": {`payload: { ward: string }, await_by: ward`, `payload: { ward: string }`,
			[]string{"warning backward: events a.b are awaited by nothing, and were awaited by ward: flows that wait for it never wake [await-changed]"}},
		"another field to wait by": {`payload: { ward: string, bed: string }, await_by: ward`, `payload: { ward: string, bed: string }, await_by: bed`,
			[]string{"warning backward: events a.b are awaited by bed, and were awaited by ward: flows that wait for it never wake [await-changed]"}},
		"a partition key that is renamed": {`payload: { ward: string }, partition_by: ward`, `payload: { district: { type: string, was: ward } }, partition_by: district`,
			[]string{"warning forward: field district of event a.b was ward" + renamedForward}},
		"a new field with a default":            {`payload: { a: int }`, `payload: { a: int, b: { type: int, default: 1 } }`, nil},
		"a default that goes":                   {`payload: { b: { type: int, default: 1 } }`, `payload: { b: int }`, []string{"warning backward: the default of field b of event a.b is nothing and was 1" + zero + "[default-changed]"}},
		"one that goes with the field required": {`payload: { b: { type: int, default: 1 } }`, `payload: { b: "int?" }`, []string{"warning forward: field b of event a.b has become optional" + ": in new rows the old program sees the zero value [field-optional]", "note backward: the default of field b of event a.b is nothing and was 1 [default-changed]"}},
		"a name that is no longer reserved":     {`reserved: [x, y]`, `reserved: [x]`, []string{"note backward: name y of event a.b is no longer reserved [reserved-removed]"}},
		"a reserved name that is used":          {`reserved: [x]`, `payload: { x: "int?" }`, []string{"warning backward: x is a name of field x of event a.b, and was reserved" + another + "[reserved-removed]"}},
		"one that is a former name":             {`reserved: [x]`, `payload: { y: { type: "int?", was: x } }`, []string{"warning backward: x is a name of field y of event a.b, and was reserved" + another + "[reserved-removed]"}},
		"one that a new version is free to use": {`payload: { a: int }, reserved: [x]`, `version: 2, payload: { x: "int?" }, history: { 1: { payload: { a: int } } }`,
			[]string{"error forward: event a.b is version 2 and was 1 [version-raised]"}},
		"a history that keeps former names": {`payload: { ward: { type: string, was: area } }`, `version: 2, payload: {}, history: { 1: { payload: { ward: { type: string, was: area } } } }`,
			[]string{"error forward: event a.b is version 2 and was 1 [version-raised]"}},
		"one that loses them": {`payload: { ward: { type: string, was: area } }`, `version: 2, payload: {}, history: { 1: { payload: { ward: string } } }`,
			[]string{"error forward: event a.b is version 2 and was 1 [version-raised]",
				"warning backward: former name area of field ward of version 1 of event a.b is gone: the new program does not see what old rows have under it [was-removed]"}},
		"one that reads what was stored under another name": {`payload: { ward: string }`, `version: 2, payload: {}, history: { 1: { payload: { district: { type: string, was: ward } } } }`,
			[]string{"error forward: event a.b is version 2 and was 1 [version-raised]"}},
		"names that are reserved for a version that is taken back": {`version: 2, reserved: [x], payload: {}, history: { 1: { payload: { a: int } } }`, `payload: { a: int }`,
			[]string{"error backward: event a.b is version 1 and was 2 [version-lowered]"}},
		"one that renames what was stored": {`payload: { ward: string }`, `version: 2, payload: {}, history: { 1: { payload: { district: string } } }`,
			[]string{"error forward: event a.b is version 2 and was 1 [version-raised]",
				"warning backward: field district of version 1 of event a.b is new, and may be a new name of field ward, which is gone: the new program does not see what old rows have under the old name [field-renamed]"}},
		"fields in place": {`payload: { to: { fields: { ward: string, x: "int?" } } }`, `payload: { to: { fields: { district: { type: string, was: ward }, y: "int?" }, reserved: [x] } }`,
			[]string{"warning forward: field district of type ABTo was ward" + renamedForward}},
	} {
		t.Run(name, func(t *testing.T) {
			all := compare(t, "\nevents: { a.b: { "+test.before+" } }", "\nevents: { a.b: { "+test.after+" } }")
			got := told(all)
			slices.Sort(got)
			slices.Sort(test.want)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The findings say what to write, and their keys have both names.
func TestARenamedFieldIsAskedFor(t *testing.T) {
	for after, want := range map[string][2]string{
		`payload: { district: string }`: {"field-renamed a.b 1 ward->district",
			"if it was renamed, write was: ward beside its type; if ward is really gone, add it to reserved beside payload, or raise the version of a.b and keep the old payload under history"},
		`payload: { ward: string, at: date }`: {"field-added a.b 1 at", "make it optional, give it a default, or raise the version of a.b and keep the old payload under history"},
		`payload: { ward: string, at: time }`: {"field-added a.b 1 at", "make it optional, or raise the version of a.b and keep the old payload under history"},
	} {
		all := compare(t, "\nevents: { a.b: { payload: { ward: string } } }", "\nevents: { a.b: { "+after+" } }")
		if len(all) != 1 || all[0].Key != want[0] || all[0].Hint != want[1] {
			t.Errorf("%s: %v: %s; %s", after, told(all), all[0].Key, all[0].Hint)
		}
	}
}

// A name in JSON is what counts, however it is made.
func TestAChangedNameInJSONIsARenaming(t *testing.T) {
	const both = "neither program sees what rows of the other have under its name [field-renamed]"
	for _, test := range []struct{ before, after, want string }{
		{"events: { a.b: { payload: { order_id: uuid, bill_to: uuid } } }", "json_names: camel\nevents: { a.b: { payload: { order_id: { type: uuid, json: order_id }, bill_to: uuid } } }",
			"warning both: field billTo of event a.b is new, and may be a new name of field bill_to, which is gone: " + both},
		{"json_names: pascal\nevents: { a.b: { payload: { order_id: uuid } } }", "json_names: camel\nevents: { a.b: { payload: { order_id: uuid } } }",
			"warning both: field orderId of event a.b is new, and may be a new name of field OrderId, which is gone: " + both},
		{"events: { a.b: { payload: { id: uuid, of: uuid } } }", "events: { a.b: { payload: { id: { type: uuid, json: i d }, of: { type: uuid, json: o } } } }",
			"warning both: field i d of event a.b is new, and may be a new name of field id, which is gone: " + both +
				"\nwarning both: field o of event a.b is new, and may be a new name of field of, which is gone: " + both},
		{"events: { a.b: { payload: { id: uuid } } }", "json_names: camel\nevents: { a.b: { payload: { id: uuid } } }", ""},
		{"json_names: camel\nevents: { a.b: { payload: { order_id: uuid } } }", "events: { a.b: { payload: { order_id: { type: uuid, json: orderId } } } }", ""},
		{"events: { a.b: { payload: { order_id: uuid } } }", "json_names: camel\nevents: { a.b: { json_names: snake, payload: { order_id: uuid } } }", ""},
		{"events: { a.b: { payload: { order_id: uuid } } }", "json_names: camel\nevents: { a.b: { payload: { order_id: { type: uuid, was: order_id } } } }",
			"warning forward: field orderId of event a.b was order_id: the old program does not see what new rows have under the new name [field-renamed]"},
		{"types: { M: { fields: { in_eur: int } } }\nevents: { a.b: { payload: { m: M } } }", "types: { M: { json_names: camel, fields: { in_eur: int } } }\nevents: { a.b: { payload: { m: M } } }",
			"warning both: field inEur of type M is new, and may be a new name of field in_eur, which is gone: " + both},
	} {
		all := compare(t, "\n"+test.before, "\n"+test.after)
		if diff := cmp.Diff(test.want, strings.Join(told(all), "\n")); diff != "" {
			t.Errorf("%s => %s (-want +got):\n%s", test.before, test.after, diff)
		}
		for _, f := range all {
			if f.Direction == diag.Both && !strings.HasPrefix(f.Hint, "to keep the name in JSON, write json: ") {
				t.Errorf("%s", f.Hint)
			}
		}
	}
}

// Events are stored under their names on the wire.
func TestAnEventIsComparedByItsNameOnTheWire(t *testing.T) {
	for _, test := range []struct{ before, after, want, hint string }{
		{"a.b: { payload: { n: int } }", "a.b: { wire: AB, payload: { n: int } }", "event a.b is gone",
			"to keep its name on the wire, write wire: a.b in event a.b; if it was renamed, add aliases: [a.b] to it"},
		{"a.b: { wire: AB, payload: { n: int } }", "a.b: { wire: Ab, payload: { n: int } }", "event AB is gone",
			"to keep its name on the wire, write wire: AB in event a.b; if it was renamed, add aliases: [AB] to it"},
		{"a.b: { payload: { n: int } }", "x.y: { wire: a.b, payload: { n: int } }", "", ""},
		{"a.b: { payload: { n: int } }", "a.b: { wire: a.b, payload: { n: int } }", "", ""},
		{"a.b: { payload: { n: int } }", "a.b: { wire: AB, aliases: [a.b], payload: { n: int } }", "", ""},
		{"a.b: { wire: AB, payload: { n: int } }", "c.d: { wire: CD, payload: { n: int } }", "event AB is gone",
			"if it was renamed, add aliases: [AB] to c.d; if not, check with --db that no row of it is left"},
	} {
		all := compare(t, "\nevents: { "+test.before+" }", "\nevents: { "+test.after+" }")
		if test.want == "" && len(all) == 0 {
			continue
		}
		if len(all) != 2 || !strings.HasPrefix(all[0].Message, test.want) || all[0].Hint != test.hint || all[0].Rule != rules.EventRemoved {
			t.Errorf("%s => %s: %v %s", test.before, test.after, told(all), all[0].Hint)
		}
	}
}

// A record knows removed fields with their types.
func TestTheNameOfARemovedFieldKeepsItsType(t *testing.T) {
	for after, want := range map[string][]string{
		`payload: { a: int }`:                                 nil,
		`payload: { a: int, note: "string?" }`:                nil,
		`payload: { a: int, note: "bytes?" }`:                 {"error backward: field note of event a.b is bytes and was string: the new program cannot decode old rows [type-changed]"},
		`payload: { a: int, text: "string?" }`:                nil,
		`payload: { a: int, x: { type: "int?", was: note } }`: {"error backward: field x of event a.b is int and was string: the new program cannot decode old rows [type-changed]"},
		`payload: { a: int, memo: "int?" }`:                   {"error backward: field memo of event a.b is int and was string: the new program cannot decode old rows [type-changed]"},
		`payload: { a: int, note: string }`:                   {"warning backward: field note of event a.b is new, and is required: in old rows the new program sees the zero value [field-added]"},
		`payload: { a: int }, reserved: [note]`:               nil,
	} {
		state := func(text string) breaking.State {
			text = header + "\nevents: { a.b: { " + text + " } }"
			c, findings := parse.Text("events.yaml", []byte(text))
			if findings != nil {
				t.Fatal(findings, text)
			}
			return breaking.State{Catalogue: c, Read: func(string) ([]byte, error) { return []byte(text), nil }}
		}
		before := state(`payload: { a: int, note: { type: string, was: memo } }`)
		before.Events[0].Fields[1].Removed = true
		all, err := breaking.Compare(before, state(after))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, told(all)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", after, diff)
		}
		if len(all) == 1 && all[0].Rule == rules.TypeChanged && !strings.HasPrefix(all[0].Hint, "choose another name for it, or raise the version of a.b") {
			t.Errorf("%s: %s", after, all[0].Hint)
		}
	}
}

// A large payload does not hold up the comparison: with a loop too many this test has no end.
func TestManyFieldsAreCompared(t *testing.T) {
	payload := func(prefix, kind string) string {
		text := "\nevents:\n  a.b:\n    payload:\n"
		for i := range 3000 {
			text += fmt.Sprintf("      %s%d: %s\n", prefix, i, kind)
		}
		return text
	}
	if all := compare(t, payload("a", "string"), payload("b", "bool")); len(all) != 6000 {
		t.Errorf("%d findings", len(all))
	}
}

// What is stored knows nothing of mixins: only the fields count that they bring.
func TestAMixinIsAsGoodAsItsFields(t *testing.T) {
	const mixin = "\ntypes: { Audit: { fields: { by: string, at: { type: time, was: on } }, reserved: [who] }, Wide: { mixins: [Audit], fields: { note: \"string?\" } } }"
	const zero = ": in old rows the new program sees the zero value "
	for name, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"fields that move into a mixin": {"\nevents: { a.b: { payload: { id: uuid, at: { type: time, was: on }, by: string }, reserved: [who] } }", mixin + "\nevents: { a.b: { mixins: [Audit], payload: { id: uuid } } }", nil},
		"fields that move out of one":   {mixin + "\nevents: { a.b: { mixins: [Wide] } }", mixin + "\nevents: { a.b: { mixins: [Audit], payload: { note: \"string?\" } } }", nil},
		"a mixin that is new": {"\nevents: { a.b: { payload: { id: uuid } } }", mixin + "\nevents: { a.b: { mixins: [Audit], payload: { id: uuid } } }", []string{
			"warning backward: field at of event a.b is new, and is required" + zero + "[field-added]", "warning backward: field by of event a.b is new, and is required" + zero + "[field-added]"}},
		"one that is gone": {mixin + "\nevents: { a.b: { mixins: [Wide] } }", mixin + "\nevents: { a.b: { mixins: [Audit] } }", []string{"note forward: field note of event a.b is gone [field-removed]"}},
		"a change in all that have it": {mixin + "\nevents: { a.b: { mixins: [Audit] }, b.c: { mixins: [Wide] } }", strings.Replace(mixin, "by: string", "by: int", 1) + "\nevents: { a.b: { mixins: [Audit] }, b.c: { mixins: [Wide] } }", []string{
			"error both: field by of event a.b is int and was string: neither program can decode the rows of the other [type-changed]", "error both: field by of event b.c is int and was string: neither program can decode the rows of the other [type-changed]"}},
		"a name that the mixin no longer reserves": {mixin + "\nevents: { a.b: { mixins: [Audit] } }", strings.Replace(mixin, ", reserved: [who]", "", 1) + "\nevents: { a.b: { mixins: [Audit] } }", []string{
			"note backward: name who of event a.b is no longer reserved [reserved-removed]"}},
		"a mixin of an old payload that changes": {mixin + "\nevents: { a.b: { version: 2, history: { 1: { mixins: [Wide] } } } }", strings.Replace(mixin, ", fields: { note: \"string?\" }", ", fields: {}", 1) + "\nevents: { a.b: { version: 2, history: { 1: { mixins: [Wide] } } } }", []string{
			"warning backward: version 1 of event a.b has lost a part of its payload [history-edited]"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := told(compare(t, test.before, test.after))
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
