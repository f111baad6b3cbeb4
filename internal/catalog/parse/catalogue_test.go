package parse_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/runtime/retry"
)

// shop is a catalogue with every construct of the language.
const shop = `version: 1
package: events
defaults:
  timeout: 20s
  retry: { max_attempts: 6, jitter: 0 }
policies:
  ml.*:      { priority: low, retry: { base_delay: 2s, max_delay: 1d } }
  ml.run.*:  { retry: { max_delay: 5m, backoff: linear } }
types:
  Money:
    doc: |
      An amount of money.
    fields:
      amount:   int64
      currency: { type: Currency, doc: What it is counted in. }
  Currency: { enum: [EUR, "NO", PENDING_REVIEW] }
  Tree: { fields: { children: "[]Tree", parent: "Tree?" } }
events:
  order.placed:
    doc: A customer placed an order.
    partition_by: currency
    payload:
      order_id: uuid
      currency: Currency
      totals:   map[string][]Money?
  ml.run.started:
    retry: { max_retries: 2, base_delay: 0s }
    timeout: 1h30m
  ml.trial.ended: {}
`

func parsed(t *testing.T, source string) *catalog.Catalogue {
	t.Helper()
	c, findings := parse.Text("shop.yaml", []byte(source))
	if len(findings) > 0 {
		t.Fatalf("findings in a good catalogue:\n%s", render(t, findings))
	}
	return c
}

func at(line, column int) diag.Position {
	return diag.Position{File: "shop.yaml", Line: line, Column: column}
}

func TestTypesAreReadInFileOrderAndResolved(t *testing.T) {
	c := parsed(t, shop)
	money, currency, tree := c.Types[0], c.Types[1], c.Types[2]
	wantMoney := &catalog.Type{
		Name: catalog.Value[string]{V: "Money", Pos: at(10, 3)}, GoName: "Money",
		Doc: "An amount of money.",
		Fields: []*catalog.Field{
			{
				Name: catalog.Value[string]{V: "amount", Pos: at(14, 7)}, Local: catalog.Value[string]{V: "amount", Pos: at(14, 7)}, GoName: "Amount",
				Type: &catalog.TypeRef{Kind: catalog.Int64, Text: "int64", Pos: at(14, 17)},
			},
			{
				Name: catalog.Value[string]{V: "currency", Pos: at(15, 7)}, Local: catalog.Value[string]{V: "currency", Pos: at(15, 7)}, GoName: "Currency", Doc: "What it is counted in.",
				Type: &catalog.TypeRef{Kind: catalog.Named, Named: currency, Text: "Currency", Pos: at(15, 25)},
			},
		},
	}
	if diff := cmp.Diff(wantMoney, money); diff != "" {
		t.Errorf("Money (-want +got):\n%s", diff)
	}
	wantValues := []*catalog.EnumValue{
		{Name: catalog.Value[string]{V: "EUR", Pos: at(16, 22)}, GoName: "CurrencyEUR"},
		{Name: catalog.Value[string]{V: "NO", Pos: at(16, 27)}, GoName: "CurrencyNO"},
		{Name: catalog.Value[string]{V: "PENDING_REVIEW", Pos: at(16, 33)}, GoName: "CurrencyPendingReview"},
	}
	if diff := cmp.Diff(wantValues, currency.Values); diff != "" {
		t.Errorf("values of Currency (-want +got):\n%s", diff)
	}
	if money.IsEnum() || !currency.IsEnum() {
		t.Error("a struct is taken for an enum, or an enum for a struct")
	}
	if elem := tree.Fields[0].Type.Elem; elem.Named != tree {
		t.Errorf("the children of a Tree are %+v, want the same Tree", elem)
	}
}

func TestEventsAreReadInFileOrder(t *testing.T) {
	c := parsed(t, shop)
	if c.File != "shop.yaml" || c.Version.V != 1 || c.Package != (catalog.Value[string]{V: "events", Pos: at(2, 10)}) {
		t.Errorf("got file %q, version %v, package %v", c.File, c.Version, c.Package)
	}
	var names []string
	for _, e := range c.Events {
		names = append(names, e.Name.V+" "+e.GoName)
	}
	want := []string{"order.placed OrderPlaced", "ml.run.started MLRunStarted", "ml.trial.ended MLTrialEnded"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	placed := c.Events[0]
	if placed.Doc != "A customer placed an order." || placed.Name.Pos != at(19, 3) {
		t.Errorf("order.placed at %v says %q", placed.Name.Pos, placed.Doc)
	}
	if placed.PartitionBy != placed.Fields[1] {
		t.Errorf("order.placed is partitioned by %v, want its currency", placed.PartitionBy)
	}
}

func TestTheQuestionMarkBelongsToTheWholeField(t *testing.T) {
	totals := parsed(t, shop).Events[0].Fields[2].Type
	if totals.Kind != catalog.Map || totals.Elem.Kind != catalog.List || totals.Elem.Elem.Named.Name.V != "Money" {
		t.Errorf("%s was read as %+v", totals.Text, totals)
	}
	if !totals.Optional || totals.Elem.Optional || totals.Elem.Elem.Optional {
		t.Error("want the map optional and nothing inside of it")
	}
	if totals.Text != "map[string][]Money?" || totals.Elem.Elem.Pos != at(25, 30) {
		t.Errorf("text is %q, Money is at %v", totals.Text, totals.Elem.Elem.Pos)
	}
}

func TestNamespacesAreTheProperPrefixes(t *testing.T) {
	var got []string
	for _, n := range parsed(t, shop).Namespaces {
		line := n.Name + " " + n.GoName + ":"
		for _, e := range n.Events {
			line += " " + e.Name.V
		}
		got = append(got, line)
	}
	want := []string{
		"ml ML: ml.run.started ml.trial.ended",
		"ml.run MLRun: ml.run.started",
		"ml.trial MLTrial: ml.trial.ended",
		"order Order: order.placed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
}

func TestSettingsKnowWhereTheyComeFrom(t *testing.T) {
	c := parsed(t, shop)
	want := map[string]catalog.Settings{
		"order.placed": builtInBut(t, func(s *catalog.Settings) {
			s.MaxAttempts = catalog.Value[int]{V: 6, Pos: at(5, 26)}
			s.Jitter = catalog.Value[float64]{V: 0, Pos: at(5, 37)}
			s.Timeout = catalog.Value[time.Duration]{V: 20 * time.Second, Pos: at(4, 12)}
		}),
		"ml.run.started": builtInBut(t, func(s *catalog.Settings) {
			s.MaxAttempts = catalog.Value[int]{V: 3, Pos: at(27, 27)}
			s.Backoff = catalog.Value[retry.Backoff]{V: retry.Linear, Pos: at(8, 49)}
			s.BaseDelay = catalog.Value[time.Duration]{V: 0, Pos: at(27, 42)}
			s.MaxDelay = catalog.Value[time.Duration]{V: 5 * time.Minute, Pos: at(8, 36)}
			s.Jitter = catalog.Value[float64]{V: 0, Pos: at(5, 37)}
			s.Timeout = catalog.Value[time.Duration]{V: 90 * time.Minute, Pos: at(28, 14)}
			s.Priority = catalog.Value[catalog.Priority]{V: catalog.Low, Pos: at(7, 26)}
		}),
		"ml.trial.ended": builtInBut(t, func(s *catalog.Settings) {
			s.MaxAttempts = catalog.Value[int]{V: 6, Pos: at(5, 26)}
			s.BaseDelay = catalog.Value[time.Duration]{V: 2 * time.Second, Pos: at(7, 52)}
			s.MaxDelay = catalog.Value[time.Duration]{V: 24 * time.Hour, Pos: at(7, 67)}
			s.Jitter = catalog.Value[float64]{V: 0, Pos: at(5, 37)}
			s.Timeout = catalog.Value[time.Duration]{V: 20 * time.Second, Pos: at(4, 12)}
			s.Priority = catalog.Value[catalog.Priority]{V: catalog.Low, Pos: at(7, 26)}
		}),
	}
	for _, e := range c.Events {
		if diff := cmp.Diff(want[e.Name.V], e.Settings); diff != "" {
			t.Errorf("settings of %s (-want +got):\n%s", e.Name.V, diff)
		}
	}
}

// builtInBut returns the settings of an event for which nothing is written, with
// a change.
func builtInBut(t *testing.T, change func(s *catalog.Settings)) catalog.Settings {
	t.Helper()
	s := parsed(t, "version: 1\npackage: events\nevents: { order.placed: {} }\n").Events[0].Settings
	change(&s)
	return s
}

func TestSpellingsThatMeanTheSame(t *testing.T) {
	const body = "version: 1\npackage: events\nevents:\n  order.placed:\n    timeout: 36h\n    payload:\n      id: uuid\n"
	tests := map[string]string{
		"windows line ends":             strings.ReplaceAll(body, "\n", "\r\n"),
		"a byte order mark":             "\uFEFF" + body,
		"no line end at the end":        strings.TrimSuffix(body, "\n"),
		"a document marker":             "---\n" + body + "...\n",
		"quotes":                        strings.ReplaceAll(body, "uuid", `"uuid"`),
		"a day and a half":              strings.ReplaceAll(body, "36h", "1d12h"),
		"a field with its type in a {}": strings.ReplaceAll(body, "uuid", "{ type: uuid }"),
		"an anchor that nobody uses":    strings.ReplaceAll(body, "36h", "&long 36h"),
	}
	for name, source := range tests {
		t.Run(name, func(t *testing.T) {
			e := parsed(t, source).Events[0]
			if e.Settings.Timeout.V != 36*time.Hour || e.Fields[0].GoName != "ID" || e.Fields[0].Type.Kind != catalog.UUID {
				t.Errorf("got timeout %v, field %+v", e.Settings.Timeout, e.Fields[0])
			}
		})
	}
}

func TestEveryBuiltInTypeIsKnown(t *testing.T) {
	kinds := map[string]catalog.Kind{
		"string": catalog.String, "bool": catalog.Bool, "int": catalog.Int, "int32": catalog.Int32, "int64": catalog.Int64,
		"uint64": catalog.Uint64, "float64": catalog.Float64, "bytes": catalog.Bytes, "time": catalog.Time,
		"date": catalog.Date, "duration": catalog.Duration, "uuid": catalog.UUID, "json": catalog.JSON,
	}
	for text, kind := range kinds {
		c := parsed(t, "version: 1\npackage: events\nevents:\n  e:\n    payload:\n      f: "+text+"?\n")
		if f := c.Events[0].Fields[0]; f.Type.Kind != kind || !f.Type.Optional {
			t.Errorf("%s? was read as %+v", text, f.Type)
		}
	}
}

func TestLoadReadsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.yaml")
	if err := os.WriteFile(path, []byte(shop), 0o644); err != nil {
		t.Fatal(err)
	}
	c, findings, err := parse.Load(path)
	if err != nil || len(findings) > 0 || c.File != path {
		t.Errorf("got catalogue %v, findings %v, error %v", c, findings, err)
	}
}

func TestLoadSaysWhatToDoAboutAMissingFile(t *testing.T) {
	_, _, err := parse.Load(filepath.Join(t.TempDir(), "nowhere.yaml"))
	if err == nil || !strings.Contains(err.Error(), "nowhere.yaml") || !strings.Contains(err.Error(), "busgen init") {
		t.Errorf("got %v", err)
	}
	if _, _, err := parse.Load(t.TempDir()); err == nil {
		t.Error("a folder was read as a catalogue")
	}
}

func TestFindingsAreAnErrorOfOneLineEach(t *testing.T) {
	_, findings := parse.Text("x.yaml", []byte("version: 2\npackage: func\nevents: { a: {} }\n"))
	want := `x.yaml:1:10: version 2 of the catalogue language is not known; this busgen reads version 1; a newer one may read yours [version]
x.yaml:2:10: package cannot be named func: it is a keyword of Go; use a short lower-case name, such as events [package-name]`
	var err error = findings
	if err.Error() != want {
		t.Errorf("got:\n%s", err)
	}
}

func TestExamplesAreKeptInTheirStoredForm(t *testing.T) {
	c := parsed(t, `
version: 1
package: events
types: { Cash: { fields: { a: int, b: int } }, Payment: { one_of: { cash: Cash }, discriminator: kind } }
events:
  e:
    payload: { first: int, second: "map[string]int", third: json, fourth: "int?", day: date, wait: duration, payment: Payment }
    examples:
      - { payment: { b: 2, a: 1, kind: cash }, wait: 1d, day: 2024-02-29, fourth: null, third: { z: 16, a: [2024-01-01, ~, "<&>"] }, second: { b: 1, a: 2 }, first: 1000 }
`)
	const want = `{"first":1000,"second":{"a":2,"b":1},"third":{"z":16,"a":["2024-01-01",null,"<&>"]},"day":"2024-02-29","wait":"24h0m0s","payment":{"kind":"cash","a":1,"b":2}}`
	example := c.Events[0].Examples[0]
	if string(example.JSON) != want || example.Pos != (diag.Position{File: "shop.yaml", Line: 9, Column: 9}) {
		t.Errorf("got %s at %v, want %s", example.JSON, example.Pos, want)
	}
	if string(c.Events[0].Sample()) != want {
		t.Errorf("the sample is %s", c.Events[0].Sample())
	}
}
