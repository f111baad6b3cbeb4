package console_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/console"
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
		if got := console.ScreenOf(file); got != (console.Screen{}) {
			t.Errorf("COLUMNS=%s: a file is %+v", columns, got)
		}
	}
	t.Setenv("COLUMNS", "100")
	if got := console.ScreenOf(&buffer); got != (console.Screen{Width: 100}) {
		t.Errorf("with COLUMNS=100 a pipe is %+v", got)
	}
	if console.IsTerminal(file) || console.IsTerminal(nil) || console.IsTerminal((*os.File)(nil)) {
		t.Error("something is taken for a terminal")
	}
}

func TestWithoutATerminalNobodyIsAskedOrTold(t *testing.T) {
	var out bytes.Buffer
	ok, err := console.Confirm(strings.NewReader("yes\n"), &out, "Really?")
	if ok || !errors.Is(err, console.ErrNobody) {
		t.Errorf("Confirm = %v, %v", ok, err)
	}
	p := console.NewProgress(&out)
	p.Say("1 of 2")
	p.Done()
	if out.Len() != 0 {
		t.Errorf("wrote %q", out.String())
	}
}
