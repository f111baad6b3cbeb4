package commandline

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestACommandLineHasTheArgumentsInAShell(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	for _, arg := range []string{"shop.db", "", "a b", "it's", `a\b"c`, "$(id)", "`id`", "*", "-n", "\x1b[2J", "\u202egnp.exe", "it's\n\x00"[:5], "ä", "\xff", "a!b"} {
		line := Of("x", []string{arg, "y"}, "/z")
		if bad := strings.IndexFunc(line, func(c rune) bool { return c < ' ' || c == '\u202e' }); bad >= 0 {
			t.Errorf("%q: the line is %q", arg, line)
		}
		out, err := exec.Command(shell, "-c", "busgen() { printf '%s|' \"$@\"; }; "+line).Output()
		if want := "x|" + arg + "|y|/z|"; err != nil || string(out) != want {
			t.Errorf("%s: the arguments are %q, want %q; %v", line, out, want, err)
		}
	}
}

func TestAnOperandThatBeginsWithAHyphenIsNoFlag(t *testing.T) {
	if got, want := Of("subscriptions pause", []string{"--actor", "ada"}, "/srv/shop.db", "-n"), "busgen subscriptions pause --actor ada -- /srv/shop.db -n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestACommandLineWorksInAnotherFolder(t *testing.T) {
	folder := t.TempDir() + "/a b"
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	for target, want := range map[string]string{
		"shop.db":                  "'" + folder + "/shop.db'",
		"../shop.db":               filepath.Dir(folder) + "/shop.db",
		"-n.db":                    "'" + folder + "/-n.db'",
		"nats://localhost:1/a/b/c": "nats://localhost:1/a/b/c",
	} {
		if got := Of("status", nil, target); got != "busgen status "+want {
			t.Errorf("%s: %s, want the file as %s", target, got, want)
		}
	}
}
