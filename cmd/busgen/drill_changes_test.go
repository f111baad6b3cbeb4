package main

import "strings"

// A careless change of a catalogue, and what has to come of it on a live file: nothing that
// is stored may be lost or changed in silence.
type carelessChange struct {
	// before prepares what the change meets: another change, that is checked in.
	before func(d *drill)
	change func(d *drill)
	// refused are parts of findings, in their order, with which generate and check refuse
	// the change. Nothing is written.
	refused []string
	// noted are parts of notes, in their order, of a change that is not refused; nil if it is.
	noted []string
	// never says that --accept-wire does not help.
	never bool
	// Once the change is accepted: what becomes of rows that do not go to their handler
	// as they were published.
	rows map[string]string
	// unopened is why the new program does not open the bus; empty if it does.
	unopened string
	// leftover are subscriptions whose events wait for a handler; the bus warns of each.
	leftover []string
	upcasts  string // replaces the program's own; "-" removes them
}

const lost = "dead letter, decode"

// edited is a change of text in the catalogue.
func edited(old, now string) func(*drill) { return func(d *drill) { d.replace(old, now) } }

var changes = map[string]carelessChange{
	"nothing": {},

	// Types.
	"string to bytes": {
		change:  edited("word: string", "word: bytes"),
		refused: []string{"type-changed word.said 1 word"},
		rows:    map[string]string{"word.said/1": "WordSaid{Word:0x12699a}", "word.said/2": lost},
	},
	"bytes to string": {
		change:  edited("data: bytes", "data: string"),
		refused: []string{"type-changed blob.kept 1 data"},
		rows:    map[string]string{"blob.kept/1": `BlobKept{Data:"/wAB"}`},
	},
	"int64 to uint64": {
		change:  edited("n: int64", "n: uint64"),
		refused: []string{"type-changed count.taken 1 n"},
		rows:    map[string]string{"count.taken/2": lost},
	},
	"int64 to float64": {
		change:  edited("cents: int64 }\n    subscriptions: { on-sum", "cents: float64 }\n    subscriptions: { on-sum"),
		refused: []string{"type-changed sum.made 1 cents"},
		rows:    map[string]string{"sum.made/1": "SumMade{Cents:7 as a float}", "sum.made/2": "SumMade{Cents:9.007199254740992e+15 as a float}"},
	},
	"int to string": {
		change:  edited("code: int", "code: string"),
		refused: []string{"type-changed code.given 1 code"},
		rows:    map[string]string{"code.given/1": lost},
	},
	"int64 to int32": {
		change:  edited("grams: int64", "grams: int32"),
		refused: []string{"type-changed scale.read 1 grams"},
		rows:    map[string]string{"scale.read/2": lost},
	},
	"items of a list": {
		change:  edited(`"[]string"`, `"[]int"`),
		refused: []string{"type-changed scale.read 1 tags"},
		rows:    map[string]string{"scale.read/1": lost},
	},
	"entries of a map": {
		change:  edited(`"map[string]int"`, `"map[string]bool"`),
		refused: []string{"type-changed scale.read 1 sides"},
		rows:    map[string]string{"scale.read/1": lost},
	},
	"one value to a list": {
		change:  edited("word: string", `word: "[]string"`),
		refused: []string{"type-changed word.said 1 word"},
		rows:    map[string]string{"word.said/1": lost, "word.said/2": lost},
	},
	"string to an enum": {
		change:  edited("word: string", "word: Carrier"),
		refused: []string{"type-changed word.said 1 word"},
	},
	"string to uuid": {
		change:  edited("word: string", "word: uuid"),
		refused: []string{"type-changed word.said 1 word"},
		rows:    map[string]string{"word.said/1": lost, "word.said/2": lost},
	},
	"a type that two events share": {
		change:  edited("amount: int64", "amount: string"),
		refused: []string{"type-changed Money amount"},
		rows:    map[string]string{"money.kept/1": lost, "money.moved/1": lost},
	},

	// The record of types.
	"the golden deleted, and a type changed": {
		change:  func(d *drill) { d.remove("events/wire.golden"); d.replace("word: string", "word: bool") },
		refused: []string{"type-changed word.said 1 word"},
		rows:    map[string]string{"word.said/1": lost, "word.said/2": lost},
	},
	"the golden deleted in one commit, and a type changed in the next": {
		before:  func(d *drill) { d.remove("events/wire.golden"); d.commit() },
		change:  edited("word: string", "word: bool"),
		refused: []string{"type-changed word.said 1 word"},
		rows:    map[string]string{"word.said/1": lost, "word.said/2": lost},
	},
	"the folder moved, and a type changed": {
		change: func(d *drill) {
			d.git("mv", "events", "contract")
			d.folder = "contract"
			d.replace("word: string", "word: bool")
		},
		refused: []string{"type-changed word.said 1 word"},
		rows:    map[string]string{"word.said/1": lost, "word.said/2": lost},
	},
	"a merge that drops their lines of the golden": {
		before: func(d *drill) {
			const theirs = "  word.said:\n    payload: { word: string }\n    subscriptions: { on-word: {} }\n"
			d.git("checkout", "-q", "--orphan", "base")
			d.replace(theirs, "")
			d.removeCode()
			d.generated()
			d.git("checkout", "-q", "-b", "theirs")
			d.replace("  time.kept:", theirs+"  time.kept:")
			d.generated()
			d.git("checkout", "-q", "-b", "ours", "base")
			d.replace("  time.kept:", "  zoo.opened:\n    payload: { name: string }\n  time.kept:")
			d.generated()
			d.merge("theirs")
			d.checkoutOurs("events/wire.golden")
			d.resolve()
		},
		change:  edited("word: string", "word: bool"),
		refused: []string{"type-changed word.said 1 word"},
		rows:    map[string]string{"word.said/1": lost, "word.said/2": lost},
	},
	"two catalogues in one folder": {
		change: func(d *drill) {
			d.write("events/other.yaml", "version: 1\npackage: events\nevents:\n  word.said:\n    payload: { word: bool }\n")
			d.catalogue = "other.yaml"
		},
		refused: []string{"other-catalogue"},
		never:   true,
	},

	"the code in another folder, and a type changed": {
		change:  func(d *drill) { d.removeCode(); d.out = "gen"; d.replace("word: string", "word: bool") },
		refused: []string{"type-changed word.said 1 word"},
		rows:    map[string]string{"word.said/1": lost, "word.said/2": lost},
	},

	// Fields.
	"a removed field comes back with another type": {
		before:  func(d *drill) { d.replace("      note: string\n", ""); d.accepted() },
		change:  edited("    subscriptions: { on-parcel", "      note: int?\n    subscriptions: { on-parcel"),
		refused: []string{"type-changed parcel.sent 1 note"},
		rows:    map[string]string{"parcel.sent/1": lost, "parcel.sent/2": lost},
	},
	"a reserved name given to another field": {
		before:  func(d *drill) { d.replace("      note: string\n", "    reserved: [note]\n"); d.generated() },
		change:  edited("    reserved: [note]\n", "      note: int?\n"),
		refused: []string{"type-changed parcel.sent 1 note"},
		rows:    map[string]string{"parcel.sent/1": lost, "parcel.sent/2": lost},
	},
	"a former name of a field forgotten": {
		before:  func(d *drill) { d.replace("ward: string?", `district: { type: "string?", was: ward }`); d.generated() },
		change:  edited(`district: { type: "string?", was: ward }`, "district: string?"),
		refused: []string{"parcel.sent 1"},
		rows: map[string]string{"parcel.sent/1": `ParcelSent{To:"Emma" District:nil Note:"fragile"}`,
			"parcel.sent/2": `ParcelSent{To:"Bo" District:nil Note:"5"}`},
	},
	"the default of a required field removed": {
		before: func(d *drill) {
			d.replace("      note: string\n", "      note: string\n      weight: { type: int, default: 1 }\n")
			d.generated()
		},
		change:  edited("weight: { type: int, default: 1 }", "weight: int"),
		refused: []string{"parcel.sent 1 weight"},
		rows:    map[string]string{"parcel.sent/1": `ParcelSent{To:"Emma" Ward:"7" Note:"fragile" Weight:0}`, "parcel.sent/2": `ParcelSent{To:"Bo" Ward:nil Note:"5" Weight:0}`},
	},
	"a field renamed to an optional one": {
		change:  edited("ward: string?", "district: string?"),
		refused: []string{"field-renamed parcel.sent 1 ward"},
		rows:    map[string]string{"parcel.sent/1": `ParcelSent{To:"Emma" District:nil Note:"fragile"}`, "parcel.sent/2": `ParcelSent{To:"Bo" District:nil Note:"5"}`},
	},
	"a field renamed to a required one": {
		change:   edited("to:   string", "recipient: string"),
		refused:  []string{"field-renamed parcel.sent 1 to"},
		unopened: "it lacks recipient, and has to instead",
	},
	"a new required field": {
		change:  edited("      note: string\n", "      note: string\n      weight: int\n"),
		refused: []string{"field-added parcel.sent 1 weight"},
		rows:    map[string]string{"parcel.sent/1": `ParcelSent{To:"Emma" Ward:"7" Note:"fragile" Weight:0}`, "parcel.sent/2": `ParcelSent{To:"Bo" Ward:nil Note:"5" Weight:0}`},
	},
	"an optional field made required": {
		change:  edited("ward: string?", "ward: string"),
		refused: []string{"field-required parcel.sent 1 ward"},
		rows:    map[string]string{"parcel.sent/2": `ParcelSent{To:"Bo" Ward:"" Note:"5"}`},
	},

	// Enums and unions.
	"a value of an enum renamed": {
		change:  edited("[DHL, UPS]", "[Deutsche_Post, UPS]"),
		refused: []string{"enum-value-removed Carrier DHL"},
	},
	"numbers of an enum swapped": {
		change:  edited("{ LOW: 1, HIGH: 2 }", "{ LOW: 2, HIGH: 1 }"),
		refused: []string{"enum-renumbered Grade"},
		rows: map[string]string{"order.shipped/1": `OrderShipped{Carrier:"DHL" Grade:HIGH}`,
			"order.shipped/2": `OrderShipped{Carrier:"UPS" Grade:LOW}`},
	},

	"a removed number of an enum comes back under another name": {
		before:  func(d *drill) { d.replace("{ LOW: 1, HIGH: 2 }", "{ LOW: 1 }"); d.accepted() },
		change:  edited("{ LOW: 1 }", "{ LOW: 1, NONE: 2 }"),
		refused: []string{"enum-renumbered Grade HIGH->NONE 2"},
		rows:    map[string]string{"order.shipped/2": `OrderShipped{Carrier:"UPS" Grade:NONE}`},
	}, "a removed variant comes back as another one": {
		before:  func(d *drill) { d.replace("card: { fields: { last_four: string } }, ", ""); d.accepted() },
		change:  edited("one_of: {", "one_of: { card: { fields: { last_four: int } },"),
		refused: []string{"type-changed PaymentCard last_four"},
		rows:    map[string]string{"order.paid/1": lost},
	}, "a variant renamed": {
		change:  edited("{ card:", "{ credit_card:"),
		refused: []string{"variant-removed Payment card"},
		rows:    map[string]string{"order.paid/1": lost},
	},

	"another discriminator": {
		change:  edited("discriminator: kind", "discriminator: type"),
		refused: []string{"discriminator-changed Payment"},
		rows:    map[string]string{"order.paid/1": lost, "order.paid/2": lost},
	},

	// Events and subscriptions.
	"an event renamed without an alias": {
		change:  edited("alarm.raised:", "siren.raised:"),
		refused: []string{"event-removed alarm.raised"},
		rows:    map[string]string{"alarm.raised/1": lost},
	},
	"a subscription renamed without an alias": {
		change:   edited("on-alarm:", "on-siren:"),
		refused:  []string{"subscription-removed alarm.raised on-alarm"},
		rows:     map[string]string{"alarm.raised/1": "pending"},
		leftover: []string{"on-alarm"},
	},
	"a former name of a subscription given to that of another event": {
		change: func(d *drill) {
			d.replace("    subscriptions: { on-alarm: {} }\n", "")
			d.replace("on-word: {}", "on-word: {}, on-siren: { aliases: [on-alarm] }")
		},
		refused: []string{"subscription-moved"},
		rows:    map[string]string{"alarm.raised/1": lost},
	},
	"a subscription of another event": {
		change: func(d *drill) {
			d.replace("    subscriptions: { on-alarm: {} }\n", "")
			d.replace("on-word: {}", "on-word: {}, on-alarm: {}")
		},
		refused: []string{"subscription-moved on-alarm"},
		rows:    map[string]string{"alarm.raised/1": lost},
	},
	"an event removed": {
		change:   func(d *drill) { d.removeEvent("alarm.raised") },
		refused:  []string{"event-removed alarm.raised"},
		rows:     map[string]string{"alarm.raised/1": "pending"},
		leftover: []string{"on-alarm"},
	},

	"a removed event comes back as another one": {
		before: func(d *drill) { d.removeEvent("alarm.raised"); d.accepted() },
		change: func(d *drill) {
			d.replace("events:\n", "events:\n  alarm.raised:\n    payload: { reason: int }\n    subscriptions: { on-alarm: {} }\n")
		},
		refused: []string{"type-changed alarm.raised 1 reason"},
		rows:    map[string]string{"alarm.raised/1": lost},
	}, "a removed event comes back in an earlier version": {
		before: func(d *drill) { d.removeEvent("bill.sent"); d.accepted() },
		change: func(d *drill) {
			d.replace("events:\n", "events:\n  bill.sent:\n    payload: { amount: string }\n    subscriptions: { on-bill: {} }\n")
		},
		refused: []string{"version-lowered bill.sent 2->1"},
		rows:    map[string]string{"bill.sent/1": lost, "bill.sent/older/1": `BillSent{Amount:"150"}`},
		upcasts: "-",
	},
	"an alias removed": {
		change:  edited("    aliases: [task.done]\n", ""),
		refused: []string{"alias-removed job.done task.done"},
	},
	"an alias given to another event": {
		change: func(d *drill) {
			d.replace("    aliases: [task.done]\n", "")
			d.replace("  word.said:\n", "  word.said:\n    aliases: [task.done]\n")
		},
		refused:  []string{"alias-moved"},
		unopened: "it lacks word, and has name instead",
	},

	"an event that expires": {
		change: edited("  alarm.raised:\n", "  alarm.raised:\n    expires_after: 1ms\n"),
		noted:  []string{"expires-sooner alarm.raised"},
		rows:   map[string]string{"alarm.raised/1": "dead letter, expired"},
	},

	// What the findings ask for, all of it in one change: nothing is refused, and every
	// row gets to its handler with all that it has.
	"all with care": {
		change: func(d *drill) {
			d.replace("alarm.raised:", "siren.raised:\n    aliases: [alarm.raised]")
			d.replace("on-word:", "on-speech: { aliases: [on-word] }, on-echo:")
			d.replace("to:   string", "recipient: { type: string, was: to }")
			d.replace("ward: string?", `district: { type: "string?", was: ward }`)
			d.replace("      note: string\n", "      weight: { type: int, default: 1 }\n    reserved: [note]\n")
			d.replace("    payload: { code: int }\n", "    version: 2\n    payload: { code: string }\n    history: { 1: { payload: { code: int } } }\n")
			d.replace("enum: [DHL, UPS]", "enum: { DHL: { go_name: DeutschePost }, UPS: {} }")
		},
		noted: []string{},
		rows: map[string]string{
			"alarm.raised/1": `SirenRaised{Reason:"smoke"}`,
			"code.given/1":   `CodeGiven{Code:"7"}`,
			"parcel.sent/1":  `ParcelSent{Recipient:"Emma" District:"7" Weight:1}`,
			"parcel.sent/2":  `ParcelSent{Recipient:"Bo" District:nil Weight:1}`,
		},
		upcasts: string(drillFile("upcasts.go")) +
			"\nfunc UpcastCodeGivenV1(old CodeGivenV1) (CodeGiven, error) {\n\treturn CodeGiven{Code: strconv.Itoa(old.Code)}, nil\n}\n",
	},

	// Versions.
	"a version raised without its history": {
		change:  edited("version: 2", "version: 3"),
		refused: []string{"its history has no version 2"},
		never:   true,
	},
	"history dropped": {
		change:  edited("history: { 1: { payload: { amount: string } } }", "history: { 1: dropped }"),
		refused: []string{"history-dropped bill.sent 1"},
		rows:    map[string]string{"bill.sent/older/1": lost},
		upcasts: "-",
	},
	"history edited": {
		change:   edited("{ amount: string }", "{ total: string }"),
		refused:  []string{"field-renamed bill.sent 1 amount->total"},
		unopened: "it lacks total, and has amount instead",
		upcasts:  strings.ReplaceAll(string(drillFile("upcasts.go")), "old.Amount", "old.Total"),
	},
	"a version raised with a history that never was": {
		change: func(d *drill) {
			d.replace("    version: 2\n    payload: { cents: int64 }\n", "    version: 3\n    payload: { cents: int64, currency: \"string?\" }\n")
			d.replace("history: { 1:", "history: { 2: { payload: { pence: int64 } }, 1:")
		},
		refused:  []string{"bill.sent 2"},
		unopened: "it lacks pence, and has cents instead",
		upcasts: "package events\n\nimport \"strconv\"\n\n" +
			"func UpcastBillSentV1(old BillSentV1) (BillSentV2, error) { n, err := strconv.ParseInt(old.Amount, 10, 64); return BillSentV2{Pence: n}, err }\n" +
			"func UpcastBillSentV2(old BillSentV2) (BillSent, error) { return BillSent{Cents: old.Pence}, nil }\n",
	},
	"a dropped version comes back as another one": {
		before:  func(d *drill) { d.replace("1: { payload: { amount: string } }", "1: dropped"); d.accepted() },
		change:  edited("1: dropped", "1: { payload: { amount: int64 } }"),
		refused: []string{"type-changed bill.sent 1 amount"},
		rows:    map[string]string{"bill.sent/older/1": lost},
		upcasts: "package events\n\nfunc UpcastBillSentV1(old BillSentV1) (BillSent, error) { return BillSent{Cents: old.Amount}, nil }\n",
	},
	"a version taken back": {
		change: func(d *drill) {
			d.replace("    version: 2\n", "")
			d.replace("    history: { 1: { payload: { amount: string } } }\n", "")
		},
		refused:  []string{"version-lowered bill.sent"},
		unopened: "it lacks cents, and has amount instead",
		upcasts:  "-",
	},
}
