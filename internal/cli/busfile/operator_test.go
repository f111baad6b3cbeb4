package busfile

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/runtime"
)

func TestStatusShowsAtAGlanceHowTheBusIsDoing(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		does(t, "busgen subscriptions pause shop.db ledger --actor ada --because tests")
		time.Sleep(time.Second)
		_, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 21, Email: "late@example.org"})
		must(t, err)
		time.Sleep(time.Minute)
		want := `SUBSCRIPTION  PATTERN            BACKLOG  DEAD  OLDEST
ledger        order.placed             1        1 min ago  paused
send-receipt  order.placed             0     1
charge-card   payment.requested        0    11
`
		folder, err := os.Getwd()
		must(t, err)
		got := does(t, "busgen status shop.db")
		head, table, _ := strings.Cut(got, "\n\nSUBSCRIPTION")
		table, rest, _ := strings.Cut(table, "\n\n")
		inOrder(t, head+"\n", "shop.db: ", "\nPaused: subscription ledger, since 2026-03-14 03:00:00 UTC (1 min ago), by ada: tests\n"+
			"12 dead letters: busgen dlq groups "+folder+"/shop.db\n")
		inOrder(t, rest, "Process ", "\n41 events, the oldest", "\n\nTYPE ")
		if diff := cmp.Diff(want, "SUBSCRIPTION"+table+"\n"); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}

		must(t, s.Shutdown(context.Background()))
		if got := does(t, "busgen status shop.db"); !strings.Contains(got, fmt.Sprintf("No process dispatches from it. The last one was %d, started", os.Getpid())) {
			t.Errorf("of a program that is down:\n%s", got)
		}
	})
}

func TestEventsAreListedByWhatTheFlagsSay(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		for flags, want := range map[string]int{
			"":                         40,
			"--type order.placed":      20,
			"--type order.*,payment.*": 40,
			"--type order.* --type payment.* --limit 7": 8, // with the mark of the next page

			"--status dlq":                     12,
			"--status done --type 'payment.*'": 9,
			"--since 4m":                       8,
			"--since 2026-03-14T02:50 --until 2026-03-14T02:51":            2,
			"--since '2026-03-14 02:59:00'":                                2,
			"--since 2026-03-14T03:50:00+01:00 --until '2026-03-14 02:51'": 2,
			"--since 1d":                  40,
			"--until 2026-03-14":          0,
			"--text customer5":            1,
			"--text 'connection refused'": 10,
			"--correlation checkout-7":    1,
			"--correlation checkout-7 --type payment.requested --status done ": 0,
		} {
			got := typed(t, "busgen events list shop.db --json "+flags, "")
			if n := strings.Count(got.Stdout, "\n"); got.Status != 0 || n != want {
				t.Errorf("%s: status %d, %d events, want %d\n%s", flags, got.Status, n, want, got.Stderr)
			}
		}
	})
}

func TestPagesContinueAfterTheirMark(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		for list, want := range map[string]int{"busgen events list shop.db --limit 16": 40, "busgen dlq list shop.db --limit 5": 12} {
			seen := map[string]bool{}
			rounds := 0
			for after := ""; ; rounds++ {
				got := does(t, list+" --json"+after)
				var last struct{ Next string }
				for line := range strings.Lines(got) {
					must(t, json.Unmarshal([]byte(line), &last))
					if last.Next == "" {
						seen[line] = true
					}
				}
				if last.Next == "" {
					break
				}
				after = " --after " + last.Next
			}
			if len(seen) != want || rounds != 2 {
				t.Errorf("%s: %d in %d rounds, want %d in 3", list, len(seen), rounds+1, want)
			}
			if got := does(t, list); !strings.Contains(got, "\nThere are more: go on with --after ") {
				t.Errorf("%s does not tell people that there are more:\n%s", list, got)
			}
		}
	})
}

func TestAnEventIsShownWithWhatBecameOfIt(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		id := shownID(t, "busgen events list shop.db --text negative")
		got := does(t, "busgen events show shop.db "+id)
		for _, want := range []string{
			"Type       payment.requested\nStatus     dlq\nPublished  2026-03-14 02:48:10 UTC (12 min ago)\n\nSUBSCRIPTION",
			"\nPayload\n  {\n    \"order\": 9,\n    \"cents\": -1\n  }\n",
			"SUBSCRIPTION  STATE  FAILED  SETTLED     REASON\ncharge-card   dead        3  12 min ago  max_attempts\n",
			"\ncharge-card, failed attempt 2: panic after 0 ms, 2026-03-14 02:48:12 UTC (12 min ago)\n  panic: order 9: negative amount",
			"shop_test.go:",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("the output lacks %q:\n%s", want, got)
			}
		}
		if strings.Contains(got, "runtime/debug") || strings.Contains(got, "internal/dispatch") {
			t.Errorf("the stack has frames that are not the program's:\n%s", got)
		}
	})
}

func TestADeadLetterIsShownWithItsHistory(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		id := shownID(t, "busgen dlq list shop.db --reason permanent")
		does(t, "busgen dlq retry shop.db --actor ada "+id)
		time.Sleep(time.Second)
		got := does(t, "busgen dlq show shop.db "+id)
		for _, want := range []string{
			"/send-receipt\nType         order.placed\nReason       permanent\n",
			"send-receipt, failed attempt 2: error after 0 ms",
			`order 5: the mail server refuses "customer5" (*errors.errorString)`,
			"WHEN     WHO  ACTION  FOR", "1 s ago  ada  retry   send-receipt",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("the output lacks %q:\n%s", want, got)
			}
		}
	})
}

// shownID returns the id of the first row of a list.
func shownID(t *testing.T, list string) string {
	t.Helper()
	rows := strings.Split(does(t, list), "\n")
	if len(rows) < 3 {
		t.Fatalf("%s lists nothing", list)
	}
	return strings.Fields(rows[1])[0]
}

func TestRetryingMovesOnlyTheChosenDeadLetters(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		s.down.Store(false)
		paid := s.paid.Load()
		group := shownID(t, "busgen dlq groups shop.db")
		for _, step := range []struct{ flags, want string }{
			{"--dry-run", "matched 10, retried 0, skipped 0\n"},
			{"--limit 3", "matched 10, retried 3, skipped 0\n"},
			{"--canary 2 --limit 4", "matched 7, retried 4, skipped 0\n"},
			{"--rate 100", "matched 3, retried 3, skipped 0\n"},
		} {
			if got := does(t, "busgen dlq retry shop.db --group "+group+" "+step.flags); got != step.want {
				t.Errorf("%s: %s, want %s", step.flags, got, step.want)
			}
		}
		time.Sleep(time.Second)
		if got := s.paid.Load() - paid; got != 10 {
			t.Errorf("%d payments were made, want 10", got)
		}
		typed(t, "busgen dlq retry shop.db --group "+group, "").Wants(t, cli.StatusNotFound,
			"matched 0, retried 0, skipped 0\n", "busgen: no dead letter matches\n")
	})
}

func TestTenThousandDeadLettersOfThreeKindsAreThreeLines(t *testing.T) {
	short.Visit(t, "it runs many commands")
	inShop(t, func(t *testing.T, s *shop) {
		_, err := runtime.Subscribe(s.Bus, clitest.PaymentType, "accounting", func(_ context.Context, e runtime.Event[clitest.PaymentRequested]) error {
			n := e.Payload.Order
			switch {
			case n%10 == 0:
				return runtime.Permanent(fmt.Errorf("invoice %s of order %d is locked", e.ID, n))
			case n%10 < 4:
				return runtime.Permanent(fmt.Errorf("order %d: dial tcp 10.0.%d.%d:443: i/o timeout", n, n%256, n/256))
			}
			return runtime.Permanent(fmt.Errorf("order %d: %q is not a number", n, fmt.Sprintf("%x", n*n)))
		})
		must(t, err)
		payments := make([]clitest.PaymentRequested, 10_000)
		for i := range payments {
			payments[i] = clitest.PaymentRequested{Order: i, Cents: int64(i)}
		}
		_, err = runtime.PublishBatch(t.Context(), s.Bus, clitest.PaymentType, payments)
		must(t, err)
		must(t, s.WaitIdle(t.Context()))
		must(t, s.PauseSubscription(t.Context(), "accounting", "")) // what is retried stays open

		groups := strings.Split(strings.TrimSpace(does(t, "busgen dlq groups shop.db")), "\n")
		var counts []string
		for i := 1; i < len(groups); i += 2 { // each has its message below
			counts = append(counts, strings.Fields(groups[i])[1])
		}
		if !slices.Equal(counts, []string{"6,000", "3,000", "1,000"}) {
			t.Fatalf("the groups are\n%s", strings.Join(groups, "\n"))
		}
		group := strings.Fields(groups[3])[0]
		got := typed(t, "busgen dlq retry shop.db --limit 500 --group "+group, "")
		if got.Stdout != "matched 3,000, retried 500, skipped 0\n" || !strings.HasPrefix(got.Stderr, "In the way of accounting: It has been paused") {
			t.Errorf("%+v", got)
		}
		if got := does(t, "busgen subscriptions list shop.db --json"); !strings.Contains(got, `"backlog":500,"backlog_at_most":500,"running":0,"waiting":500,"held":0,"dead":9500`) {
			t.Errorf("the subscriptions are\n%s", got)
		}
	})
}

func TestACanaryThatDiesStopsTheRetry(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		got := typed(t, "busgen dlq retry shop.db --all --canary 2", "")
		if got.Status != cli.StatusNo || got.Stdout != "matched 12, retried 2, skipped 0\n" || !strings.Contains(got.Stderr, "2 died again") {
			t.Errorf("%+v", got)
		}
		if n := strings.Count(does(t, "busgen dlq list shop.db --json"), "\n"); n != 12 {
			t.Errorf("%d letters are dead, want all 12", n)
		}
	})
}

// Somebody who waits for a canary has to know that no program is there that would handle it.
func TestACanaryWithoutAProgramSaysThatItWaits(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		must(t, s.Shutdown(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var stdout, stderr strings.Builder
		status := run(ctx, strings.Fields("dlq retry shop.db --all --canary 2"), strings.NewReader(""), &stdout, &stderr)
		if status != cli.StatusTrouble || !strings.Contains(stderr.String(), "In the way of charge-card: No process dispatches") {
			t.Errorf("status %d\n%s%s", status, &stdout, &stderr)
		}
	})
}

func TestAnInterruptedRetrySaysHowFarItWas(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		must(t, s.PauseSubscription(t.Context(), "charge-card", ""))
		must(t, s.PauseSubscription(t.Context(), "send-receipt", ""))
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		var stdout, stderr strings.Builder
		status := run(ctx, strings.Fields("dlq retry shop.db --all --rate 1"), strings.NewReader(""), &stdout, &stderr)
		if status != cli.StatusTrouble || stdout.String() != "matched 12, retried 4, skipped 0\n" || !strings.Contains(stderr.String(), "call it again to go on") {
			t.Errorf("status %d\n%s%s", status, &stdout, &stderr)
		}
	})
}

func TestDestructiveVerbsNeedAConfirmation(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		must(t, s.Shutdown(context.Background()))
		for _, command := range []string{
			"busgen dlq discard shop.db --all --because test",
			"busgen dlq purge shop.db --until 1m",
			"busgen subscriptions remove shop.db ledger",
		} {
			before := does(t, "busgen status shop.db --json")
			got := typed(t, command, "y\n") // a pipe is no terminal
			if got.Status != cli.StatusTrouble || got.Stdout != "" || !strings.Contains(got.Stderr, "cannot ask, because there is no terminal") {
				t.Errorf("%s: %+v", command, got)
			}
			if after := does(t, "busgen status shop.db --json"); after != before {
				t.Errorf("%s has changed something all the same", command)
			}
		}
		for _, step := range []struct{ command, want string }{
			{"busgen dlq discard shop.db --reason permanent --because test --yes", "matched 1, discarded 1, skipped 0\n"},
			{"busgen dlq purge shop.db --until 1m --yes", "matched 10, purged 10, skipped 0\n"},
			{"busgen subscriptions remove shop.db ledger -y", "subscription ledger is removed, with 0 events to settle and 0 dead letters\n"},
		} {
			if got := does(t, step.command); got != step.want {
				t.Errorf("%s: %q, want %q", step.command, got, step.want)
			}
		}
		if got := does(t, "busgen dlq purge shop.db --until 1d"); !strings.HasPrefix(got, "matched 0, ") {
			t.Errorf("nothing to purge, and nothing to ask: %s", got)
		}
	})
}

func TestEditingNeedsNoCatalogue(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		id := shownID(t, "busgen dlq list shop.db --reason permanent")
		const source = "checked with the schema of order.placed in shop.db: version 1, stored by shop on 2026-03-14 02:40:00 UTC (20 min ago); --catalogue names another\n"
		for _, payload := range []string{`{"number": 5, "email": 5, "vat": 1}`, `{"number": 5}`, `[]`, `{"email": "a@b", "email": "a@b", "number": 5}`, `{`} {
			with := typed(t, "busgen dlq edit shop.db --catalogue events.yaml "+id, payload)
			without := typed(t, "busgen dlq edit shop.db "+id, payload)
			if with.Status != cli.StatusNo || without.Status != cli.StatusNo || without.Stdout != "" || without.Stderr != source+with.Stderr {
				t.Errorf("%s\nwith the catalogue: %+v\nwithout:            %+v", payload, with, without)
			}
		}
		got := typed(t, "busgen dlq edit --json shop.db "+id, `{"number": 5, "email": "customer5@example.org"}`)
		var made struct {
			EventID string `json:"event_id"`
			Schema  schemaUsed
		}
		must(t, json.Unmarshal([]byte(got.Stdout), &made))
		if want := (schemaUsed{1, "shop", night}); got.Status != 0 || got.Stderr != source || made.Schema != want {
			t.Fatalf("%+v: %+v", got, made)
		}
		time.Sleep(time.Second)
		if event := does(t, "busgen events show shop.db "+made.EventID); !strings.Contains(event, "Status     done") {
			t.Errorf("the new event:\n%s", event)
		}
		// Nobody has generated the code of the payments.
		id = shownID(t, "busgen dlq list shop.db --type payment.requested --limit 1")
		got = typed(t, "busgen dlq edit shop.db "+id, `{}`)
		const missing = "shop.db has no schema of payment.requested that the new payload could be checked with: name the catalogue with --catalogue, as in --catalogue events.yaml"
		if got.Status != cli.StatusTrouble || !strings.Contains(got.Stderr, missing) {
			t.Errorf("%+v", got)
		}
		if got = typed(t, "busgen dlq edit shop.db --catalogue events.yaml "+id, `{}`); got.Status != cli.StatusNo || strings.Contains(got.Stderr, "checked with") {
			t.Errorf("%+v", got)
		}
	})
}

func TestEditingMakesANewEventThatIsHandled(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		id := shownID(t, "busgen dlq list shop.db --reason permanent")
		edit := "busgen dlq edit shop.db --catalogue events.yaml " + id

		got := typed(t, edit, `{"number": 5, "email": 5, "vat": 1}`)
		if got.Status != cli.StatusNo || !strings.Contains(got.Stderr, "email: want a string, got a number; vat: there is no such field") {
			t.Errorf("a payload that does not fit: %+v", got)
		}
		got = typed(t, edit, `{"number": 5, "email": "customer5@example.org"}`)
		made := regexp.MustCompile(`^made event (\S+) for send-receipt from (\S+)\n$`).FindStringSubmatch(got.Stdout)
		if got.Status != 0 || made == nil || !strings.HasPrefix(made[2], id) {
			t.Fatalf("%+v", got)
		}
		time.Sleep(time.Second)
		event := does(t, "busgen events show shop.db "+made[1])
		if !strings.Contains(event, "Status     done") || !strings.Contains(event, "Made from  "+made[2]) || strings.Contains(event, "ledger") {
			t.Errorf("the new event:\n%s", event)
		}
		if old := does(t, "busgen events show shop.db "+id); !strings.Contains(old, "Made into  "+made[1]) || !strings.Contains(old, "discarded") {
			t.Errorf("the old event:\n%s", old)
		}
		if got = typed(t, edit, `{}`); got.Status != cli.StatusNotFound || !strings.Contains(got.Stderr, "has no dead letter: ledger done, send-receipt discarded") {
			t.Errorf("edited again: %+v", got)
		}
	})
}

func TestAnEditorBeginsWithTheOldPayload(t *testing.T) {
	t.Setenv("VISUAL", "")
	t.Setenv("TMPDIR", t.TempDir())
	c := &call{cmd: root()}
	c.cmd.SetContext(t.Context())
	old := []byte(`{"number":5,"email":"customer5"}`)

	t.Setenv("EDITOR", "sed -i s/customer5/customer5@example.org/")
	edited, draft, err := c.edit(old)
	if want := "{\n  \"number\": 5,\n  \"email\": \"customer5@example.org\"\n}\n"; err != nil || string(edited) != want {
		t.Errorf("edited to %q, %v", edited, err)
	}
	kept := draft.keptBecause(os.ErrInvalid)
	_, name, _ := strings.Cut(kept.Error(), "your text is in ")
	if text, err := os.ReadFile(name); err != nil || string(text) != string(edited) {
		t.Errorf("%v: %q, %v", kept, text, err)
	}
	draft.remove()

	for editor, want := range map[string]string{"true": "was not changed", "false": "the editor false failed", "": "there is no editor: set EDITOR"} {
		t.Setenv("EDITOR", editor)
		if _, _, err := c.edit(old); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("EDITOR=%s: %v, want %s", editor, err, want)
		}
	}
}

func TestExportedDeadLettersCanBeImported(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		got := typed(t, "busgen dlq export shop.db", "")
		if got.Status != 0 || got.Stderr != "exported 12 dead letters\n" || strings.Count(got.Stdout, "\n") != 12 {
			t.Fatalf("%+v", got)
		}
		typed(t, "busgen dlq export shop.db --reason permanent --out one.jsonl", "").Wants(t, 0, "", "exported 1 dead letter\n")
		if again := typed(t, "busgen dlq export shop.db --out one.jsonl", ""); again.Status != cli.StatusTrouble || !strings.Contains(again.Stderr, "one.jsonl exists already") {
			t.Errorf("over a file that exists: %+v", again)
		}
		does(t, "busgen dlq purge shop.db --until 1s --yes")
		typed(t, "busgen dlq import shop.db", got.Stdout).Wants(t, 0, "matched 12, added 12, skipped 0\n", "")
		typed(t, "busgen dlq import shop.db one.jsonl", "").Wants(t, 0, "matched 1, added 0, skipped 1\n", "")
		if broken := typed(t, "busgen dlq import shop.db", "{}\n"); broken.Status != cli.StatusTrouble || !strings.Contains(broken.Stderr, "standard input: line 1: ") {
			t.Errorf("a line that is no letter: %+v", broken)
		}
	})
}

func TestCheckDBFindsWhatANewVersionCannotDecode(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		if got := does(t, "busgen check-db shop.db --catalogue events.yaml"); got != "All is well, with 0 open deliveries and 12 dead letters.\n" {
			t.Errorf("%s", got)
		}
		must(t, os.WriteFile("next.yaml", []byte(strings.Replace(clitest.ShopCatalogue, "cents: int64", "cents: string, currency: string", 1)), 0o600))
		got := typed(t, "busgen check-db shop.db --catalogue next.yaml", "")
		if got.Status != cli.StatusNo || !strings.HasPrefix(got.Stdout, "payment.requested: 0 open deliveries and 11 dead letters cannot be decoded\n") ||
			!strings.Contains(got.Stdout, "cents: want a string, got a number\n") || got.Stderr != "busgen: something is wrong with shop.db\n" {
			t.Errorf("%+v", got)
		}
	})
}

func TestADamagedFileIsExitStatus1(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		must(t, s.Shutdown(context.Background()))
		content, err := os.ReadFile("shop.db")
		must(t, err)
		for i := 4096; i < len(content); i += 64 {
			content[i] ^= 0xFF
		}
		must(t, os.WriteFile("shop.db", content, 0o600))
		if got := typed(t, "busgen check-db shop.db", ""); got.Status != cli.StatusNo {
			t.Errorf("%+v", got)
		}
	})
}

func TestSteeringNeedsATargetThatExists(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		for command, want := range map[string]string{
			"busgen subscriptions pause shop.db":                            "name a subscription, or event types with --type, and not both",
			"busgen subscriptions pause shop.db ledger --type order.*":      "and not both",
			"busgen subscriptions pause shop.db --type order.pla*":          "must be a whole segment",
			"busgen subscriptions remove shop.db ledger --yes":              "; this can be done only while no program dispatches: end it first",
			"busgen subscriptions remove shop.db":                           "needs the name of a subscription behind the file",
			"busgen subscriptions lsit shop.db":                             `busgen subscriptions has no verb "lsit": did you mean list?`,
			"busgen status":                                                 `busgen status needs the file of a bus, as in "busgen status shop.db"`,
			"busgen status shop.db other.db":                                `busgen status takes one file, but got "other.db" too`,
			"busgen status .":                                               ". is a folder: name the file on which the program opens its bus",
			"busgen status nope.db":                                         "there is no file nope.db: name the file on which the program opens its bus",
			"busgen status events.yaml":                                     "not an event log",
			"busgen events list shop.db --status dead":                      `there is no status "dead"`,
			"busgen events list shop.db --since yesterday":                  "want a time, as in 2026-03-14",
			"busgen events list shop.db --limit 0":                          "it must be at least 1",
			"busgen events show shop.db":                                    "needs the id of an event behind the file",
			"busgen events show shop.db xyz":                                `"xyz" is not the id of an event`,
			"busgen dlq retry shop.db":                                      "say which dead letters",
			"busgen dlq retry shop.db --all --group x":                      "say which dead letters",
			"busgen dlq discard shop.db --all":                              "say why with --because",
			"busgen dlq purge shop.db":                                      "say until when they died with --until",
			"busgen dlq purge shop.db --until 7":                            "or how long ago, as in 90m, 2h, 7d or 1w",
			"busgen dlq edit shop.db 018f --catalogue nope.yaml":            "there is no catalogue at nope.yaml",
			"busgen dlq list shop.db --reason tired":                        `"tired" is not a reason`,
			"busgen check-db shop.db --catalogue nope.yaml":                 "there is no catalogue at nope.yaml",
			"busgen completion tcsh":                                        "busgen completion needs a shell: bash, zsh, fish, powershell",
			"busgen dlq import shop.db nope.jsonl":                          "nope.jsonl",
			"busgen subscriptions pause shop.db ledger --actor ''":          "",
			"busgen events list shop.db --type order.placed --correlaton x": "did you mean --correlation?",
		} {
			got := typed(t, command, "")
			if want == "" {
				continue
			}
			if got.Status != cli.StatusTrouble || !strings.Contains(got.Stderr, want) {
				t.Errorf("%s: status %d, %s", command, got.Status, got.Stderr)
			}
		}
		for command, want := range map[string]string{
			"busgen subscriptions pause shop.db legder":                            "there is no subscription legder in this bus: it has send-receipt, charge-card, ledger",
			"busgen events replay shop.db --subscription ledger --from ffff --yes": "there is no event ffff in this bus",
			"busgen events replay shop.db --subscription legder --all --yes":       "there is no subscription legder in this bus: it has send-receipt, charge-card, ledger",
			"busgen subscriptions resume shop.db charge-card":                      "there is no pause of subscription charge-card",
			"busgen events show shop.db ffff":                                      "there is no event ffff in this bus",
			"busgen dlq show shop.db ffff":                                         "there is no event ffff in this bus",
		} {
			if got := typed(t, command, ""); got.Status != cli.StatusNotFound || !strings.Contains(got.Stderr, want) {
				t.Errorf("%s: status %d, %s", command, got.Status, got.Stderr)
			}
		}
	})
}

func TestAnIDThatIsNotEnoughIsExplained(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		_, err := runtime.SubscribePattern(s.Bus, "*", "mirror", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			return runtime.Permanent(fmt.Errorf("no"))
		})
		must(t, err)
		s.order(1, "nobody", 1)
		time.Sleep(time.Second)
		id := shownID(t, "busgen events list shop.db --type order.placed")
		got := typed(t, "busgen dlq show shop.db "+id, "")
		if got.Status != cli.StatusTrouble || !strings.Contains(got.Stderr, "is dead for several subscriptions: name one of "+id+"/mirror, "+id+"/send-receipt") {
			t.Errorf("%+v", got)
		}
		if got := does(t, "busgen dlq show shop.db "+id+"/mirror"); !strings.Contains(got, "/mirror\n") {
			t.Errorf("%s", got)
		}
		if got := does(t, "busgen dlq retry shop.db "+id); got != "matched 2, retried 2, skipped 0\n" {
			t.Errorf("retrying an event for all subscriptions: %s", got)
		}
		if got := typed(t, "busgen events show shop.db 0", ""); got.Status != cli.StatusTrouble || !strings.Contains(got.Stderr, "several events begin with 0: ") {
			t.Errorf("%+v", got)
		}
	})
}

func TestTablesAreCutToTheScreenAndFilesAreNot(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		wide := does(t, "busgen dlq list shop.db")
		t.Setenv("COLUMNS", "80")
		narrow := does(t, "busgen dlq list shop.db")
		if strings.Contains(wide, "…") || !strings.Contains(wide, "dial tcp 10.0.0.7:443: connection refused") {
			t.Errorf("a pipe was given a cut table:\n%s", wide)
		}
		for line := range strings.Lines(narrow) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
		if strings.Count(narrow, "  payment.requested  charge-card") != 11 || !strings.Contains(narrow, "\n    order 5: the mail server refuses \"customer5\"\n") {
			t.Errorf("a narrow terminal has no names, or no errors below them:\n%s", narrow)
		}
	})
}

func TestShellsCompleteVerbsFilesAndNames(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		for _, test := range []struct{ words, want string }{
			{"sta", "status"},
			{"dlq re", "retry"},
			{"subscriptions pause shop.db c", "charge-card"},
			{"dlq list shop.db --group x", "order <n>: negative amount"},
			{"dlq retry shop.db --subscription x", "charge-card"},
			{"events list shop.db --type x", "payment.requested"},
			{"dlq list shop.db --reason x", "max_attempts"},
			{"audit list shop.db --action x", "undiscard"},
			{"events replay shop.db --subscription x", "ledger"},
			{"dlq show shop.db 019c", "order.placed"},
			{"events show shop.db 019c", "payment.requested, dlq"},
			{"events list shop.db --status p", "pending"},
			{"completion z", "zsh"},
			{"status ", ":8"}, // files
			{"subscriptions pause shop.db ledger ", ":4"},
		} {
			got := typed(t, "busgen __complete "+strings.TrimSuffix(test.words, " "), "")
			if strings.HasSuffix(test.words, " ") {
				var stdout strings.Builder
				run(t.Context(), append(append([]string{"__complete"}, strings.Fields(test.words)...), ""), strings.NewReader(""), &stdout, &stdout)
				got.Stdout = stdout.String()
			}
			if !strings.Contains(got.Stdout, test.want) {
				t.Errorf("%s: %s", test.words, got.Stdout)
			}
		}
		for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
			if got := typed(t, "busgen completion "+shell, ""); got.Status != 0 || !strings.Contains(got.Stdout, "busgen") {
				t.Errorf("completion %s: status %d", shell, got.Status)
			}
		}
	})
}

func TestEveryFieldOfTheJSONIsInTheManual(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		_, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 30, Email: "x@example.org"}, runtime.WithDelay(time.Hour))
		must(t, err)
		does(t, "busgen subscriptions pause shop.db ledger")
		dead := shownID(t, "busgen dlq list shop.db --reason permanent")
		panicked := shownID(t, "busgen dlq list shop.db --text panic")
		does(t, "busgen dlq retry shop.db "+dead)
		time.Sleep(time.Second)
		must(t, os.WriteFile("next.yaml", []byte(strings.Replace(clitest.ShopCatalogue, "cents: int64", "cents: string", 1)), 0o600))
		for _, command := range []string{
			"status shop.db", "events list shop.db", "events show shop.db " + dead, "events show shop.db " + panicked,
			"subscriptions list shop.db", "dlq list shop.db", "dlq groups shop.db", "dlq show shop.db " + dead,
			"dlq retry shop.db --all --dry-run", "dlq discard shop.db --all --because x --dry-run", "dlq purge shop.db --until 1d",
			"check-db shop.db --catalogue next.yaml", "dlq import shop.db", "audit list shop.db", "audit list shop.db --limit 1",
			"events replay shop.db --subscription ledger --all --dry-run", "events discard shop.db --undo " + dead,
		} {
			got := typed(t, "busgen "+command+" --json", "")
			verb := strings.Join(slices.DeleteFunc(strings.Fields(command), func(w string) bool {
				return !regexp.MustCompile(`^[a-z-]+$`).MatchString(w) || strings.HasPrefix(w, "-") || w == "x"
			}), " ")
			manual := does(t, "busgen "+verb+" --help")
			if verb == "events show" {
				manual += does(t, "busgen events list --help")
			}
			if verb == "dlq show" {
				manual += does(t, "busgen dlq list --help")
			}
			decoder := json.NewDecoder(strings.NewReader(got.Stdout))
			documents := 0
			for ; decoder.More(); documents++ {
				var value any
				if err := decoder.Decode(&value); err != nil {
					t.Fatalf("%s: %v\n%s", command, err, got.Stdout)
				}
				for _, key := range keysIn(value) {
					if !regexp.MustCompile(`\b` + key + `\b`).MatchString(manual) {
						t.Errorf("%s: the manual does not mention %s", command, key)
					}
				}
			}
			if documents == 0 {
				t.Errorf("%s prints nothing", command)
			}
		}
	})
}

// keysIn collects the keys of objects, except those of payloads and metadata.
func keysIn(value any) (keys []string) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			keys = append(keys, keysIn(one)...)
		}
	case map[string]any:
		for key, one := range v {
			keys = append(keys, key)
			if key != "payload" && key != "metadata" {
				keys = append(keys, keysIn(one)...)
			}
		}
	}
	return keys
}
