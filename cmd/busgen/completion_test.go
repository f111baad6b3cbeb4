package main

import (
	"os/exec"
	"strings"
	"testing"
)

// Shells that are not installed are left out; bash is needed by CI.
func TestTheCompletionsLoad(t *testing.T) {
	for shell, check := range map[string][]string{
		"bash": {"bash", "-n"}, "zsh": {"zsh", "-n"}, "fish": {"fish", "--no-execute"},
	} {
		t.Run(shell, func(t *testing.T) {
			script := typed(t, "busgen completion "+shell, "")
			if script.Status != 0 || !strings.Contains(script.Stdout, "busgen") {
				t.Fatalf("%+v", script)
			}
			if _, err := exec.LookPath(check[0]); err != nil {
				t.Skip(err)
			}
			cmd := exec.Command(check[0], check[1:]...)
			cmd.Stdin = strings.NewReader(script.Stdout)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
