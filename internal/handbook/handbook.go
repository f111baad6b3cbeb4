// Package handbook finds the command lines that the README and the other pages show, so that tests
// run them.
//
// A test that runs the commands of a page says so with [Runs], and fails if it leaves one out. The
// test of this package finds pages that no test runs. Parts that cannot be run in a test are in
// notrun.txt, with the reason.
package handbook

import (
	"cmp"
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Command is a command line that a page tells its reader to type.
type Command struct {
	Page string // from the root of the repository, with slashes
	Line int    // of the page
	Text string // without its prompt
}

func (c Command) String() string { return fmt.Sprintf("%s:%d: %s", c.Page, c.Line, c.Text) }

// programs are those that the lines of a block without a language begin with, if they are commands
// without a prompt. Other such lines are code, or what a command prints.
var programs = []string{"busgen", "cd", "curl", "docker", "git", "go", "kubectl", "mkdir", "npm", "sqlite3", "sudo", "systemctl", "tar"}

// Commands returns the commands of a page: the lines with a prompt, all lines of a script (sh,
// bash), and the lines of an indented block that begin with a program.
func Commands(page, text string) (commands []Command) {
	eachLine(text, func(number int, line, block string) {
		add := func(command string) {
			commands = append(commands, Command{Page: page, Line: number, Text: strings.TrimSpace(command)})
		}
		command, prompt := strings.CutPrefix(line, "$ ")
		word, _, _ := strings.Cut(line, " ")
		switch block {
		case prose:
		case "sh", "bash":
			if line != "" && !strings.HasPrefix(line, "#") {
				add(line)
			}
		case indented:
			if prompt || slices.Contains(programs, word) {
				add(command)
			}
		default:
			if prompt {
				add(command)
			}
		}
	})
	return commands
}

// Blocks of lines that have no language.
const (
	prose    = ""
	indented = "indented"
	fenced   = "fenced"
)

// eachLine hands over the lines of a page, without the fences, and what each is in: prose, an indented
// block, or one in fences, by its language.
func eachLine(text string, visit func(number int, line, block string)) {
	fence, inBlock, blank := "", false, true
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		info, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		code, isIndented := strings.CutPrefix(line, "    ")
		switch {
		case isFence && fence == "":
			fence = cmp.Or(strings.TrimSpace(info), fenced)
		case isFence:
			fence = ""
		case fence != "":
			visit(number, line, fence)
		case isIndented && (blank || inBlock):
			inBlock = true
			visit(number, code, indented)
		default:
			inBlock = inBlock && line == ""
			visit(number, line, prose)
		}
		blank = line == ""
	}
}

//go:embed notrun.txt
var notRun string

// listed are the commands that no test runs, as "page: command", with the reasons.
func listed() map[string]string {
	list := map[string]string{}
	command := ""
	for line := range strings.Lines(notRun) {
		switch {
		case strings.HasPrefix(line, "\t") && command != "":
			list[command] = strings.TrimSpace(list[command] + " " + strings.TrimSpace(line))
		case strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#"):
			command = strings.TrimSpace(line)
			list[command] = ""
		}
	}
	return list
}

func (c Command) key() string { return c.Page + ": " + c.Text }

// Runner runs the commands of a page in a test.
type Runner struct {
	commands []Command
	ran      map[string]bool
}

// Runs says that a test runs the commands of a page, named from the root of the repository. When
// the test has ended well, it is an error if a command was not run and is not in notrun.txt, and if
// one was run that is there. It is called with the name of the page itself, and in the folder of
// the test.
func Runs(t testing.TB, page string) *Runner {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{commands: Commands(page, string(text)), ran: map[string]bool{}}
	t.Cleanup(func() {
		for _, c := range r.commands {
			_, excused := listed()[c.key()]
			switch {
			case t.Failed() || t.Skipped() || r.ran[c.Text] != excused:
			case excused:
				t.Errorf("%s\nis run: remove it from internal/handbook/notrun.txt", c)
			default:
				t.Errorf("%s\nis not run, and internal/handbook/notrun.txt has no reason for that", c)
			}
		}
	})
	return r
}

// Commands are those of the page that are not in notrun.txt, in their order. They count as run.
func (r *Runner) Commands() (commands []string) {
	list := listed()
	for _, c := range r.commands {
		if _, excused := list[c.key()]; !excused {
			r.Ran(c.Text)
			commands = append(commands, c.Text)
		}
	}
	return commands
}

// Ran says that the test has run a command, as the page has it.
func (r *Runner) Ran(command string) { r.ran[command] = true }

// Root finds the root of the repository above the current folder.
func Root() (string, error) {
	folder, err := os.Getwd()
	for ; err == nil; folder = filepath.Dir(folder) {
		text, missing := os.ReadFile(filepath.Join(folder, "go.mod"))
		if missing == nil && strings.HasPrefix(string(text), "module github.com/busgen/busgen\n") {
			return folder, nil
		}
		if folder == filepath.Dir(folder) {
			return "", fmt.Errorf("%s is in no folder of busgen", folder)
		}
	}
	return "", err
}

// Pages returns the names of all pages, from the root of the repository.
func Pages(root string) (pages []string, err error) {
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch hidden := name != "." && strings.HasPrefix(entry.Name(), "."); {
		case err != nil:
			return err
		case entry.IsDir() && (hidden || entry.Name() == "testdata" || name == "dist" || name == "release/out"):
			return fs.SkipDir
		case strings.HasSuffix(name, ".md"):
			pages = append(pages, name)
		}
		return nil
	})
	return pages, err
}
