package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/handbook"
	"github.com/busgen/busgen/internal/short"
)

// TestTheTutorial does what its reader does: it saves the files of docs/tutorial.md, runs its
// commands in their order, and compares what they print, but for times, ids and what … leaves out.
func TestTheTutorial(t *testing.T) {
	short.Skip(t, "the programs of the tutorial are compiled and run")
	root, err := filepath.Abs("../..")
	must(t, err)
	r := &tutorial{t: t, root: root, folder: filepath.Join(t.TempDir(), "shop"), ids: map[string]string{}, page: handbook.Runs(t, "docs/tutorial.md")}
	must(t, os.Mkdir(r.folder, 0o700))
	fence, block, subject := "", []string{}, ""
	for line := range strings.Lines(string(readIn(t, root, "docs/tutorial.md"))) {
		line = strings.TrimSuffix(line, "\n")
		switch opened := strings.HasPrefix(line, "```"); {
		case fence == "" && opened:
			fence, block = line, nil
		case opened:
			r.end(strings.TrimPrefix(fence, "```"), block, subject)
			fence = ""
		case fence != "":
			block = append(block, line)
		case strings.HasPrefix(line, "    "):
			r.run(strings.TrimSpace(line))
		case line != "":
			subject = line
		}
	}
	if r.compared < 8 {
		t.Errorf("the output of %d commands was compared, want 8 or more", r.compared)
	}
}

// tutorial is a reader of it.
type tutorial struct {
	t            *testing.T
	root, folder string
	ids          map[string]string // of this run, by those of the page
	compared     int
	page         *handbook.Runner
}

// savedAs finds the name of a file in the line before it.
var savedAs = regexp.MustCompile("`([a-z/]+\\.(?:go|yaml))`[^`]*:$")

// end does what a block of the page is for.
func (r *tutorial) end(language string, block []string, subject string) {
	r.t.Helper()
	if language != "console" {
		name := savedAs.FindStringSubmatch(subject)
		if name == nil {
			r.t.Fatalf("%q does not say which file the next block is", subject)
		}
		must(r.t, os.WriteFile(filepath.Join(r.folder, name[1]), []byte(strings.Join(block, "\n")+"\n"), 0o600))
		return
	}
	for len(block) > 0 {
		command, ok := strings.CutPrefix(block[0], "$ ")
		if !ok {
			r.t.Fatalf("%q is no command", block[0])
		}
		end := 1
		for end < len(block) && !strings.HasPrefix(block[end], "$ ") {
			end++
		}
		r.compare(command, block[1:end], r.run(command))
		block = block[end:]
	}
}

// run runs a command, and returns the lines that it prints. Those that need the published module
// use this one.
func (r *tutorial) run(command string) []string {
	r.t.Helper()
	r.page.Ran(command)
	for page, own := range r.ids {
		command = strings.ReplaceAll(command, page, own)
	}
	switch command {
	case "mkdir shop && cd shop": // it is done
		return nil
	case "go get -tool github.com/busgen/busgen/cmd/busgen":
		for _, name := range []string{"go.mod", "go.sum"} {
			must(r.t, os.WriteFile(filepath.Join(r.folder, name), readIn(r.t, r.root, name), 0o600))
		}
		command = "go mod edit -module=example.com/shop -require=github.com/busgen/busgen@v0.0.0 -replace=github.com/busgen/busgen=" + r.root
	}
	cmd := exec.CommandContext(r.t.Context(), "sh", "-c", command)
	cmd.Dir, cmd.Env = r.folder, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "USER=ops")
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "exit status 1") {
		r.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return strings.Split(strings.TrimRight(string(out), "\n"), "\n")
}

var (
	ids     = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}(-[0-9a-f]{4}-[0-9a-f]{12})?\b`)
	ages    = regexp.MustCompile(`\d+ (s|ms|min)( ago)?|\bnow\b`)
	numbers = regexp.MustCompile(`\d{4}[-/]\d\d[-/]\d\d \d\d:\d\d:\d\d|delay_ms=[1-9]\d+|was \d+|[\d.]+ KiB`)
	people  = regexp.MustCompile(`\S+@\S+ +edit`)
	blanks  = regexp.MustCompile(` +`)
)

// alike makes what differs between runs the same.
func alike(line string) string {
	for _, one := range []*regexp.Regexp{ids, ages, numbers, people, blanks} {
		line = one.ReplaceAllString(line, " ")
	}
	return blanks.ReplaceAllString(strings.TrimSpace(line), " ")
}

// compare compares what a command prints with the page.
func (r *tutorial) compare(command string, want, got []string) {
	r.t.Helper()
	if len(want) == 0 { // the page does not say
		return
	}
	r.compared++
	same := len(want) == len(got)
	for i := 0; same && i < len(want); i++ {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(alike(want[i])), "…", ".*")
		same = regexp.MustCompile("^" + pattern + "$").MatchString(alike(got[i]))
		if page, own := ids.FindAllString(want[i], -1), ids.FindAllString(got[i], -1); same && len(page) == len(own) {
			for j := range page {
				r.ids[page[j]] = own[j]
			}
		}
	}
	if !same {
		r.t.Errorf("%s prints\n%s\nand the page has\n%s", command, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
