package catalogue

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/cli"
)

// described has an event with everything that describe shows, and a plain one.
const described = `version: 1
package: shop
events:
  order.placed:
    doc: A customer placed an order.
    priority: high
    expires_after: 1h
    partition_by: order_id
    dedupe_by: order_id
    await_by: order_id
    payload:
      order_id: { type: uuid, doc: Identifies the order. }
      note: string?
    subscriptions:
      charge-card: { doc: Takes the money., retry: { max_attempts: 1 }, redrive: {} }
      audit: {}
  user.left: {}
`

func TestDescribeListsTheEvents(t *testing.T) {
	inFolder(t, map[string]string{"shop.yaml": described})
	busgen(t, "describe shop.yaml").Wants(t, 0, `EVENT         FIELDS  POLICY                                        SUBSCRIPTIONS
order.placed       2  4× over 7s, 30s each, high, expires after 1h  charge-card, audit
user.left          0  4× over 7s, 30s each
`, "")
}

func TestDescribeShowsOneEventInFull(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": described})
	busgen(t, "describe order.placed").Wants(t, 0, `order.placed
A customer placed an order.

policy       4× over 7s, 30s each, high, expires after 1h
in order by  order_id
dedupe key   order_id
awaited by   order_id
declared at  events.yaml:4
in Go        OrderPlaced

FIELD     TYPE     DOC
order_id  uuid     Identifies the order.
note      string?

SUBSCRIPTION  POLICY                                                  DOC
charge-card   1×, 30s each, high, expires after 1h, redrive every 1h  Takes the money.
audit         4× over 7s, 30s each, high, expires after 1h
`, "")
	busgen(t, "describe user.left").Wants(t, 0, `user.left

policy       4× over 7s, 30s each
declared at  events.yaml:17
in Go        UserLeft
`, "")
}

// The catalogue and the wire can have different names for the same.
func TestDescribeAndPolicyTakeBothNamesOfAnEvent(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": "version: 1\npackage: shop\njson_names: camel\nevents:\n  order.placed: { wire: Größe/Placed, timeout: 7s, payload: { order_id: uuid, note: string } }\n  order.sent: {}\n"})
	want := `order.placed

on the wire  Größe/Placed
policy       4× over 7s, 7s each
declared at  events.yaml:5
in Go        OrderPlaced

FIELD     TYPE    DOC
order_id  uuid    In JSON: orderId.
note      string
`
	for _, name := range []string{"order.placed", "events.yaml Größe/Placed"} {
		busgen(t, "describe "+name).Wants(t, 0, want, "")
		if got := busgen(t, "policy "+name); got.Status != 0 || !strings.Contains(got.Stdout, "7s") || strings.Contains(got.Stdout, "order.sent") {
			t.Errorf("%+v", got)
		}
	}
	if got := busgen(t, "describe order.placed --json"); !strings.Contains(got.Stdout, `"wire": "Größe/Placed"`) || !strings.Contains(got.Stdout, `"json": "orderId"`) {
		t.Errorf("%+v", got)
	}
	if got := busgen(t, "rename event order.placed order.made"); got.Stdout != "events.yaml: order.placed is order.made now, in 1 place\nIts name on the wire stays Größe/Placed.\n" {
		t.Errorf("%+v", got)
	}
	if got := busgen(t, "rename event order.sent order.gone --keep-wire"); got.Stdout != "events.yaml: order.sent is order.gone now, in 2 places\nIts name on the wire stays order.sent.\n" {
		t.Errorf("%+v", got)
	}
	if got := busgen(t, "-q"); got.Status != 0 {
		t.Errorf("%+v", got)
	}
}

func TestDescribeShowsTheHistoryOfAnEvent(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": `version: 1
package: shop
events:
  order.placed:
    aliases: [shop.order]
    version: 3
    reserved: [note, remark]
    payload: { number: { type: int, was: [no, count], default: 7, doc: Counted. } }
    history:
      1: { doc: There was nothing to say. }
      2: { payload: { number: { type: string, doc: As it was. } } }
    subscriptions: { audit: { doc: Keeps the books., aliases: [books, log] } }
`})
	busgen(t, "describe order.placed").Wants(t, 0, `order.placed

version      3
formerly     shop.order
policy       4× over 7s, 30s each
reserved     note, remark
declared at  events.yaml:4
in Go        OrderPlaced

FIELD   TYPE  DOC
number  int   Formerly no, count. Default: 7. Counted.

version 2
FIELD   TYPE    DOC
number  string  As it was.

version 1
There was nothing to say.

SUBSCRIPTION  POLICY                DOC
audit         4× over 7s, 30s each  Formerly books, log. Keeps the books.
`, "")
	var events []eventObject
	if err := json.Unmarshal([]byte(busgen(t, "describe --json").Stdout), &events); err != nil {
		t.Fatal(err)
	}
	e := events[0]
	if e.Version != 3 || e.Aliases[0] != "shop.order" || len(e.History) != 2 || e.History[0].Doc != "There was nothing to say." ||
		e.History[1].Payload[0].Type != "string" || e.Subscriptions[0].Aliases[1] != "log" ||
		e.Reserved[1] != "remark" || e.Payload[0].Was[1] != "count" || string(e.Payload[0].Default) != "7" {
		t.Errorf("%+v", e)
	}
}

func TestDescribeShowsBatchesAndSchedules(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": `version: 1
package: shop
events:
  report.requested:
    payload: { kind: string }
    subscriptions:
      write-report: { concurrency: 3, batch: { size: 25, wait: 2s } }
      print-report: { batch: { wait: off } }
  cache.expired: { deprecated: use nothing }
schedules:
  nightly: { doc: Asks for the report., event: report.requested, cron: "0 3 * * *", time_zone: Europe/Berlin, payload: { kind: day } }
  weekly: { event: report.requested, cron: "@weekly", missed: all, payload: { kind: week } }
  expire: { event: cache.expired, every: 90m, missed: skip }
`})
	busgen(t, "describe report.requested").Wants(t, 0, `report.requested

policy       4× over 7s, 30s each
declared at  events.yaml:4
in Go        ReportRequested

FIELD  TYPE
kind   string

SUBSCRIPTION  POLICY
write-report  4× over 7s, 30s each, 3 at once, batches of up to 25 within 2s
print-report  4× over 7s, 30s each, batches of up to 100

SCHEDULE  AT                         MISSED  PAYLOAD          DOC
nightly   0 3 * * * (Europe/Berlin)  once    {"kind":"day"}   Asks for the report.
weekly    @weekly (UTC)              all     {"kind":"week"}
`, "")
	busgen(t, "describe").Wants(t, 0, `EVENT             FIELDS  POLICY                SUBSCRIPTIONS               REMARKS
report.requested       1  4× over 7s, 30s each  write-report, print-report  scheduled
cache.expired          0  4× over 7s, 30s each                              deprecated, scheduled
`, "")
	var got []eventObject
	if err := json.Unmarshal([]byte(busgen(t, "describe --json").Stdout), &got); err != nil {
		t.Fatal(err)
	}
	want := [][]scheduleObject{
		{
			{Name: "nightly", Doc: "Asks for the report.", Cron: "0 3 * * *", TimeZone: "Europe/Berlin", Missed: "once", Payload: json.RawMessage(`{"kind":"day"}`)},
			{Name: "weekly", Cron: "@weekly", TimeZone: "UTC", Missed: "all", Payload: json.RawMessage(`{"kind":"week"}`)},
		},
		{{Name: "expire", Every: "1h30m", Missed: "skip", Payload: json.RawMessage("{}")}},
	}
	if diff := cmp.Diff(want, [][]scheduleObject{got[0].Schedules, got[1].Schedules}, compactJSON); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

var compactJSON = cmp.Transformer("compact", func(text json.RawMessage) string {
	var b bytes.Buffer
	json.Compact(&b, text)
	return b.String()
})

func TestDescribeFitsTheScreen(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": described})
	t.Setenv("COLUMNS", "60")
	for line := range strings.Lines(busgen(t, "describe").Stdout) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 60 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestDescribeAsJSONHasWhatTheManualNames(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": described})
	var got []eventObject
	if err := json.Unmarshal([]byte(busgen(t, "describe order.* --json").Stdout), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Settings["priority"] != (settingObject{"high", "events.yaml:6"}) {
		t.Fatalf("got %+v", got)
	}
	got[0].Settings = nil
	want := eventObject{
		Name: "order.placed", Doc: "A customer placed an order.", At: "events.yaml:4", Version: 1, PartitionBy: "order_id", DedupeBy: "order_id", AwaitBy: "order_id",
		Payload:       []fieldObject{{Name: "order_id", Type: "uuid", Doc: "Identifies the order."}, {Name: "note", Type: "string?", Optional: true}},
		Subscriptions: []declaredObject{{Name: "charge-card", Doc: "Takes the money."}, {Name: "audit"}},
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDescribeSaysWhenThereIsNothingToShow(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": described, "broken.yaml": broken})
	for command, want := range map[string]struct {
		status int
		text   string
	}{
		"describe order.placd": {cli.StatusNotFound, "busgen: no event type matches order.placd: did you mean order.placed?\n"},
		"describe ui.*":        {cli.StatusNotFound, "busgen: no event type matches ui.*\n"},
		"describe or*":         {cli.StatusTrouble, "`*` must be a whole segment"},
		"describe nope.yaml":   {cli.StatusTrouble, "there is no catalogue at nope.yaml"},
		"describe broken.yaml": {cli.StatusNo, "busgen: 2 errors in broken.yaml\n"},
		"describe a b":         {cli.StatusTrouble, "busgen describe takes one type or pattern, but got \"b\" too"},
	} {
		busgen(t, command).WantsErrors(t, want.status, want.text)
	}
}

// Each verb on a catalogue takes it in the same place: first, and it may be left out.
func TestEveryVerbTakesTheCatalogueAsItsFirstArgument(t *testing.T) {
	others := map[string]string{"describe": "", "policy": "order.placed", "event": "order.placed order.accepted", "subscription": "audit control",
		"type": "Money Amount", "field": "order.placed.note remark", "value": "Currency.EUR Euro", "version": "order.placed",
		"group": "pair twins", "limit": "bank bank-api", "new event": "order.paid"}
	const types = "limits: { bank: { at_once: 4 } }\ntypes: { Currency: { enum: [EUR] }, Money: { fields: { in: Currency } } }\n"
	catalogue := strings.Replace(described, "events:\n", types+"events:\n", 1) + "  pair.made: { subscriptions: { left: { group: pair }, right: { group: pair } } }\n"
	for _, cmd := range verbsOnACatalogue() {
		switch cmd.Name() {
		case "rename", "new", "export", "import", "schema", "init": // families, and what takes none
			continue
		}
		name := strings.TrimPrefix(cmd.CommandPath(), "busgen ")
		if strings.HasPrefix(name, "import ") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			rest, known := others[name]
			if !known {
				rest = others[cmd.Name()]
			}
			if name == "breaking" {
				rest = "--against shop/events.yaml"
			}
			here := inBoth(t, catalogue)
			there := busgen(t, name+" shop/events.yaml "+rest)
			if there.Status != 0 && name != "lint" && name != "check" || there.Status == cli.StatusTrouble {
				t.Errorf("%s shop/events.yaml %s: %+v", name, rest, there)
			}
			if use := cmd.Use; !strings.Contains(use, " [events.yaml]") {
				t.Errorf("the usage is %q", use)
			}
			here()
			if got := busgen(t, name+" "+rest); got.Status != there.Status {
				t.Errorf("%s %s: %+v", name, rest, got)
			}
			busgen(t, name+" --catalogue x.yaml").WantsErrors(t, cli.StatusTrouble, `the catalogue is an argument, and no flag: see "busgen `+name+` --help"`)
			busgen(t, name+" -c x.yaml").WantsErrors(t, cli.StatusTrouble, "the catalogue is an argument, and no flag")
		})
	}
}

// inBoth makes a catalogue in the folder shop alone, and returns what puts it into the
// current folder too.
func inBoth(t *testing.T, catalogue string) func() {
	inFolder(t, map[string]string{"go.mod": "module shop\n", "shop/events.yaml": catalogue})
	return func() {
		inFolder(t, map[string]string{"go.mod": "module shop\n", "shop/events.yaml": catalogue, "events.yaml": catalogue})
	}
}

func TestACatalogueInTheWrongPlaceIsNamed(t *testing.T) {
	inFolder(t, map[string]string{"shop.yaml": described, "order.yaml": strings.Replace(described, "user.left", "order.yaml", 1)})
	for command, want := range map[string]string{
		"describe order.placed shop.yaml":       `the catalogue comes first, as in "busgen describe shop.yaml order.placed"`,
		"rename event a.b c.d ./shop.yaml":      `the catalogue comes first, as in "busgen rename event ./shop.yaml a.b c.d"`,
		"new version order.placed shop/x.yaml":  `the catalogue comes first, as in "busgen new version shop/x.yaml order.placed"`,
		"policy shop.yaml a b":                  `busgen policy takes one type, pattern or subscription, but got "b" too`,
		"new event shop.yaml a.b c.d":           `busgen new event takes the name of one event, as in order.placed, but got "c.d" too`,
		"rename event shop.yaml order.placed":   "busgen rename event takes the old name and the new one",
		"describe order.placed":                 "there is no events.yaml in this folder: name the catalogue, as in path/to/events.yaml",
		"describe events/events.yaml":           "there is no catalogue at events/events.yaml",
		"rename event order.placed order.ready": "there is no events.yaml in this folder",
	} {
		busgen(t, command).WantsErrors(t, cli.StatusTrouble, want)
	}
	if got := busgen(t, "describe order.yaml order.yaml"); got.Status != 0 || !strings.HasPrefix(got.Stdout, "order.yaml\n\npolicy") {
		t.Errorf("an event that is named like a file: %+v", got)
	}
}

func TestAFolderInPlaceOfACatalogueLeadsToIt(t *testing.T) {
	inFolder(t, map[string]string{"events/events.yaml": described, "docs/x.md": ""})
	for command, want := range map[string]string{
		"lint events":      "busgen: events is a folder: name the catalogue in it, as in events/events.yaml\n",
		"describe events/": "busgen: events/ is a folder: name the catalogue in it, as in events/events.yaml\n",
		"fmt docs":         "busgen: docs is a folder: name the catalogue in it, as in docs/events.yaml\n",
		"describe":         "busgen: there is no events.yaml in this folder: name the catalogue, as in events/events.yaml, or",
		"fmt":              "busgen: there is no events.yaml in this folder: name the catalogue, as in events/events.yaml, or",
	} {
		busgen(t, command).WantsErrors(t, cli.StatusTrouble, want)
	}
}

func TestShellsCompleteCataloguesAndTheNamesInThem(t *testing.T) {
	const files = "yaml\nyml\n:8\n"
	inFolder(t, map[string]string{"events.yaml": described, "shop.yaml": strings.ReplaceAll(described, "order", "parcel")})
	for words, want := range map[string]string{
		"describe ":                           "order.placed\nuser.left\n:4\n",
		"describe user":                       "user.left\n:4\n",
		"describe sh":                         files,
		"describe shop.yaml ":                 "parcel.placed\nuser.left\n:4\n",
		"describe order.placed ":              ":4\n",
		"policy ch":                           "charge-card\n:4\n",
		"policy nope.yaml ":                   ":4\n",
		"rename event shop.yaml p":            "parcel.placed\n:4\n",
		"rename event shop.yaml user.left ":   ":4\n",
		"rename subscription a":               "audit\n:4\n",
		"rename field shop.yaml ":             "parcel.placed.parcel_id\nparcel.placed.note\n:4\n",
		"new version u":                       "user.left\n:4\n",
		"lint ":                               files,
		"export jsonschema shop.yaml --event": "parcel.placed\nuser.left\n:4\n",
	} {
		before, word, _ := strings.Cut(words+"|", "|")
		if i := strings.LastIndexByte(before, ' '); strings.HasSuffix(words, "--event") {
			word = ""
		} else {
			before, word = before[:i], before[i+1:]
		}
		var stdout, stderr strings.Builder
		run(t.Context(), append(append([]string{"__complete"}, strings.Fields(before)...), word), strings.NewReader(""), &stdout, &stderr)
		if stdout.String() != want {
			t.Errorf("%q offers %q, want %q", words, stdout.String(), want)
		}
	}
}
