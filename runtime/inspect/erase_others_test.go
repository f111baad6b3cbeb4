package inspect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

// greeted is a file with an event about a person that was handled.
func greeted(t *testing.T) (path string, file *inspect.File, bus *runtime.Bus) {
	t.Helper()
	path = SQLite.Target(t)
	bus = SQLite.Greeting(t, path, func() {})
	Must(t, bus.WaitIdle(t.Context()))
	return path, SQLite.Outside(t, path), bus
}

// The number of a customer may be that of somebody else's order.
func TestATypeWithoutPersonalFieldsIsErasedOnlyIfItIsChosen(t *testing.T) {
	path, file, bus := greeted(t)
	Must(t, Second(runtime.Publish(t.Context(), bus, PlacedType, Order{Number: 4711})))
	execute(t, path, `INSERT INTO busgen_schemas SELECT id, '{"event":"order.placed","version":1,"partition_by":"number","payload":{"number":"int"}}', 0, 'shop'
		FROM busgen_types WHERE name = 'order.placed'`)
	erasing := inspect.Erasure{Values: []string{"4711", Zeb}, KeepSpace: true, DryRun: true}
	n, err := file.Erase(t.Context(), erasing)
	at := slices.IndexFunc(n.Types, func(of event.ErasedType) bool { return of.Type == "order.placed" })
	if err != nil || n.Keyed != 1 || at < 0 || n.Types[at] != (event.ErasedType{Type: "order.placed", Keyed: 1}) {
		t.Errorf("counted %+v (%v)", n, err)
	}
	if sum := 0; err == nil {
		for _, of := range n.Types {
			sum += of.Events
		}
		if sum != n.Events || sum == 0 {
			t.Errorf("the types have %d events of %d", sum, n.Events)
		}
	}
	erasing.DryRun = false
	if n, err = file.Erase(t.Context(), erasing); err != nil || n.Events == 0 || n.Keyed != 1 {
		t.Errorf("erased %+v (%v)", n, err)
	}
	if got := queryRow(t, path, "SELECT payload FROM busgen_log l JOIN busgen_types t ON t.id = l.type WHERE t.name = 'order.placed'"); got != `{"number":4711}` {
		t.Errorf("the order is %s", got)
	}
	erasing.Types = []string{"order.*"}
	if n, err = file.Erase(t.Context(), erasing); err != nil || n.Events != 1 || n.Keyed != 0 {
		t.Errorf("of the chosen type: erased %+v (%v)", n, err)
	}
}

func TestKeysAndMetadataOfOthersStayWhereAValueIsAPartOfALongerName(t *testing.T) {
	path, file, bus := greeted(t)
	publish := func() *runtime.Receipt {
		receipt, err := runtime.Publish(t.Context(), bus, PlacedType, Order{Number: 1}, runtime.WithDedupeKey("order-4711 of ann"),
			runtime.WithMetadata(map[string]string{"asked-by": "bob." + Zeb}))
		Must(t, err)
		return receipt
	}
	publish()
	erasing := ErasingZeb()
	erasing.Values = append(erasing.Values, "4711")
	n, err := file.Erase(t.Context(), erasing)
	if err != nil || n.Parts != 2 {
		t.Errorf("erased %+v (%v)", n, err)
	}
	if got := queryRow(t, path, "SELECT count(*) FROM busgen_log WHERE metadata LIKE '%bob."+Zeb+"%'"); got != "1" {
		t.Errorf("the metadata of %s event is as it was", got)
	}
	if !publish().Duplicate {
		t.Error("the key of somebody else is gone")
	}
}

func TestWhatIsWrittenDuringAnErasureStays(t *testing.T) {
	path, file, _ := greeted(t)
	execute(t, path, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
		INSERT INTO busgen_pauses (kind, target, since, actor, reason) SELECT 'type', printf('t%04d', i), 0, 'ada', 'for `+Zeb+`' FROM n`)
	before, err := file.Erase(t.Context(), inspect.Erasure{Values: []string{Zeb}, DryRun: true})
	Must(t, err)
	pauses := 0
	erasing := ErasingZeb()
	erasing.KeepSpace = true
	erasing.Progress = func(event.Erased) {
		if left := queryRow(t, path, "SELECT count(*) FROM busgen_pauses WHERE reason LIKE '%[erased]%'"); left == "50" && pauses == 0 {
			pauses++
			execute(t, path, "UPDATE busgen_pauses SET reason = 'a newer one for "+Zeb+"' WHERE target = 't0120'")
		}
	}
	n, err := file.Erase(t.Context(), erasing)
	if err != nil || pauses != 1 || n.Texts < before.Texts {
		t.Fatalf("erased %+v, counted %+v, in steps: %d (%v)", n, before, pauses, err)
	}
	if got := queryRow(t, path, "SELECT reason FROM busgen_pauses WHERE target = 't0120'"); got != "a newer one for [erased]" {
		t.Errorf("the reason is %s", got)
	}
}

// ANALYZE of the sqlite3 shell copies keys.
func TestSamplesOfAnotherProgramsAnalyzeAreErased(t *testing.T) {
	path, file, _ := greeted(t)
	execute(t, path, `PRAGMA writable_schema=ON; CREATE TABLE sqlite_stat4 (tbl, idx, neq, nlt, ndlt, sample);
		INSERT INTO sqlite_stat4 VALUES ('busgen_dedupe', 'x', '1', '1', '1', CAST('a sample for `+Zeb+`' AS BLOB)), ('shop', 'x', '1', '1', '1', x'00')`)
	Must(t, Second(file.Erase(t.Context(), ErasingZeb())))
	if n := bytesOf(t, path, "zebediah"); n != 0 {
		t.Errorf("%d traces are left", n)
	}
	if got := queryRow(t, path, "SELECT count(*) FROM sqlite_stat4"); got != "1" {
		t.Errorf("%s samples are left, of the program's table too", got)
	}
}

func TestAFileThatCannotBeRewrittenIsErasedAndTheErrorSaysSo(t *testing.T) {
	path, file, _ := greeted(t)
	c, err := sqlite3.Open(path)
	Must(t, err)
	Must(t, c.CreateCollation("shop", bytes.Compare))
	Must(t, c.Exec("CREATE TABLE shop (name TEXT); CREATE INDEX shop_name ON shop (name COLLATE shop); INSERT INTO shop VALUES ('a')"))
	Must(t, c.Close())
	n, err := file.Erase(t.Context(), ErasingZeb())
	if err == nil || !strings.Contains(err.Error(), "everything is erased") || !strings.Contains(err.Error(), "--keep-space") || n.Clean || n.Events == 0 {
		t.Fatalf("erased %+v (%v)", n, err)
	}
	if got := queryRow(t, path, "SELECT count(*) FROM busgen_log WHERE payload LIKE '%zebediah%'"); got != "0" {
		t.Errorf("%s events are left", got)
	}
}

func TestWhatStandsForErasedValuesIsNotErasedAgain(t *testing.T) {
	_, file, _ := greeted(t)
	Must(t, Second(file.Erase(t.Context(), ErasingZeb())))
	for _, value := range []string{"[erased]", "0"} {
		if n, err := file.Erase(t.Context(), inspect.Erasure{Values: []string{value}, KeepSpace: true}); err != nil || n.Events != 0 {
			t.Errorf("with %s: erased %+v (%v)", value, n, err)
		}
	}
}

func TestHiddenValuesAreNotImportedAndAreHiddenInFindings(t *testing.T) {
	short.Visit(t, "it fills files")
	path := SQLite.Target(t)
	SQLite.LeaveTraces(t, path, 2)
	file := SQLite.Outside(t, path)
	hiddenAreNotImported(t, path, file)
	findingsAreHidden(t, file)
}

func hiddenAreNotImported(t *testing.T, path string, file *inspect.File) {
	t.Helper()
	var exported bytes.Buffer
	Must(t, Second(file.Export(t.Context(), &exported, event.Filter{Text: Zeb})))
	_, err := file.Import(t.Context(), strings.NewReader(strings.ReplaceAll(exported.String(), `"email":"`+Zeb+`"`, `"email":"[hidden]"`)))
	if _, bad := errors.AsType[*event.ImportError](err); !bad || !strings.Contains(err.Error(), "a value that is not shown") {
		t.Errorf("importing hidden values: %v", err)
	}
	if n, err := file.Import(t.Context(), &exported); err != nil || n.Matched == 0 {
		t.Errorf("importing the others: %+v (%v)", n, err)
	}
	if got := queryRow(t, path, "SELECT count(*) FROM busgen_log WHERE payload LIKE '%[hidden]%'"); got != "0" {
		t.Errorf("%s hidden events were added", got)
	}
}

func findingsAreHidden(t *testing.T, file *inspect.File) {
	t.Helper()
	check := func(u event.Unsettled) error { return fmt.Errorf("%.60q is not it: %s", Zeb, u.Payload) }
	for _, shown := range []bool{false, true} {
		of := file
		if !shown {
			of = file.Hiding()
		}
		report, err := of.Check(context.Background(), check)
		Must(t, err)
		text := fmt.Sprint(report)
		if strings.Contains(text, `"email":"`+Zeb) != shown || strings.Contains(text, `"email":"[hidden]"`) == shown {
			t.Errorf("shown %t: %s", shown, text)
		}
	}
}
