package jetstream_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli/busfile"
	"github.com/busgen/busgen/internal/cli/clitest"
)

// TestEveryVerbTakesAnAddress runs all verbs about a bus on a server. Each step is a command,
// its exit status, if it is not 0, and what it prints, among other things; DEAD and OPEN stand for events. A
// verb without a step fails the test.
func TestEveryVerbTakesAnAddress(t *testing.T) {
	var missing []string
	var leaves func(cmds []*cobra.Command, path string)
	leaves = func(cmds []*cobra.Command, path string) {
		for _, cmd := range cmds {
			if line := path + " " + cmd.Name(); cmd.HasSubCommands() {
				leaves(cmd.Commands(), line)
			} else if !strings.Contains(everyVerb, "\n"+line+" ") {
				missing = append(missing, line)
			}
		}
	}
	leaves(busfile.Verbs(), "busgen")
	if len(missing) > 0 {
		t.Errorf("these verbs are not tried: %q", missing)
	}
	inShop(t, func(s *shop) {
		must(t, os.WriteFile("events.yaml", []byte(clitest.ShopCatalogue), 0o600))
		must(t, os.WriteFile("next.yaml", []byte(strings.Replace(clitest.ShopCatalogue, "email: string", "email: bool", 1)), 0o600))
		s.down.Store(true)
		for n := range 4 {
			s.pay(n, 100)
		}
		time.Sleep(time.Minute)
		s.does("busgen subscriptions pause " + shopTarget + " ledger")
		time.Sleep(time.Second)
		s.place(7, "ada@example.org")
		time.Sleep(time.Second)
		id := func(line string) string {
			return regexp.MustCompile(`"(event_)?id":"([0-9a-f-]{36})"`).FindStringSubmatch(s.does(line))[2]
		}
		ids := strings.NewReplacer(
			"DEAD", id("busgen dlq list "+shopTarget+" --json"), "OPEN", id("busgen events list "+shopTarget+" --status pending --json"), "TO", shopTarget)
		if out := s.does("busgen status " + shopTarget); strings.Contains(out, "write-ahead log") {
			t.Errorf("there is no write-ahead log:\n%s", out)
		}
		s.does("busgen audit list " + shopTarget + " --action move") // is one that an audit can have
		for step := range strings.Lines(strings.TrimSpace(everyVerb)) {
			line, want, _ := strings.Cut(strings.TrimSpace(step), " → ")
			status := 0
			if len(want) > 3 && want[1:3] == ": " {
				status, want = int(want[0]-'0'), want[3:]
			}
			switch line {
			case "down":
				s.down.Store(true)
				continue
			case "up":
				s.down.Store(false)
				continue
			case "stop":
				must(t, s.Shutdown(s.t.Context()))
				continue
			}
			want = ids.Replace(want)
			line, input, _ := strings.Cut(ids.Replace(line), " < ")
			if name, isFile := strings.CutPrefix(input, "file:"); isFile {
				text, err := os.ReadFile(name)
				must(t, err)
				input = string(text)
			}
			line, out, saved := strings.Cut(line, " > ")
			got := s.busgen(line, input)
			if got.Status != status || !strings.Contains(got.Stdout+got.Stderr, want) {
				t.Errorf("%s: status %d, want %d with %q\n%s%s", line, got.Status, status, want, got.Stdout, got.Stderr)
			}
			if saved {
				must(t, os.WriteFile(out, []byte(got.Stdout), 0o600))
			}
			time.Sleep(time.Second)
		}
	})
}

const everyVerb = `
busgen status TO → 4 dead letters
busgen erase TO ada@example.org --yes → 2: the engine on JetStream cannot erase a person
busgen inspect TO → Open http://127.0.0.1:
busgen events list TO → order.placed
busgen events show TO OPEN → ledger
busgen events tree TO OPEN → order.placed
busgen events tail TO → {"number":7
busgen events export TO --source urn:shop → "source":"urn:shop"
busgen events try-now TO --all → 3: no delivery matches that waits for a retry
busgen events cancel TO OPEN/ledger --yes → cancelled
busgen events discard TO --undo OPEN/ledger → undone
busgen events discard TO OPEN/ledger --because test --yes → discarded
busgen events discard TO --undo OPEN/ledger → undone
busgen breaking next.yaml --db TO → 1: 1 row of order.placed, version 1, in TO (1 open delivery, 0 dead letters;
busgen check-db TO --catalogue next.yaml → 1: 1 open delivery and 0 dead letters cannot be decoded
busgen subscriptions resume TO ledger → resumed
busgen subscriptions pause TO --type order.* → paused
busgen subscriptions resume TO --type order.* → resumed
busgen subscriptions list TO → ledger
busgen subscriptions show TO send-receipt → send-receipt
busgen dlq list TO → payment.requested
busgen dlq groups TO → connection refused
busgen dlq show TO DEAD → failed attempt 3
busgen dlq export TO > dead.jsonl → "reason":"max_attempts"
busgen dlq import TO < file:dead.jsonl → skipped 4
busgen dlq purge TO --until 1s --yes → purged 4
busgen dlq import TO < file:dead.jsonl → added 4
busgen check-db TO → All is well
busgen breaking events.yaml --db TO → all of 4 open or dead rows decode
busgen dlq edit TO DEAD --catalogue events.yaml < {"order": 1, "cents": 7} → made event
busgen dlq discard TO --subscription charge-card --because test --yes → discarded 3
busgen events discard TO --undo --action 12 → undone: 3 dead letters again
up
busgen dlq retry TO --all → retried
busgen events replay TO --subscription ledger --all --yes → replayed 1
busgen events replay TO --subscription ledger --since 02:00 --yes → matched 1
busgen breakers list TO → No circuit breaker
busgen breakers close TO charge-card → 3: there is no
busgen limits list TO → No delivery is parked
busgen running list TO → No handler
busgen schedules list TO → schedule
busgen events publish TO order.placed --catalogue events.yaml < {"number":70,"email":"ada@example.org"} → published order.placed
busgen audit list TO → publish
stop
busgen subscriptions remove TO ledger --yes → removed
busgen status TO → send-receipt
`
