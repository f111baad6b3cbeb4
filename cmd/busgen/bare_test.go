//go:build unix

package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/busgen/busgen/internal/short"
)

// TestTheBinaryNeedsNothingBesideItself runs what an operator runs in a container that has the
// binary and the file of a bus and nothing else: no environment, no Go, no folder for temporary
// files. If the test runs as root, that folder is the root folder of the processes.
func TestTheBinaryNeedsNothingBesideItself(t *testing.T) {
	short.Skip(t, "the command is compiled without cgo")
	container := t.TempDir()
	must(t, os.Chmod(container, 0o755))
	build := exec.Command("go", "build", "-o", filepath.Join(container, "busgen"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	kept, err := filepath.Glob("../../runtime/internal/systest/testdata/format-*.sqlite")
	must(t, err)
	file, err := os.ReadFile(kept[len(kept)-1])
	must(t, err)
	must(t, os.WriteFile(filepath.Join(container, "shop.db"), file, 0o600))
	within := func(args ...string) *exec.Cmd {
		cmd := &exec.Cmd{Path: "/busgen", Dir: "/", Env: []string{}, SysProcAttr: &syscall.SysProcAttr{Chroot: container}}
		if os.Geteuid() != 0 {
			cmd.Path, cmd.Dir, cmd.SysProcAttr = filepath.Join(container, "busgen"), container, nil
		}
		cmd.Args = append([]string{"busgen"}, args...)
		return cmd
	}
	for _, c := range []struct{ command, want string }{
		{"status shop.db", "No process dispatches from it"},
		{"dlq groups shop.db", "no such street"},
		{"dlq list shop.db", "parcel.sent"},
		{"check-db shop.db", "All is well"},
		{"dlq retry shop.db --all", "matched 1, retried 1"},
		{"events list shop.db --json", `"parcel.sent"`},
		{"version", "file format"},
	} {
		out, err := within(strings.Fields(c.command)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("busgen %s: %v\n%s", c.command, err, out)
		}
	}

	inspect := within("inspect", "shop.db")
	stdout, err := inspect.StdoutPipe()
	must(t, err)
	inspect.Stderr = inspect.Stdout
	must(t, inspect.Start())
	defer func() {
		inspect.Process.Kill()
		inspect.Wait()
	}()
	address := ""
	for lines := bufio.NewScanner(stdout); address == "" && lines.Scan(); {
		address = regexp.MustCompile(`http://\S+`).FindString(lines.Text())
	}
	jar, err := cookiejar.New(nil)
	must(t, err)
	page := ""
	for _, address := range []string{address, strings.Split(address, "?")[0]} { // the first answer sets a cookie
		answer, err := (&http.Client{Jar: jar}).Get(address)
		must(t, err)
		text, err := io.ReadAll(answer.Body)
		must(t, err)
		must(t, answer.Body.Close())
		page = answer.Status + "\n" + string(text)
	}
	if !strings.HasPrefix(page, "200 OK") || !strings.Contains(page, "parcel.sent") {
		t.Errorf("the page of inspect: %s", page)
	}
}
