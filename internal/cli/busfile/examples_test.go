package busfile

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/runtime"
)

// What stands for a dead letter, or an event, and for a group in the manuals.
const (
	exampleID    = "018f4f2e-1c3a-7b21"
	exampleGroup = "5b9de41c02ff"
)

// TestTheExamplesOfTheManualsWork runs every example of every verb that works on
// the file of a bus, each beside a shop that has had a bad night and is repaired.
func TestTheExamplesOfTheManualsWork(t *testing.T) {
	ran := 0
	for _, cmd := range fileVerbs(root()) {
		for _, example := range examplesOf(cmd) {
			if ran++; testing.Short() && ran%5 != 0 { // each works on a file of its own
				continue
			}
			t.Run(example, func(t *testing.T) {
				inShop(t, func(t *testing.T, s *shop) {
					s.badNight()
					s.down.Store(false)
					prepare(t, s, example)
					perform(t, example)
				})
			})
		}
	}
	if ran < 30 {
		t.Errorf("found %d examples only", ran)
	}
}

// fileVerbs are the commands below a root that work on the file of a bus, and
// those of their families.
func fileVerbs(root *cobra.Command) (verbs []*cobra.Command) {
	for _, cmd := range root.Commands() {
		if cmd.GroupID == "The file of a bus:" || cmd.Name() == "completion" {
			verbs = append(append(verbs, cmd), cmd.Commands()...)
		}
	}
	return verbs
}

func examplesOf(cmd *cobra.Command) (examples []string) {
	for line := range strings.Lines(cmd.Example) {
		line, _, _ = strings.Cut(line, "  #")
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "busgen ") {
			examples = append(examples, line)
		}
	}
	return examples
}

// prepare makes what an example takes for granted.
func prepare(t *testing.T, s *shop, example string) {
	t.Helper()
	switch {
	case strings.Contains(example, "resume"):
		does(t, "busgen subscriptions pause shop.db charge-card")
		does(t, "busgen subscriptions pause shop.db --type payment.*")
	case strings.Contains(example, "breakers close"):
		s.breakDown()
	case strings.Contains(example, "remove"):
		_, err := runtime.Subscribe(s.Bus, clitest.OrderType, "old-name", func(context.Context, runtime.Event[clitest.OrderPlaced]) error { return nil })
		must(t, err)
		must(t, s.Shutdown(context.Background()))
	case strings.Contains(example, "old.db"):
		must(t, s.Shutdown(context.Background()))
		content, err := os.ReadFile("shop.db")
		must(t, err)
		must(t, os.WriteFile("old.db", content, 0o600))
	case strings.Contains(example, "erase"):
		does(t, "busgen dlq discard shop.db --all --because x --yes")
	case strings.Contains(example, "import"):
		typed(t, "busgen dlq export shop.db --out dead.jsonl", "")
	}
	switch {
	case strings.Contains(example, "--forget"):
		var steps stepper
		steps.stuck.Store(true)
		steps.subscribe(t, s.Bus)
		s.order(31, "customer31@example.org", 100)
		time.Sleep(time.Minute)
	case strings.Contains(example, "--undo"):
		does(t, "busgen dlq discard shop.db --all --because x --yes")
	case strings.Contains(example, "try-now"):
		s.down.Store(true)
		s.pay(30, 100)
		time.Sleep(100 * time.Millisecond)
	case strings.Contains(example, "events discard"), strings.Contains(example, "events cancel"):
		does(t, "busgen subscriptions pause shop.db send-receipt")
		time.Sleep(time.Second)
		s.order(21, "customer21@example.org", 2100)
	}
	const order = `{"number": 5, "email": "customer5@example.org"}`
	for name, content := range map[string]string{"fixed.json": order, "order.json": order, "events.jsonl": `{"type": "order.placed", "payload": ` + order + "}\n"} {
		must(t, os.WriteFile(name, []byte(content), 0o600))
	}
}

// perform runs an example the way a shell does: pipes, input from files, and
// output into files, all of them in the current folder.
func perform(t *testing.T, example string) {
	t.Helper()
	example, out, intoFile := strings.Cut(example, " > ")
	example, in, fromFile := strings.Cut(example, " < ")
	input := ""
	if fromFile {
		text, err := os.ReadFile(in)
		must(t, err)
		input = string(text)
	}
	for command := range strings.SplitSeq(example, " | ") {
		got := typed(t, substituted(t, command), input)
		if got.Status != 0 {
			t.Fatalf("status %d, %s", got.Status, got.Stderr)
		}
		input = got.Stdout
	}
	if intoFile {
		must(t, os.WriteFile(filepath.Base(strings.Trim(out, `"`)), []byte(input), 0o600))
		if input == "" {
			t.Errorf("there is nothing in %s", out)
		}
	}
	time.Sleep(time.Second)
}

// substituted names a letter and a group that are there. The only one with a
// payload that can be corrected is an order.
func substituted(t *testing.T, command string) string {
	t.Helper()
	id := ""
	if strings.Contains(command, exampleID) {
		switch {
		case strings.Contains(command, "events discard shop.db --undo"), strings.Contains(command, "audit"):
			id = shownID(t, "busgen events list shop.db --correlation checkout-5")
		case strings.Contains(command, "--forget"):
			id = shownID(t, "busgen dlq list shop.db --subscription fulfil")
		case strings.Contains(command, "try-now"):
			id = shownID(t, "busgen events list shop.db --subscription charge-card --state waiting")
		case strings.Contains(command, "events discard"), strings.Contains(command, "events cancel"):
			id = shownID(t, "busgen events list shop.db --type order.placed --status pending")
		case strings.Contains(command, "/charge-card"):
			id = shownID(t, "busgen dlq list shop.db --subscription charge-card")
		default:
			id = shownID(t, "busgen dlq list shop.db --reason permanent")
		}
	}
	group := ""
	if strings.Contains(command, exampleGroup) {
		group = shownID(t, "busgen dlq groups shop.db")
	}
	return strings.NewReplacer(exampleID, id, exampleGroup, group, "--action 17", "--action 1", "--addr 127.0.0.1:8080", "--addr 127.0.0.1:0").Replace(command)
}

func TestEveryVerbOnAFileHasExamplesAndExitStatusInLinesThatFit(t *testing.T) {
	for _, cmd := range fileVerbs(root()) {
		if cmd.Example == "" || !strings.Contains(cmd.Long, "Exit status: ") || cmd.Short == "" {
			t.Errorf("%s: the manual is incomplete", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Long) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
	}
}
