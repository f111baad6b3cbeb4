package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

const refusal = `events.yaml:4:3: order.placed, version 1: what is stored could not be decoded: number: want a text (string), got a number; raise its version and keep the old payload under history; generate with --accept-wire if nothing of it is stored anywhere [wire-form]
    4 |   order.placed:
      |   ^^^^^^^^^^^^
  wire.golden:7:1: it is stored like this
    7 | order.placed 1 {"number":9223372036854775807}
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
`

func TestAChangeThatStoredEventsDoNotFitIsRefused(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": ordersBefore})
	busgen(t, "-q").wants(t, 0, "", "")
	rewrite(t, ordersAfter)
	before := snapshot(t)
	busgen(t, "").wants(t, statusNo, "", refusal+"busgen: 1 finding in events.yaml; nothing was written\n")
	busgen(t, "check").wants(t, statusNo, "", refusal+"busgen: 1 finding in events.yaml\n")
	if after := snapshot(t); len(after) != len(before) || after["wire.golden"] != before["wire.golden"] || after["payloads.gen.go"] != before["payloads.gen.go"] {
		t.Error("something was written")
	}
	var found findingsObject
	if err := json.Unmarshal([]byte(busgen(t, "check --format json").stdout), &found); err != nil || len(found.Findings) != 1 || found.Findings[0].Related[0].File != "wire.golden" {
		t.Errorf("%v %+v", err, found)
	}

	rewrite(t, ordersVersioned) // which takes a program to compile: upcasts are its own
	if got := busgen(t, ""); got.status != 0 || strings.Contains(got.stdout, "order.placed") {
		t.Errorf("%+v", got)
	}
	for _, line := range []string{`order.placed 1 {"number":9223372036854775807}`, `order.placed 2 {"number":"text"}`} {
		if !strings.Contains(read(t, "wire.golden"), line+"\n") {
			t.Errorf("wire.golden lacks %s:\n%s", line, read(t, "wire.golden"))
		}
	}
	busgen(t, "check").wants(t, 0, "", "")
}

func TestAChangeIsAcceptedIfSomebodySaysSo(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": ordersBefore})
	busgen(t, "-q").wants(t, 0, "", "")
	rewrite(t, ordersAfter)
	got := busgen(t, "--accept-wire")
	if got.status != 0 || !strings.HasSuffix(got.stdout, "accepted: order.placed, version 1: what is stored could not be decoded: number: want a text (string), got a number\n") {
		t.Errorf("%+v", got)
	}
	busgen(t, "").wants(t, 0, "shop: 1 event, 8 files (8 unchanged)\n", "")
	busgen(t, "check").wants(t, 0, "", "")
}

func TestAChangeThatStoredEventsFitIsTold(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": ordersBefore})
	busgen(t, "-q").wants(t, 0, "", "")
	rewrite(t, strings.Replace(ordersBefore, "number: int", `number: int, note: "string?"`, 1))
	got := busgen(t, "check")
	if got.status != statusNo || !strings.HasSuffix(got.stdout, "changed   wire.golden\norder.placed, version 1, is written differently\n") {
		t.Errorf("%+v", got)
	}
	if got := busgen(t, "check --format github"); !strings.Contains(got.stdout, "title=out-of-date::wire.golden is changed; order.placed, version 1, is written differently; run") {
		t.Errorf("%+v", got)
	}
	if got = busgen(t, ""); got.status != 0 || !strings.HasSuffix(got.stdout, "unchanged)\norder.placed, version 1, is written differently\n") {
		t.Errorf("%+v", got)
	}
	busgen(t, "").wants(t, 0, "shop: 1 event, 8 files (8 unchanged)\n", "")
}

func TestWhatIsNotCheckedInMayChange(t *testing.T) {
	inFolder(t, map[string]string{"api/events.yaml": ordersBefore})
	inGit(t, nil)
	busgen(t, "-q api/events.yaml").wants(t, 0, "", "")
	first := read(t, "api/wire.golden")
	must(t, os.WriteFile("api/events.yaml", []byte(ordersAfter), 0o600))
	if got := busgen(t, "api/events.yaml"); got.status != 0 || !strings.HasSuffix(got.stdout, "unchanged)\norder.placed, version 1, is written differently\n") {
		t.Errorf("%+v", got)
	}
	t.Setenv("GIT_DIR", "nowhere") // as a hook may have it
	must(t, os.WriteFile("api/events.yaml", []byte(strings.Replace(ordersAfter, "string", "bool", 1)), 0o600))
	busgen(t, "api/events.yaml -q").wants(t, 0, "", "")
	must(t, os.WriteFile("api/events.yaml", []byte(ordersAfter), 0o600))
	busgen(t, "api/events.yaml -q").wants(t, 0, "", "")
	must(t, os.Unsetenv("GIT_DIR"))
	inGit(t, map[string]string{"api/wire.golden": first})
	busgen(t, "api/events.yaml -q").wants(t, 0, "", "") // as it is there already
	must(t, os.WriteFile("api/wire.golden", []byte(first), 0o600))
	t.Chdir("api")
	for _, command := range []string{"", "check", "../api/events.yaml"} {
		if got := busgen(t, command); got.status != statusNo || !strings.Contains(got.stderr, "what is stored could not be decoded") {
			t.Errorf("%s: %+v", command, got)
		}
	}
}

func TestAFileOfFrozenPayloadsThatIsDamagedIsAFinding(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": ordersBefore})
	busgen(t, "-q").wants(t, 0, "", "")
	appendTo(t, "wire.golden", "<<<<<<< HEAD\n")
	busgen(t, "check").wantsErrors(t, statusNo, "wire.golden:8:1: this is no event with its version and its JSON; take the file of a revision", "<<<<<<< HEAD\n")
	must(t, os.WriteFile("wire.golden", []byte("mine\n"), 0o600))
	busgen(t, "").wantsErrors(t, statusTrouble, "wire.golden was not generated by busgen")
	must(t, os.Remove("wire.golden"))
	must(t, os.Mkdir("wire.golden", 0o700))
	busgen(t, "").wantsErrors(t, statusTrouble, "cannot compare the JSON of events with what it was")
}

// rewrite replaces the catalogue.
func rewrite(t *testing.T, text string) {
	t.Helper()
	must(t, os.WriteFile("events.yaml", []byte(text), 0o600))
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}
