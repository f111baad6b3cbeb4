package terminal_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/cli/terminal"
)

func letters() *terminal.Table {
	t := &terminal.Table{Columns: []terminal.Column{
		{Title: "ID"}, {Title: "DUE", Least: 4}, {Title: "TYPE", Least: 6}, {Title: "N", Right: true}, {Title: "ERROR", Least: 8},
	}}
	t.Row("018f4f2e-1c3a-7b21", "", "order.placed", "9", "connection refused by 10.0.0.7")
	t.Row("018f4f2e-1c3a-7b22", "", "user.created", "1234", "Zeile 1\nZeile 2\x1b[31m")
	return t
}

func TestATableFitsItsScreen(t *testing.T) {
	for name, test := range map[string]struct {
		width int
		want  string
	}{
		"a file, where nothing is cut and an empty column is left out": {0, `
ID                  TYPE             N  ERROR
018f4f2e-1c3a-7b21  order.placed     9  connection refused by 10.0.0.7
018f4f2e-1c3a-7b22  user.created  1234  Zeile 1 Zeile 2\x1b[31m
`},
		"a screen where the widest column is cut": {60, `
ID                  TYPE             N  ERROR
018f4f2e-1c3a-7b21  order.placed     9  connection refused …
018f4f2e-1c3a-7b22  user.created  1234  Zeile 1 Zeile 2\x1b…
`},
		"a screen where all that can be cut is": {45, `
ID                  TYPE         N  ERROR
018f4f2e-1c3a-7b21  order.p…     9  connecti…
018f4f2e-1c3a-7b22  user.cr…  1234  Zeile 1 …
`},
		"a screen that is too narrow for what cannot be cut": {10, `
ID
    TYPE
       N
    ERROR
018f4f2e-1c3a-7b21
    order…
       9
    conne…
018f4f2e-1c3a-7b22
    user.…
    1234
    Zeile…
`},
	} {
		got := letters().Render(terminal.Screen{Width: test.width})
		if diff := cmp.Diff(test.want[1:], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestANoteHasTheWholeWidth(t *testing.T) {
	table := &terminal.Table{Columns: []terminal.Column{{Title: "GROUP"}, {Title: "N", Right: true}}}
	table.Row("7e0b", "10")
	table.Note("connection\nrefused")
	table.Row("c377", "1")
	if got, want := table.Render(terminal.Screen{Width: 12}), "GROUP   N\n7e0b   10\n  connectio…\nc377    1\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestATableWithoutTitlesHasNoHeader(t *testing.T) {
	table := &terminal.Table{Columns: []terminal.Column{{Right: true}, {}}}
	table.Row("1", "one")
	table.Row("22", "")
	if got := table.Render(terminal.Screen{}); got != " 1  one\n22\n" {
		t.Errorf("got %q", got)
	}
}

func TestColoursAreForScreensThatHaveThem(t *testing.T) {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "STATE", Style: func(text string) terminal.Style {
			if text == "dead" {
				return terminal.Red
			}
			return terminal.Plain
		}},
		{Title: "N", Right: true},
	}}
	table.Row("dead", "1")
	table.Row("done", "2")
	want := "\x1b[2mSTATE\x1b[0m  \x1b[2mN\x1b[0m\n\x1b[31mdead\x1b[0m   1\ndone   2\n"
	if got := table.Render(terminal.Screen{Colour: true}); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := table.Render(terminal.Screen{}); strings.Contains(got, "\x1b") {
		t.Errorf("without colours: %q", got)
	}
}

func TestWideCharactersAreCountedAsWide(t *testing.T) {
	table := &terminal.Table{Columns: []terminal.Column{{Title: "NAME", Least: 4}, {Title: "N"}}}
	table.Row("東京都", "1")
	table.Row("e\u0301tude", "2") // an e and an accent
	table.Row("🎉", "3")
	want := "NAME    N\n東京都  1\ne\u0301tude   2\n🎉      3\n"
	if diff := cmp.Diff(want, table.Render(terminal.Screen{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := terminal.Cut("東京都", 4); got != "東…" || terminal.Width(got) > 4 {
		t.Errorf("cut to 4 columns: %q", got)
	}
}

func TestNoTextBreaksATable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.String(), 2, 2).Draw(t, "texts")
		width := rapid.IntRange(0, 40).Draw(t, "width")
		table := &terminal.Table{Columns: []terminal.Column{{Title: "A", Least: 5}, {Title: "B", Least: 5}}}
		table.Row(texts...)
		lines := strings.Split(table.Render(terminal.Screen{Width: width}), "\n")
		if len(lines) > 5 || len(lines) != 3 && (width == 0 || width >= 12) { // what is narrower is folded
			t.Fatalf("%q", lines)
		}
		for _, line := range lines {
			if width >= 12 && terminal.Width(line) > width {
				t.Fatalf("%q takes %d columns of %d", line, terminal.Width(line), width)
			}
			if strings.ContainsAny(line, "\x1b\r\t\x00") {
				t.Fatalf("%q", line)
			}
		}
	})
}

func TestANarrowTableKeepsWhatIdentifies(t *testing.T) {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "NAME"}, {Title: "PATTERN", Drop: 1}, {Title: "RUNNING", Right: true, Drop: 2}, {Title: "DEAD", Right: true}, {Title: "ERROR", Least: 10}, {},
	}}
	table.Row("send-receipt", "order.placed order.paid", "3", "12", "the mail server refuses it", "paused")
	table.Row("ledger", "*", "", "", "", "")
	for _, test := range []struct {
		width int
		want  string
	}{
		{83, `
NAME          PATTERN                  RUNNING  DEAD  ERROR
send-receipt  order.placed order.paid        3    12  the mail server refu…  paused
ledger        *
`},
		{60, `
NAME          RUNNING  DEAD  ERROR
send-receipt        3    12  the mail server refuse…  paused
ledger
`},
		{40, `
NAME          DEAD  ERROR
send-receipt    12  the mail se…  paused
ledger
`},
		{26, `
NAME          DEAD
    ERROR
send-receipt    12
    the mail server refus…
    paused
ledger
`},
		{10, `
NAME
    DEAD
    ERROR
send-receipt
      12
    the m…
    paused
ledger
`},
	} {
		if diff := cmp.Diff(test.want[1:], table.Render(terminal.Screen{Width: test.width})); diff != "" {
			t.Errorf("%d columns (-want +got):\n%s", test.width, diff)
		}
	}
}

func TestALongNameIsWholeAndTheRestOfItsRowIsBelow(t *testing.T) {
	table := &terminal.Table{Columns: []terminal.Column{{Title: "NAME"}, {Title: "DEAD", Right: true}, {}}}
	table.Row("write-the-order-into-the-warehouse", "1", "paused")
	table.Row("ledger", "12", "")
	table.Row("another-one-with-a-long-name-1", "", "")
	table.Row("mail", "", "paused")
	const want = `
NAME         DEAD
write-the-order-into-the-warehouse
                1  paused
ledger         12
another-one-with-a-long-name-1
mail               paused
`
	if diff := cmp.Diff(want[1:], table.Render(terminal.Screen{Width: 25})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	facts := &terminal.Table{Columns: []terminal.Column{{}, {}}}
	facts.Row("Type", "order.placed")
	facts.Row("Metadata", `{"correlation_id":"checkout-5"}`)
	if got, want := facts.Render(terminal.Screen{Width: 25}), "Type      order.placed\nMetadata  {\"correlation_id\":\"checkout-5\"}\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
