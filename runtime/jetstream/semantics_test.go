package jetstream_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// readTable returns docs/semantics.md up to the table of this engine, and the rows of that.
func readTable(t *testing.T) (rules string, rows [][]string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/semantics.md")
	conformance.Must(t, err)
	rules, table, found := strings.Cut(string(page), "\n## On NATS JetStream\n")
	if !found {
		t.Fatal("docs/semantics.md has no section on this engine")
	}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || strings.HasPrefix(cells[0], "---") || strings.TrimSpace(cells[0]) == "rule" {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) < 15 {
		t.Fatalf("the table has only %d rows: is its form another one?", len(rows))
	}
	return strings.Join(strings.Fields(rules), " "), rows
}

// The exceptions of the conformance suite are those of the table, 12 at most.
func TestTheTableOfSemanticsHasTheExceptionsOfTheSuite(t *testing.T) {
	rules, rows := readTable(t)
	var listed, excepted []string
	for _, row := range rows {
		if title, isRule := strings.CutPrefix(row[0], "**"); isRule && !strings.Contains(rules, "* **"+strings.TrimSuffix(title, "**")) {
			t.Errorf("the page has no rule %q", row[0])
		}
		if !strings.HasPrefix(row[1], "in another way") && !strings.HasPrefix(row[1], "not possible") {
			t.Errorf("%s: it is neither in another way nor not possible: %s", row[0], row[1])
		}
		for _, name := range regexp.MustCompile("`(Test[A-Za-z0-9]*)`").FindAllStringSubmatch(row[2], -1) {
			listed = append(listed, name[1])
		}
	}
	for _, all := range []map[string][]string{exceptions, inspectionExceptions} {
		for names := range maps.Values(all) {
			excepted = append(excepted, names...)
		}
	}
	slices.Sort(listed)
	if slices.Sort(excepted); !slices.Equal(listed, excepted) {
		t.Errorf("the table has the exceptions\n%q, and the suite\n%q", listed, excepted)
	}
	if len(excepted) > 12 {
		t.Errorf("there are %d exceptions", len(excepted))
	}
}

// Each call that needs a file gives an error with a sentence of the table.
func TestWhatThisEngineCannotDoIsAnErrorAtTheCall(t *testing.T) {
	_, rows := readTable(t)
	server := servertest.Start(t, t.TempDir())
	through := jetstream.Through(func(string) (*nats.Conn, error) { return server.Connect() })
	open := func(opts ...runtime.Option) (*runtime.Bus, error) {
		return runtime.Open(t.Context(), "nats://test/bus", conformance.Catalogue, append(opts, jetstream.Engine(through, jetstream.InMemory()))...)
	}
	bus, err := open()
	conformance.Must(t, err)
	defer bus.Shutdown(context.Background())
	_, joining := runtime.Publish(t.Context(), runtime.In(bus, nil), conformance.PlacedType, conformance.OrderPlaced{OrderID: "A"})
	_, beginning := runtime.DB(bus).Begin()
	_, compacting := bus.Compact(t.Context())
	for what, err := range map[string]error{
		"Tx": runtime.Transact(t.Context(), bus, func(runtime.Tx) error { return nil }), "In": joining,
		"DB": runtime.DB(bus).Ping(), "BeginTx": beginning, "a statement": runtime.DB(bus).QueryRow("SELECT 1").Scan(new(int)),
		"Compact": compacting,
	} {
		said := false
		for _, row := range rows {
			if _, sentence, quoted := strings.Cut(row[1], `"`); quoted && err != nil {
				said = said || strings.Contains(err.Error(), strings.TrimSuffix(sentence, `"`))
			}
		}
		if !errors.Is(err, errors.ErrUnsupported) || !said {
			t.Errorf("%s gives %v", what, err)
		}
	}
}
