package page

import (
	"os/exec"
	"strings"
	"testing"
)

func TestACommandLineHasTheArgumentsInAShell(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	for _, arg := range []string{"shop.db", "", "a b", "it's", `a\b"c`, "$(id)", "`id`", "*", "-n", "\x1b[2J", "\u202egnp.exe", "it's\n\x00"[:5], "ä", "\xff", "a!b"} {
		line := commandLine("x", []string{arg, "y"}, "z")
		if bad := strings.IndexFunc(line, func(c rune) bool { return c < ' ' || c == '\u202e' }); bad >= 0 {
			t.Errorf("%q: the line is %q", arg, line)
		}
		out, err := exec.Command(shell, "-c", "busgen() { printf '%s|' \"$@\"; }; "+line).Output()
		if want := "x|" + arg + "|y|z|"; err != nil || string(out) != want {
			t.Errorf("%s: the arguments are %q, want %q; %v", line, out, want, err)
		}
	}
}

func TestAnOperandThatBeginsWithAHyphenIsNoFlag(t *testing.T) {
	if got, want := commandLine("subscriptions pause", []string{"--actor", "ada"}, "shop.db", "-n"), "busgen subscriptions pause --actor ada -- shop.db -n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
