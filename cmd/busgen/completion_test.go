//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// completing are what a shell runs that has loaded the script, to see what it offers after
// "busgen dlq re" and Tab.
var completing = map[string]struct{ args, script string }{
	"bash": {"--noprofile --norc -c", `_get_comp_words_by_ref() { cur=re prev=dlq words=(busgen dlq re) cword=2; } # of bash-completion
source ./script
complete -p busgen >&2
COMP_TYPE=9
__start_busgen
printf '%s\n' "${COMPREPLY[@]}"`},
	"zsh": {"-f -c", `compdef() { [[ "$*" == "_busgen busgen" ]] || exit 4 } # compinit takes seconds
source ./script
_describe() { print -l -- "${completions[@]}" }
words=(busgen dlq re) CURRENT=3
_busgen`},
	"fish": {"--no-config -c", `source ./script
complete -C "busgen dlq re"`},
}

// TestTheCompletionsLoad has each shell load its script, and complete a verb with it.
func TestTheCompletionsLoad(t *testing.T) {
	program, err := filepath.Abs(os.Args[0])
	must(t, err)
	for shell, run := range completing {
		t.Run(shell, func(t *testing.T) {
			script := typed(t, "busgen completion "+shell, "")
			if script.Status != 0 || !strings.Contains(script.Stdout, "busgen") {
				t.Fatalf("%+v", script)
			}
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("SKIPPED: there is no %s in the path (apt-get install %s), so its completions are not loaded", shell, shell)
			}
			folder := t.TempDir()
			must(t, os.Symlink(program, filepath.Join(folder, "busgen")))
			must(t, os.WriteFile(filepath.Join(folder, "script"), []byte(script.Stdout), 0o600))
			cmd := exec.Command(shell, append(strings.Fields(run.args), run.script)...)
			cmd.Dir = folder
			cmd.Env = append(os.Environ(), actAsBusgen, "PATH="+folder+":"+os.Getenv("PATH"), "HOME="+folder, "XDG_CONFIG_HOME="+folder)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "retry") || strings.Contains(string(out), "discard") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// powershell is not run.
func TestThereIsACompletionForPowershell(t *testing.T) {
	if got := typed(t, "busgen completion powershell", ""); got.Status != 0 || !strings.Contains(got.Stdout, "Register-ArgumentCompleter -CommandName 'busgen'") {
		t.Errorf("%+v", got)
	}
}
