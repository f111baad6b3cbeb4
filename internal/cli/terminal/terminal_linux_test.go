package terminal_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/busgen/busgen/internal/cli/terminal"
)

// openTerminal makes a terminal 40 columns wide, and the other end of it, where a
// person would be.
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	t.Cleanup(func() { person.Close() })
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	must(t, err)
	must(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { program.Close() })
	must(t, unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 20, Col: 40}))
	return person, program
}

// seen is what the program has written so far, up to the given text.
func seen(t *testing.T, person io.Reader, last string) string {
	t.Helper()
	var all strings.Builder
	buffer := make([]byte, 256)
	for !strings.Contains(all.String(), last) {
		n, err := person.Read(buffer)
		must(t, err)
		all.Write(buffer[:n])
	}
	return all.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestATerminalHasAWidthAndColours(t *testing.T) {
	_, program := openTerminal(t)
	for name, test := range map[string]struct {
		environment map[string]string
		want        terminal.Screen
	}{
		"as it is":      {nil, terminal.Screen{Width: 40, Colour: true}},
		"COLUMNS=100":   {map[string]string{"COLUMNS": "100"}, terminal.Screen{Width: 100, Colour: true}},
		"NO_COLOR=1":    {map[string]string{"NO_COLOR": "1"}, terminal.Screen{Width: 40}},
		"TERM=dumb":     {map[string]string{"TERM": "dumb"}, terminal.Screen{Width: 40}},
		"NO_COLOR=''":   {map[string]string{"NO_COLOR": ""}, terminal.Screen{Width: 40, Colour: true}},
		"COLUMNS=wrong": {map[string]string{"COLUMNS": "wrong"}, terminal.Screen{Width: 40, Colour: true}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, key := range []string{"COLUMNS", "NO_COLOR", "TERM"} {
				t.Setenv(key, test.environment[key])
			}
			if got := terminal.ScreenOf(program); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestAPersonIsAsked(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "Yes\n": true, "n\n": false, "\n": false, "sure\n": false, "\x04": false} {
		person, program := openTerminal(t)
		_, err := person.WriteString(answer)
		must(t, err)
		ok, err := terminal.Confirm(t.Context(), program, program, "Delete 2 letters?")
		if ok != want || err != nil {
			t.Errorf("after %q: %v, %v", answer, ok, err)
		}
		seen(t, person, "Delete 2 letters? [y/N] ")
	}
}

func TestProgressIsALineThatGoesAway(t *testing.T) {
	person, program := openTerminal(t)
	synctest.Test(t, func(t *testing.T) {
		p := terminal.NewProgress(program, false)
		p.Say("retried 1 of 3")
		p.Say("retried 2 of 3") // too soon
		time.Sleep(time.Second)
		p.Say("retried 3 of 3" + strings.Repeat(" and more", 10))
		p.Done()
		p.Done()
		program.WriteString("end")
	})
	want := "\r\x1b[Kretried 1 of 3\r\x1b[Kretried 3 of 3 and more and more and m…\r\x1b[Kend"
	if got := seen(t, person, "end"); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestProgressHasARateAndTheTimeThatIsLeft(t *testing.T) {
	person, program := openTerminal(t)
	synctest.Test(t, func(t *testing.T) {
		p := terminal.NewProgress(program, false)
		p.At("did", 10, 3_000, "x")
		time.Sleep(4 * time.Second)
		p.At("did", 2_000, 3_000, "x")
		time.Sleep(4 * time.Second)
		p.At("read", 4_000, 0, "lines")
		p.Done()
		program.WriteString("end")
	})
	want := "\r\x1b[Kdid 10 of 3,000 x\r\x1b[Kdid 2,000 of 3,000 x, 500/s, 2 s left\r\x1b[Kread 4,000 lines, 500/s\r\x1b[Kend"
	if got := seen(t, person, "end"); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestATextIsDrawnOverTheOneBefore(t *testing.T) {
	t.Setenv("TERM", "xterm")
	person, program := openTerminal(t)
	r := terminal.NewRedraw(program)
	must(t, r.Show("one\ntwo\nthree\n"))
	if got, want := seen(t, person, "\x1b[J"), "\x1b[2J\x1b[Hone\x1b[K\r\ntwo\x1b[K\r\nthree\x1b[K\r\n\x1b[J"; got != want {
		t.Errorf("first %q, want %q", got, want)
	}
	must(t, r.Show("1\n"))
	if got, want := seen(t, person, "\x1b[J"), "\x1b[H1\x1b[K\r\n\x1b[J"; got != want {
		t.Errorf("then %q, want %q", got, want)
	}
	// The terminal has 20 lines, and the cursor needs the last one.
	must(t, r.Show(strings.Repeat("x\n", 19)))
	if got := seen(t, person, "\x1b[J"); strings.Count(got, "x") != 19 {
		t.Errorf("what fits is cut: %q", got)
	}
	must(t, r.Show(strings.Repeat("x\n", 20)))
	if got := seen(t, person, "\x1b[J"); strings.Count(got, "x") != 18 || !strings.Contains(got, "… and 2 more lines") {
		t.Errorf("what does not fit is shown as %q", got)
	} // It has 40 columns, too: such a line takes two of them.
	must(t, r.Show(strings.Repeat("\x1b[31mx\x1b[0m"+strings.Repeat("-", 40)+"\n", 12)+"y\n"))
	if got := seen(t, person, "\x1b[J"); strings.Count(got, "x") != 9 || !strings.Contains(got, "… and 4 more lines") {
		t.Errorf("lines that are wider than the terminal are shown as %q", got)
	}
}
