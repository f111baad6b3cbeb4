package breaking_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEachChangeIsDescribedInWords(t *testing.T) {
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
		"a value that is empty": {
			before: `
types: { G: { enum: { "": { go_name: None }, a: {} } } }
events: { a.b: { payload: { g: G } } }`,
			after: `
types: { G: { enum: [a] } }
events: { a.b: { payload: { g: G } } }`,
			want: []string{`warning backward: value "" of type G is gone: old rows decode, but may hold what it does not allow [enum-value-removed]`},
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
				"warning backward: field note of version 1 of event a.b is new, and is required: in old rows the new program sees the zero value [field-added]",
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
				"warning both: field e of event a.b is new, and may be a new name of field a, which is gone: neither program sees what rows of the other have under its name [field-renamed]",
				"warning both: field f of event a.b is new, and may be a new name of one of fields b, c, which are gone: neither program sees what rows of the other have under its name [field-renamed]",
				"warning backward: field g of event a.b is new, and is required: in old rows the new program sees the zero value [field-added]",
				"warning forward: field d of event a.b has become optional: in new rows the old program sees the zero value [field-optional]",
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
				"error both: field t of event a.b is T, a struct and was T, an enum of strings: neither program can decode the rows of the other [type-changed]",
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
				"warning backward: version 1 of event a.b has lost a part of its payload [history-edited]",
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
				"warning both: field d of event a.b is new, and may be a new name of one of fields a, b, which are gone: neither program sees what rows of the other have under its name [field-renamed]",
				"warning both: field e of event a.b is new, and may be a new name of field c, which is gone: neither program sees what rows of the other have under its name [field-renamed]",
				"warning both: field f of event a.b is new, and may be a new name of field c, which is gone: neither program sees what rows of the other have under its name [field-renamed]",
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
events: { a.b: { payload: { a: { type: duration, min: 1s, max: 2h }, b: { type: string, max_length: 5, pattern: x }, c: { type: "[]string", min_items: 2 }, d: { type: "[]map[string]string", items: { max_items: 3, values: { format: ip, max_length: 5 } } } } } }`,
			after: `
events: { a.b: { payload: { a: { type: duration, min: 500ms, max: 90m }, b: { type: string, max_length: 6, pattern: y }, c: { type: "[]string", min_items: 3, unique: true, items: { min_length: 1 } }, d: { type: "[]map[string]string", items: { values: { format: ipv4, max_length: 9 } } } } } }`,
			want: []string{
				"note backward: max of field a of event a.b is 1h30m0s and was 2h0m0s [constraint-tightened]",
				"note backward: pattern of field b of event a.b is y and was x [constraint-tightened]",
				"note backward: min_items of field c of event a.b is 3 and was 2 [constraint-tightened]",
				"note backward: unique of field c of event a.b is true [constraint-tightened]",
				"note backward: items.min_length of field c of event a.b is 1 [constraint-tightened]",
				"note backward: items.values.format of field d of event a.b is ipv4 and was ip [constraint-tightened]",
			},
		},
		"a scalar that is given a name": {
			before: "\nevents: { a.b: { partition_by: id, payload: { id: uuid, mails: { type: \"[]string\", items: { format: email } }, cents: { type: \"int64?\", default: 3 } } } }",
			after:  "\ntypes: { ID: uuid, Mail: { type: string, format: email }, Cents: int64 }\nevents: { a.b: { partition_by: id, payload: { id: ID, mails: \"[]Mail\", cents: { type: \"Cents?\", default: 3 } } } }",
		},
		"a named scalar that changes": {
			before: "\ntypes: { ID: uuid, Mail: { type: string, max_length: 9 } }\nevents: { a.b: { payload: { id: ID, mails: \"[]Mail\" } } }",
			after:  "\ntypes: { ID: int64, Mail: { type: string, max_length: 8 } }\nevents: { a.b: { payload: { id: ID, mails: \"[]Mail\" } } }",
			want: []string{
				"error both: field id of event a.b is int64 and was uuid: neither program can decode the rows of the other [type-changed]",
				"note backward: items.max_length of field mails of event a.b is 8 and was 9 [constraint-tightened]",
			},
		},
		"items of a smaller type that their constraints allow": {
			before: "\nevents: { a.b: { payload: { a: { type: \"[]int64\", items: { min: 0, max: 9 } }, b: \"[]int64\" } } }",
			after:  "\nevents: { a.b: { payload: { a: { type: \"[]int32\", items: { min: 0, max: 9 } }, b: \"[]int32\" } } }",
			want: []string{
				"warning backward: items of field a of event a.b is int32 and was int64: old rows outside of the constraints, such as older ones, do not decode or change their value [type-changed]",
				"error backward: items of field b of event a.b is int32 and was int64: the new program cannot decode old rows [type-changed]",
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
		"subscriptions for patterns that change": {
			before: `
events:
  a.b: {}
  a.c: { subscriptions: { y: {}, z: {} } }
  b.b: {}
subscriptions:
  gone: { pattern: "*" }
  kept: { aliases: [old, older], pattern: [a.*, b.b], expires_after: 2h }
  typed: { pattern: a.*, group: g }
  same: { pattern: a.* }
groups: { g: {} }`,
			after: `
events:
  a.b: {}
  a.c: { subscriptions: { typed: { group: g } } }
  c.b: { aliases: [b.b] }
  a.new: {}
subscriptions:
  kept: { aliases: [old], pattern: [a.c, a.new, c.b], expires_after: 1h }
  y: { pattern: "*" }
  z: { pattern: a.b }
  same: { pattern: [a.*] }
groups: { g: {} }`,
			want: []string{
				"note forward: event a.new is new [event-added]",
				"warning backward: subscription gone for * is gone [subscription-removed]",
				"error backward: subscription typed is now of event a.c, and was also for a.b [subscription-moved]",
				"warning backward: alias older of subscription kept is gone [alias-removed]",
				"warning backward: subscription kept for a.c a.new c.b is no longer for a.b [subscription-narrowed]",
				"note backward: expires_after is 1h0m0s and was 2h0m0s [expires-sooner]",
				"note backward: subscription y for * is also for a.b, c.b, which it was not before [subscription-widened]",
				"warning backward: subscription z for a.b is no longer for a.c [subscription-narrowed]",
				"note backward: subscription z for a.b is also for a.b, which it was not before [subscription-widened]",
			},
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
		"subscriptions that join, leave and change groups": {
			before: `
events:
  a.b: { subscriptions: { alone: {}, joins: {}, leads: {}, leaves: { group: one }, stays: { group: one }, changes: { group: one }, ends: { group: one } } }
  a.c: { subscriptions: { kept: { group: two }, same: { group: two } } }
groups: { two: { aliases: [zero] } }`,
			after: `
events:
  a.b: { subscriptions: { alone: {}, joins: { group: three }, leads: { group: three }, leaves: {}, stays: { group: one }, also: { group: one }, changes: { group: four }, more: { group: four } } }
  a.c: { subscriptions: { kept: { group: five }, same: { group: five } } }
groups: { three: { aliases: [leads] }, five: { aliases: [two] } }`,
			want: []string{
				"warning backward: subscription joins of event a.b is in group three, and was by itself [subscription-regrouped]",
				"warning backward: subscription leaves of event a.b is by itself, and was in group one [subscription-regrouped]",
				"warning backward: subscription changes of event a.b is in group four, and was in group one [subscription-regrouped]",
				"warning backward: subscription ends of event a.b is gone [subscription-removed]",
				"warning backward: alias zero of group five is gone [alias-removed]",
			},
		},
		"a group under another name": {
			before: `
events: { a.b: { subscriptions: { x: { group: one }, y: { group: one } } } }`,
			after: `
events: { a.b: { subscriptions: { x: { group: two }, y: { group: two } } } }`,
			want: []string{
				"warning backward: subscription x of event a.b is in group two, and was in group one [subscription-regrouped]",
				"warning backward: subscription y of event a.b is in group two, and was in group one [subscription-regrouped]",
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
