package catalogue

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
)

// refusal is what is said of ordersAfter; RECORD is the name of the record.
const refusal = `events.yaml:5:24: error: field number of event order.placed is string and was int: neither program can decode the rows of the other; raise the version of order.placed and keep the old payload under history [type-changed order.placed 1 number int->string]
    5 |     payload: { number: string }
      |                        ^^^^^^
  RECORD:8:30: it was here
    8 | event order.placed 1 number: "int"
      |                              ^^^^^
`

const (
	acceptOne      = "; to accept one, add its key to accepted in the catalogue, with the reason\n"
	nothingWritten = "; nothing was written" + acceptOne
)

func TestAChangeThatStoredEventsDoNotFitIsRefused(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": ordersBefore})
	busgen(t, "-q").Wants(t, 0, "", "")
	rewrite(t, ordersAfter)
	before := clitest.Snapshot(t)
	refusal := strings.Replace(refusal, "RECORD", "wire.golden", 1)
	busgen(t, "").Wants(t, cli.StatusNo, "", refusal+"busgen: 1 error in events.yaml"+nothingWritten)
	busgen(t, "check").Wants(t, cli.StatusNo, "", refusal+"busgen: 1 error in events.yaml"+acceptOne)
	if after := clitest.Snapshot(t); len(after) != len(before) || after["wire.golden"] != before["wire.golden"] || after["payloads.gen.go"] != before["payloads.gen.go"] {
		t.Error("something was written")
	}
	for _, verb := range []string{"check", "generate"} {
		var found findingsObject
		if err := json.Unmarshal([]byte(busgen(t, verb+" --format json").Stdout), &found); err != nil || len(found.Findings) != 1 || found.Findings[0].Related[0].File != "wire.golden" {
			t.Errorf("%v %+v", err, found)
		}
	}

	rewrite(t, ordersVersioned) // which takes a program to compile: upcasts are its own
	got := busgen(t, "")
	if got.Status != 0 || !strings.HasSuffix(got.Stdout, "unchanged)\nevents.yaml:5:14: note: event order.placed is version 2 and was 1; deploy to all programs before you rely on it: until then, and after a rollback, old programs hold its events for 7d (hold_unknown), and then make dead letters of them [version-raised order.placed 1->2]\n") {
		t.Errorf("%+v", got)
	}
	for _, line := range []string{`event order.placed 1 number: "int"`, `event order.placed 2 number: "string"`} {
		if !strings.Contains(read(t, "wire.golden"), line+"\n") {
			t.Errorf("wire.golden lacks %s:\n%s", line, read(t, "wire.golden"))
		}
	}
	busgen(t, "check").Wants(t, 0, "", "")
}

func TestAChangeIsAcceptedOnRequest(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": ordersBefore})
	busgen(t, "-q").Wants(t, 0, "", "")
	rewrite(t, ordersAfter)
	got := busgen(t, "--accept-wire")
	if got.Status != 0 || !strings.HasSuffix(got.Stdout, "neither program can decode the rows of the other; accepted with --accept-wire [type-changed order.placed 1 number int->string]\n") {
		t.Errorf("%+v", got)
	}
	busgen(t, "").Wants(t, 0, "shop: 1 event, 6 files (6 unchanged)\n", "")
	busgen(t, "check").Wants(t, 0, "", "")
}

func TestAFindingThatTheCatalogueAcceptsIsNotRefused(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": ordersBefore})
	busgen(t, "-q").Wants(t, 0, "", "")
	rewrite(t, ordersAfter+"accepted:\n  type-changed order.placed 1 number int->string: Nothing was ever published.\n")
	got := busgen(t, "")
	if got.Status != 0 || !strings.Contains(got.Stdout, "; accepted: Nothing was ever published. [type-changed order.placed 1 number int->string]\n") {
		t.Errorf("%+v", got)
	}
	busgen(t, "check").Wants(t, 0, "", "")
}

func TestAnAllowedChangeIsReported(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": ordersBefore})
	busgen(t, "-q").Wants(t, 0, "", "")
	rewrite(t, strings.Replace(ordersBefore, "number: int", `number: int, note: "string?"`, 1)+"  order.paid: {}\n")
	note := "events.yaml:6:3: note: event order.paid is new [event-added order.paid]\n"
	got := busgen(t, "check")
	if got.Status != cli.StatusNo || !strings.HasSuffix(got.Stdout, "changed   wire.golden\n"+`  + event order.paid version: 1
  + event order.placed 1 note: "string?"
`+note) {
		t.Errorf("%+v", got)
	}
	if got := busgen(t, "check --format github"); !strings.Contains(got.Stdout, `title=out-of-date::wire.golden is changed; + event order.paid version: 1; + event order.placed 1 note: "string?"; run`) ||
		!strings.Contains(got.Stdout, "title=event-added order.paid::event order.paid is new\n") {
		t.Errorf("%+v", got)
	}
	if got = busgen(t, ""); got.Status != 0 || !strings.HasSuffix(got.Stdout, ")\n"+note) {
		t.Errorf("%+v", got)
	}
	busgen(t, "").Wants(t, 0, "shop: 2 events, 6 files (6 unchanged)\n", "")

	// Many of one rule are counted; programs get all of them.
	many := read(t, "events.yaml")
	for _, name := range strings.Split("abcdefghijkl", "") {
		many += "  order." + name + ": {}\n"
	}
	rewrite(t, many)
	if got := busgen(t, "check"); strings.Count(got.Stdout, "[event-added ") != 5 || !strings.Contains(got.Stdout, "\nand 7 more of event-added\n") || !strings.Contains(got.Stdout, "\n  and 2 more lines\n") {
		t.Errorf("%+v", got)
	}
	var found findingsObject
	got = busgen(t, "generate --accept-wire --format json")
	if err := json.Unmarshal([]byte(got.Stdout), &found); err != nil || got.Status != 0 || len(found.Findings) != 12 {
		t.Errorf("%v %+v", err, got)
	}
}

func TestARecordThatIsDamagedIsAFinding(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": ordersBefore})
	busgen(t, "-q").Wants(t, 0, "", "")
	clitest.AppendTo(t, "wire.golden", "event order.placed since: 2030\n")
	busgen(t, "check").WantsErrors(t, cli.StatusNo, "wire.golden:10:1: error: this version of busgen does not know this line; use the busgen that wrote it", "event order.placed since: 2030\n")
	busgen(t, "-q --accept-wire").Wants(t, 0, "", "")
	busgen(t, "check").Wants(t, 0, "", "")
	must(t, os.WriteFile("wire.golden", []byte("mine\n"), 0o600))
	busgen(t, "").WantsErrors(t, cli.StatusTrouble, "wire.golden was not generated by busgen")
	must(t, os.Remove("wire.golden"))
	must(t, os.Mkdir("wire.golden", 0o700))
	busgen(t, "").WantsErrors(t, cli.StatusTrouble, "cannot compare the types of events with what they were")
}

func TestCodeWithoutARecordIsAFinding(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": ordersBefore})
	busgen(t, "-q").Wants(t, 0, "", "")
	must(t, os.Remove("wire.golden"))
	rewrite(t, ordersAfter)
	for _, verb := range []string{"", "check"} {
		busgen(t, verb).WantsErrors(t, cli.StatusNo, "catalogue.gen.go:1:1: error: wire.golden is missing, so busgen cannot tell", "restore the file, or generate with --accept-wire", "// Code generated by busgen from events.yaml.")
	}
	busgen(t, "-q --accept-wire").Wants(t, 0, "", "")
	busgen(t, "check").Wants(t, 0, "", "")
}

func TestTwoCataloguesDoNotShareAFolder(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": ordersBefore, "other.yaml": strings.ReplaceAll(ordersBefore, "order.placed", "user.seen"), "below/events.yaml": ordersBefore, "part.yaml": "version: 1\nevents: { a.b: {} }\n"})
	refused := func(command string, texts ...string) {
		t.Helper()
		before := clitest.Snapshot(t)
		busgen(t, command).WantsErrors(t, cli.StatusNo, texts...)
		if after := clitest.Snapshot(t); len(after) != len(before) || after["payloads.gen.go"] != before["payloads.gen.go"] {
			t.Errorf("%s has written something", command)
		}
	}
	busgen(t, "-q").Wants(t, 0, "", "")
	const way = "write one of the two into another folder with --out; if other.yaml replaces events.yaml, remove the latter"
	refused("other.yaml", "wire.golden:1:1: error: wire.golden was generated from events.yaml, and not from other.yaml; "+way, "busgen: 1 error in other.yaml; nothing was written\n")
	refused("check other.yaml", "wire.golden was generated from events.yaml")
	refused("other.yaml --accept-wire", "wire.golden was generated from events.yaml")
	refused("below/events.yaml --out .", "wire.golden was generated from events.yaml, and not from below/events.yaml")
	must(t, os.Remove("wire.golden"))
	refused("other.yaml --accept-wire", "catalogue.gen.go was generated from events.yaml")
	busgen(t, "-q --accept-wire").Wants(t, 0, "", "")

	// With another name it is the same catalogue, and so it is as a part of another one.
	must(t, os.Rename("events.yaml", "orders.yaml"))
	busgen(t, "-q orders.yaml").Wants(t, 0, "", "")
	busgen(t, "check orders.yaml").Wants(t, 0, "", "")
	must(t, os.WriteFile("all.yaml", []byte("version: 1\npackage: shop\ninclude: [orders.yaml]\n"), 0o600))
	must(t, os.WriteFile("orders.yaml", []byte(strings.Replace(ordersBefore, "package: shop\n", "", 1)), 0o600))
	busgen(t, "-q all.yaml").Wants(t, 0, "", "")
	busgen(t, "check all.yaml").Wants(t, 0, "", "")
	busgen(t, "-q ./all.yaml --out ../"+base(t)).Wants(t, 0, "", "")
}

// rewrite replaces the catalogue.
func rewrite(t *testing.T, text string) {
	t.Helper()
	must(t, os.WriteFile("events.yaml", []byte(text), 0o600))
}
