package terminal_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/cli/terminal"
)

func TestAFileIsNoTerminal(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var buffer bytes.Buffer
	for _, columns := range []string{"", "0", "-1", "wide"} {
		t.Setenv("COLUMNS", columns)
		if got := terminal.ScreenOf(file); got != (terminal.Screen{}) {
			t.Errorf("COLUMNS=%s: a file is %+v", columns, got)
		}
	}
	t.Setenv("COLUMNS", "100")
	if got := terminal.ScreenOf(&buffer); got != (terminal.Screen{Width: 100}) {
		t.Errorf("with COLUMNS=100 a pipe is %+v", got)
	}
	if terminal.IsTerminal(file) || terminal.IsTerminal(nil) || terminal.IsTerminal((*os.File)(nil)) {
		t.Error("something is taken for a terminal")
	}
}

func TestWithoutATerminalThereAreNoQuestionsAndNoProgress(t *testing.T) {
	var out bytes.Buffer
	if ok, err := terminal.Confirm(t.Context(), strings.NewReader("yes\n"), &out, "Delete?"); ok || !errors.Is(err, terminal.ErrNobody) {
		t.Errorf("Confirm = %v, %v", ok, err)
	}
	p := terminal.NewProgress(&out, false)
	p.Say("1 of 2")
	p.At("did", 1, 2, "things")
	p.Done()
	if out.Len() != 0 {
		t.Errorf("wrote %q", out.String())
	}
}

func TestProgramsAreToldTheProgressInLinesOfJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := terminal.NewProgress(&out, true)
		for n := range 30 {
			p.At("retried", 100*n, 3_000, "dead letters")
			p.Say("a text for people")
			time.Sleep(time.Second / 10)
		}
		p.Done()
		want := `{"done":1000,"of":3000,"per_second":1000,"seconds_left":2}
{"done":2000,"of":3000,"per_second":1000,"seconds_left":1}
`
		if out.String() != want {
			t.Errorf("got %s", out.String())
		}
	})
}

func TestAFoldedTextFitsAndIsWhole(t *testing.T) {
	painted := terminal.Screen{Width: 20, Colour: true}
	for _, test := range []struct {
		screen     terminal.Screen
		text, want string
	}{
		{terminal.Screen{}, strings.Repeat("word ", 40) + "end", strings.Repeat("word ", 40) + "end\n"},
		{terminal.Screen{Width: 20}, "", "\n"},
		{terminal.Screen{Width: 20}, "twelve words would be more than that", "twelve words would\n  be more than that\n"},
		{terminal.Screen{Width: 20}, "a averyveryverylongwordindeed b", "a\n  averyveryverylongwordindeed\n  b\n"},
		{painted, painted.Paint(terminal.Red, "twelve words") + " would be", "\x1b[31mtwelve words\x1b[0m would\n  be\n"},
	} {
		if got := test.screen.Fold(test.text); got != test.want {
			t.Errorf("%q at %d columns: %q, want %q", test.text, test.screen.Width, got, test.want)
		}
	}
}
