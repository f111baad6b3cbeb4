package catalogue

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/payload"
	"github.com/busgen/busgen/runtime/declare"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
	"github.com/busgen/busgen/templates/testdata/features"
)

// A row is an event as it is stored.
type row struct {
	name    string
	version int
	payload string
}

// What breaking counts in a file with payloads of all kinds is what becomes a dead
// letter for the code of the catalogue, and nothing else.
func TestExactlyTheRowsThatAreCountedFailToDecode(t *testing.T) {
	c, findings, err := parse.Load("../../../templates/testdata/features.yaml")
	if err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
	chance := rand.New(rand.NewPCG(20, 26))
	var rows []row
	for range 20 {
		for _, e := range c.Events {
			payload := string(e.Sample())
			if e.Name.V != "host.seen" { // what a custom Go type takes is its own affair
				payload = spoiled(t, chance, payload)
			}
			rows = append(rows, row{e.Name.V, 1, payload})
		}
	}
	rows = append(rows, row{"pong", 1, "{}"}, row{"order.placed", 1, "{"}, row{"order.placed", 1, ""})
	subscribe := func(bus *runtime.Bus) error {
		_, err := features.SubscribeAll(bus, "all", func(context.Context, runtime.Event[features.AnyEvent]) error { return nil })
		return err
	}
	decodes, fails := compareWithBus(t, c, features.Catalogue, rows, subscribe)
	if decodes < 50 || fails < 50 {
		t.Errorf("%d rows decode and %d do not: that is no test", decodes, fails)
	}
}

// bills have three versions, and were called otherwise.
const bills = `version: 1
package: bills
events:
  bill.sent:
    aliases: [bill.written]
    version: 3
    payload: { number: int, total: { fields: { cents: int64 } } }
    history:
      1: { payload: { order: string, total: int64 } }
      2: { payload: { order: string, total: { fields: { cents: int64 } } } }
`

type (
	billV1 struct {
		Order string `json:"order"`
		Total int64  `json:"total"`
	}
	billV2 struct {
		Order string    `json:"order"`
		Total billTotal `json:"total"`
	}
	bill struct {
		Number int       `json:"number"`
		Total  billTotal `json:"total"`
	}
	billTotal struct {
		Cents int64 `json:"cents"`
	}
)

func (bill) Validate() error { return nil }

// fewAttempts allow three attempts, two seconds and four seconds apart. An event of a newer version is
// a dead letter at once: a week of virtual time is a minute of work.
func fewAttempts() declare.Settings {
	s := declare.DefaultSettings()
	s.HoldUnknown = 0
	s.Retry = s.Retry.With(retry.MaxAttempts(3), retry.BaseDelay(2*time.Second), retry.Jitter(0))
	s.Breaker.Off = true
	return s
}

var billType = runtime.Define(runtime.Spec[bill]{
	Name: "bill.sent", Version: 3, Aliases: []string{"bill.written"}, Settings: fewAttempts(),
	Upcasts: []runtime.Upcast{
		runtime.UpcastFrom(1, func(old billV1) (billV2, error) { return billV2{old.Order, billTotal{old.Total}}, nil }),
		runtime.UpcastFrom(2, func(old billV2) (bill, error) { return bill{len(old.Order), old.Total}, nil }),
	},
})

func TestExactlyTheRowsOfOldVersionsThatAreCountedFailToDecode(t *testing.T) {
	c, findings := parse.Text("bills.yaml", []byte(bills))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	var rows []row
	for version := 1; version <= 4; version++ {
		for _, name := range []string{"bill.sent", "bill.written", "bill.lost"} {
			for _, payload := range []string{
				`{"order":"one","total":100}`, `{"order":"one","total":{"cents":100}}`, `{"number":1,"total":{"cents":100}}`, `{"number":1,"order":1}`, `{}`, `null`, `[]`,
			} {
				rows = append(rows, row{name, version, payload})
			}
		}
	}
	decodes, fails := compareWithBus(t, c, runtime.NewCatalogue(billType), rows, func(bus *runtime.Bus) error {
		_, err := runtime.SubscribeNamespace(bus, "*", "all", func(context.Context, runtime.Event[runtime.Payload]) error { return nil })
		return err
	})
	if want := 2 * 3 * 4; decodes != want || fails == 0 {
		t.Errorf("%d rows decode and %d do not, want %d", decodes, fails, want)
	}
}

func TestRowsAreCountedByTypeVersionAndReason(t *testing.T) {
	c, findings := parse.Text("events.yaml", []byte("version: 1\npackage: p\nevents:\n  a.b: { payload: { list: \"[]int\", by_name: \"map[string]bool\" } }\n"))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	s := &stored{catalogue: c, path: "x.db", groups: map[string]*rowGroup{}}
	for i, payload := range []string{
		`{"list":[1,"x"]}`, `{"list":["x"]}`, `{"list":[1]}`, `{"by_name":{"a":1}}`, `{"by_name":{"\"]":1}}`, `{"by_name":{"a":1},"list":[[]]}`, `{"list":5}`,
	} {
		s.add(event.Unsettled{Type: "a.b", Version: 1, Payload: []byte(payload), Open: i, Dead: 1})
	}
	got := map[string]int{}
	for _, g := range s.groups {
		got[g.reason] = 100*g.open + g.rows
	}
	want := map[string]int{
		"list[]: want a number (int), got a string": 102, "by_name[]: want true or false (bool), got a number": 1203, "list: want a list ([]int), got a number": 601,
		"by_name": 201, // it is not there
	}
	if diff := cmp.Diff(want, got); diff != "" || s.answer() != "x.db: 6 of 7 open or dead rows cannot be decoded; 1 without a field that is required" {
		t.Errorf("%s (-want +got):\n%s", s.answer(), diff)
	}
}

// compareWithBus puts rows into a file, asks which of them cannot be decoded, and then
// has a bus decode them all.
func compareWithBus(t *testing.T, c *catalog.Catalogue, types *runtime.Catalogue, rows []row, subscribe func(*runtime.Bus) error) (decodes, fails int) {
	t.Helper()
	inFolder(t, nil)
	synctest.Test(t, func(t *testing.T) {
		open := func() *runtime.Bus {
			bus, err := runtime.Open(t.Context(), "rows.db", types, runtime.WithLogger(slog.New(slog.DiscardHandler)), runtime.WithDurability(runtime.Normal))
			must(t, err)
			must(t, subscribe(bus))
			return bus
		}
		must(t, open().Shutdown(t.Context()))
		store(t, rows)

		counted := map[string]string{}
		file, err := inspect.Open(t.Context(), "rows.db")
		must(t, err)
		must(t, file.Unsettled(t.Context(), func(e event.Unsettled) {
			if err := payload.CheckDecode(c, e.Type, e.Version, e.Payload); err != nil {
				counted[e.ID.String()] = fmt.Sprintf("%d %s", e.Version, e.Payload)
			}
		}))
		must(t, file.Close())
		stored, err := storedRows(t.Context(), c, nil, "rows.db")
		must(t, err)
		if n := len(counted); stored.rows != len(rows) || !strings.Contains(stored.answer(), fmt.Sprintf(": %d of %d ", n, len(rows))) {
			t.Errorf("%s, with %d rows of which %d do not decode", stored.answer(), len(rows), n)
		}

		bus := open()
		must(t, bus.Start(t.Context()))
		must(t, bus.WaitIdle(t.Context()))
		must(t, bus.Shutdown(t.Context()))
		file, err = inspect.Open(t.Context(), "rows.db")
		must(t, err)
		defer file.Close()
		dead := map[string]string{}
		letters, _, err := file.DeadLetters(t.Context(), event.Filter{Reasons: []string{"decode"}}, event.Page{Limit: len(rows) + 1})
		must(t, err)
		for _, l := range letters {
			dead[l.EventID.String()] = fmt.Sprintf("%d %s", l.Version, l.Payload)
		}
		if diff := cmp.Diff(dead, counted); diff != "" {
			t.Errorf("(-dead +counted):\n%s", diff)
		}
		decodes, fails = len(rows)-len(dead), len(dead)
	})
	return decodes, fails
}

// store writes rows behind the back of the bus.
func store(t *testing.T, rows []row) {
	t.Helper()
	db, err := sqlite3.Open("rows.db")
	must(t, err)
	defer db.Close()
	exec := func(sql string, args ...any) {
		t.Helper()
		for i, arg := range args {
			sql = strings.Replace(sql, fmt.Sprintf("?%d", i+1), sqlite3.Quote(arg), -1)
		}
		must(t, db.Exec(sql))
	}
	exec("BEGIN")
	for _, r := range rows {
		exec("INSERT OR IGNORE INTO busgen_types (name, written, version) VALUES (?1, ?1, ?2)", r.name, r.version)
		exec("INSERT INTO busgen_log (id, type, payload, created_at) SELECT randomblob(16), id, ?3, ?4 FROM busgen_types WHERE written = ?1 AND version = ?2", r.name, r.version, r.payload, time.Now().UnixMicro())
	}
	exec("INSERT OR IGNORE INTO busgen_routes (type, subscription) SELECT t.id, s.id FROM busgen_types t, busgen_subscriptions s WHERE t.name NOT LIKE '$%'")
	exec("COMMIT")
}

// spoiled is a payload with one value in it replaced, or none.
func spoiled(t *testing.T, chance *rand.Rand, payload string) string {
	t.Helper()
	values := []string{"null", "true", "0", "5", "-1", "1.5", "1e400", `""`, `"x"`, `"2024-02-29"`, `"1h"`, "[]", "[1]", `["x"]`, "{}", `{"kind":"in-cash"}`, `{"type":"number","value":2}`}
	var tree any
	must(t, json.Unmarshal([]byte(payload), &tree))
	var spoil func(value any) any
	spoil = func(value any) any {
		switch inner := value.(type) {
		case map[string]any:
			if keys := slices.Sorted(maps.Keys(inner)); len(keys) > 0 && chance.IntN(5) > 0 {
				key := keys[chance.IntN(len(keys))]
				inner[key] = spoil(inner[key])
				return inner
			}
		case []any:
			if len(inner) > 0 && chance.IntN(5) > 0 {
				i := chance.IntN(len(inner))
				inner[i] = spoil(inner[i])
				return inner
			}
		}
		return json.RawMessage(values[chance.IntN(len(values))])
	}
	if chance.IntN(4) > 0 {
		tree = spoil(tree)
	}
	text, err := json.Marshal(tree)
	must(t, err)
	return string(text)
}

// A file whose type has another name by now, looked at with the catalogue of before.
func TestRowsAreFoundUnderTheNameThatTheCatalogueHas(t *testing.T) {
	inFolder(t, map[string]string{
		"before.yaml": "version: 1\npackage: p\nevents: { note.taken: { payload: { n: int } } }\n",
		"after.yaml":  "version: 1\npackage: p\nevents: { memo.written: { aliases: [note.taken], payload: { n: int } } }\n",
	})
	spec := runtime.Spec[noteTaken]{Name: "note.taken", Settings: declare.DefaultSettings(), Subscriptions: []declare.Subscription{{Name: "reader", Settings: declare.DefaultSettings()}}}
	publish := func(t *testing.T) {
		noteType := runtime.Define(spec)
		bus, err := runtime.Open(t.Context(), "notes.db", runtime.NewCatalogue(noteType))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := runtime.Publish(t.Context(), bus, noteType, noteTaken{}); err != nil {
			t.Fatal(err)
		}
		if err := bus.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, publish)
	spec.Name, spec.Aliases = "memo.written", []string{"note.taken"}
	synctest.Test(t, publish)
	for _, catalogue := range []string{"before.yaml", "after.yaml"} {
		busgen(t, "check-db notes.db --catalogue "+catalogue).Wants(t, 0, "All is well, with 2 open deliveries and 0 dead letters.\n", "")
		if got := busgen(t, "breaking "+catalogue+" --db notes.db"); got.Status != 0 {
			t.Errorf("%s: %+v", catalogue, got)
		}
	}
}

type noteTaken struct {
	N int `json:"n"`
}

func (noteTaken) Validate() error { return nil }
