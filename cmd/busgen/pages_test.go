//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/handbook"
	"github.com/busgen/busgen/internal/short"
)

// TestTheCommandsOfTheGuideToDeployingWork runs them as a script: beside an archive that has what
// those of a release have, and with folders of its own for those of the system.
func TestTheCommandsOfTheGuideToDeployingWork(t *testing.T) {
	short.Visit(t, "it runs programs")
	commands := handbook.Runs(t, "docs/deploying.md").Commands()
	root, err := handbook.Root()
	must(t, err)
	program, err := filepath.Abs(os.Args[0])
	must(t, err)
	kept, err := filepath.Glob(filepath.Join(root, "runtime/internal/systest/testdata/format-*.sqlite"))
	must(t, err)
	file, err := os.ReadFile(kept[len(kept)-1])
	must(t, err)
	inFolder(t, map[string]string{"var/lib/shop/shop.db": string(file), "backup/shop-2026-01-01.db": "", "bin/made.txt": ""})
	here, err := os.Getwd()
	must(t, err)
	must(t, os.Symlink(program, "bin/busgen"))
	old := "2026-01-01"
	must(t, exec.Command("touch", "-d", old, "backup/shop-"+old+".db").Run())
	script := []string{"set -eu", "mkdir archive && cd archive && cp -L ../bin/busgen busgen && ./busgen man man1 && mkdir completions",
		"./busgen completion bash > completions/busgen.bash", "tar czf ../busgen_0.1.0_linux_amd64.tar.gz * && cd ..", "sha256sum *.tar.gz > checksums.txt"}
	for _, command := range commands {
		if strings.HasPrefix(command, "busgen man") {
			script = append(script, "mkdir built && cd built")
		}
		script = append(script, strings.NewReplacer("/usr/", here+"/usr/", "/var/lib/", here+"/var/lib/", "/backup", here+"/backup").Replace(command))
	}
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Log("SKIPPED: there is no sqlite3 in the path (apt-get install sqlite3); a copy of the file stands for what it makes")
		must(t, os.WriteFile("bin/sqlite3", []byte("#!/bin/sh\nto=${2#*\\'}\ncp \"$1\" \"${to%\\'*}\"\n"), 0o700))
	}
	cmd := exec.Command("sh", "-xc", strings.Join(script, "\n"))
	cmd.Env = append(os.Environ(), actAsBusgen, "PATH="+here+"/bin:"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"usr/local/bin/busgen", "usr/local/share/man/man1/busgen-dlq-retry.1", "usr/local/share/bash-completion/completions/busgen",
		"built/man1/busgen.1", "built/busgen.bash"} {
		if info, err := os.Stat(name); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if backups, err := filepath.Glob("backup/*"); err != nil || len(backups) != 1 || strings.Contains(backups[0], old) {
		t.Errorf("the backups are %v, %v", backups, err)
	}
}

// What the page shows is one of a released busgen, so the lines are those of this one, but not
// their values.
func TestTheVersionThatThePageShowsHasTheLinesOfThisOne(t *testing.T) {
	for _, command := range handbook.Runs(t, "docs/stability.md").Commands() {
		shown := string(readIn(t, "../..", "docs/stability.md"))
		_, shown, _ = strings.Cut(shown, "$ "+command+"\n")
		shown, _, _ = strings.Cut(shown, "```")
		got := typed(t, command, "")
		for line := range strings.Lines(got.Stdout) {
			begin, _, _ := strings.Cut(line, " ")
			if !strings.Contains("\n"+shown, "\n"+strings.TrimSuffix(begin, "\n")) && !strings.HasPrefix(line, "go1.") {
				t.Errorf("%s prints %q, and the page has\n%s", command, line, shown)
			}
		}
		for _, last := range []string{"generation contract 1, and code from contract 1 on\n", "file format 1\n"} {
			if got.Status != 0 || !strings.Contains(got.Stdout, last) || !strings.Contains(shown, last) {
				t.Errorf("%+v, and the page has\n%s", got, shown)
			}
		}
	}
}

func TestTheCommandsAboutACatalogueWork(t *testing.T) {
	policy := handbook.Runs(t, "docs/catalogue.md").Commands()
	export := handbook.Runs(t, "docs/cloudevents.md").Commands()
	catalogue := string(readIn(t, "../..", "examples/events.yaml"))
	kept, err := filepath.Glob("../../runtime/internal/systest/testdata/format-*.sqlite")
	must(t, err)
	file, err := os.ReadFile(kept[len(kept)-1])
	must(t, err)
	inFolder(t, map[string]string{"examples/events.yaml": catalogue, "events/events.yaml": catalogue, "shop.db": string(file)})
	for i, command := range append(policy, export...) {
		if i >= len(policy) { // the file has events of another type, and the line is for orders
			command = strings.NewReplacer("'order.*'", "parcel.sent", "--catalogue events/events.yaml", "--source https://shop.example").Replace(command)
		}
		if got := typed(t, command, ""); got.Status != 0 {
			t.Errorf("%s: %+v", command, got)
		}
	}
}
