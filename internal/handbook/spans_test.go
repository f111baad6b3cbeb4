package handbook

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli/command"
)

// A reader types what stands in a sentence, too.
func TestTheVerbsAndFlagsThatSentencesNameExist(t *testing.T) {
	if n := checkSpans(t, "busgen", func(root string, c Command) error { return namesExist(root, c.Text) }); n < 100 {
		t.Errorf("%d commands were found in the sentences of the pages", n)
	}
}

// checkSpans returns how many commands of a program the pages have in their sentences.
func checkSpans(t *testing.T, program string, check func(root string, c Command) error) (found int) {
	t.Helper()
	root, err := Root()
	must(t, err)
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	must(t, err)
	for _, page := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")) {
		text, err := os.ReadFile(page)
		must(t, err)
		name, err := filepath.Rel(root, page)
		must(t, err)
		for _, c := range Spans(filepath.ToSlash(name), string(text), program) {
			found++
			if err := check(root, c); err != nil {
				t.Errorf("%s\n%v", c, err)
			}
		}
	}
	return found
}

func TestAVerbOrFlagThatDoesNotExistIsFound(t *testing.T) {
	root, err := Root()
	must(t, err)
	for line, want := range map[string]string{
		"busgen status shop.db --watch":                     "",
		"busgen status shop.db --fail-if 'dispatchers<1'":   "",
		"busgen dlq retry FILE --group=… --canary 5":        "",
		"busgen rename field Audit.by …":                    "",
		"busgen events/events.yaml --out events":            "",
		"busgen help VERB":                                  "",
		"busgen --version":                                  "",
		"busgen move --take-back shop.db":                   "",
		"busgen statsu shop.db":                             "busgen has no verb statsu",
		"busgen dlq replay shop.db":                         "busgen dlq has no verb replay",
		"busgen status shop.db --follow":                    "busgen status has no flag --follow",
		"busgen dlq retry FILE --grou=1":                    "busgen dlq retry has no flag --grou",
		"busgen move --back shop.db":                        "busgen move has no flag --back",
		"busgen dlq groups FILE | busgen nothing --as-such": "",
	} {
		got := ""
		if err := namesExist(root, line); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestSpansAreTheCodeOfSentences(t *testing.T) {
	page := "Text with `busgen status`, `busgen`, `go test`, and `busgen dlq\nretry --all`.\n\n    busgen check # `busgen no`\n\n" +
		"```console\n`busgen no`\n```\n| `busgen lint` | a table |\n\nOne ` alone\n\nand `busgen docs`.\n"
	var got []string
	for _, c := range Spans("p", page, "busgen") {
		got = append(got, fmt.Sprintf("%d %s", c.Line, c.Text))
	}
	want := []string{"1 busgen status", "1 busgen dlq retry --all", "9 busgen lint", "13 busgen docs"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// verb is a word that is a verb and no file, name of an event, or placeholder.
var verb = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)

// namesExist returns an error if a command line of busgen has a verb or a long flag that busgen
// has not. What follows a pipe or goes to a file is not looked at.
func namesExist(root, line string) error {
	words := strings.Fields(line)[1:]
	if end := slices.IndexFunc(words, func(w string) bool { return w == "|" || w == ">" }); end >= 0 {
		words = words[:end]
	}
	cmd := command.New()
	flagExists := func(name string) bool { return cmd.Flag(name) != nil }
	if len(words) > 0 && words[0] == "move" { // of the command that is in the module of JetStream
		text, err := os.ReadFile(filepath.Join(root, "runtime/jetstream/internal/movecmd/move.go"))
		if err != nil {
			return err
		}
		parent := cmd
		cmd, words = &cobra.Command{Use: "move"}, words[1:]
		parent.AddCommand(cmd)
		flagExists = func(name string) bool { return strings.Contains(string(text), `"`+name+`"`) }
	}
	if len(words) > 0 && words[0] == "pg" { // of the command that is in a module beside that of Postgres
		text, err := os.ReadFile(filepath.Join(root, "runtime/postgres/cmd/busgen/pg.go"))
		if err != nil {
			return err
		}
		parent := cmd
		cmd = &cobra.Command{Use: "pg"}
		parent.AddCommand(cmd)
		if len(words) > 1 && !strings.Contains(string(text), `verb("`+words[1]+" ") {
			return fmt.Errorf("busgen pg has no verb %s", words[1])
		}
		words = words[min(len(words), 2):]
		flagExists = func(name string) bool { return strings.Contains(string(text), `"`+name+`"`) }
	}
	for _, word := range words {
		name, isFlag := strings.CutPrefix(word, "--")
		switch {
		case isFlag:
			cmd.InitDefaultHelpFlag()
			cmd.InitDefaultVersionFlag()
			if name, _, _ = strings.Cut(name, "="); !flagExists(name) {
				return fmt.Errorf("%s has no flag --%s", cmd.CommandPath(), name)
			}
		case cmd.HasSubCommands() && verb.MatchString(word):
			below := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) })
			if below < 0 {
				return fmt.Errorf("%s has no verb %s", cmd.CommandPath(), word)
			}
			cmd = cmd.Commands()[below]
		}
	}
	return nil
}
