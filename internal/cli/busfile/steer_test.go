package busfile

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/runtime"
)

func TestOpenEventsAreDiscardedAndBroughtBack(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		does(t, "busgen subscriptions pause shop.db ledger")
		time.Sleep(time.Second)
		_, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 30, Email: "x@example.org"})
		must(t, err)
		time.Sleep(time.Second)
		id := shownID(t, "busgen events list shop.db --status pending")
		if got := typed(t, "busgen events discard shop.db "+id, ""); got.Status != cli.StatusTrouble || !strings.Contains(got.Stderr, "say why with --because") {
			t.Errorf("%+v", got)
		}
		if got := does(t, "busgen events discard shop.db "+id+" --because test --actor ada --yes"); !strings.HasPrefix(got, "discarded event "+id) || !strings.HasSuffix(got, " for ledger\n") {
			t.Errorf("%s", got)
		}
		if got := does(t, "busgen events show shop.db "+id); !strings.Contains(got, "ledger        discarded") || !strings.Contains(got, "test") {
			t.Errorf("%s", got)
		}
		if got := typed(t, "busgen events discard shop.db "+id+"/send-receipt --because x --yes", ""); got.Status != cli.StatusNo || !strings.Contains(got.Stderr, "has no open delivery: send-receipt done") {
			t.Errorf("%+v", got)
		}
		does(t, "busgen subscriptions resume shop.db ledger")
		time.Sleep(time.Second)
		if got := does(t, "busgen events discard shop.db --undo "+id); got != "undone: 0 dead letters again, 1 due, 0 left alone\n" {
			t.Errorf("%s", got)
		}
		time.Sleep(time.Second)
		if got := does(t, "busgen events show shop.db "+id); !strings.Contains(got, "ledger        done") || !strings.Contains(got, "undiscard") {
			t.Errorf("%s", got)
		}
	})
}

func TestTheAuditIsListedByWhatTheFlagsSay(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		id := shownID(t, "busgen dlq list shop.db --reason permanent")
		does(t, "busgen dlq retry shop.db --actor ada "+id)
		time.Sleep(time.Minute)
		does(t, "busgen dlq discard shop.db --actor bob --all --because oops --yes")
		does(t, "busgen subscriptions pause shop.db ledger --actor ada --because \"it is late\"")
		for flags, want := range map[string]string{
			"":                           "pause discard retry",
			"--actor ada":                "pause retry",
			"--action retry,discard":     "discard retry",
			"--subscription ledger":      "pause",
			"--event " + id:              "discard retry",
			"--since 30s":                "pause discard",
			"--until 30s":                "retry",
			"--since 1w --actor carla":   "",
			"--actor ada --since 02:59":  "pause retry",
			"--since 1d --action import": "",
		} {
			var actions []string
			for line := range strings.Lines(does(t, "busgen audit list shop.db --json "+flags)) {
				var action struct{ Action string }
				must(t, json.Unmarshal([]byte(line), &action))
				actions = append(actions, action.Action)
			}
			if got := strings.Join(actions, " "); got != want {
				t.Errorf("%s: %q, want %q", flags, got, want)
			}
		}
		got := does(t, "busgen audit list shop.db --limit 2 --utc")
		for _, want := range []string{"2026-03-14 03:01:00  ada  pause", "it is late", "There are more: go on with --after "} {
			if !strings.Contains(got, want) {
				t.Errorf("the audit lacks %q:\n%s", want, got)
			}
		}
		if got := typed(t, "busgen audit list shop.db --action retyr", ""); got.Status != cli.StatusTrouble || !strings.Contains(got.Stderr, `there is no action "retyr"`) {
			t.Errorf("%+v", got)
		}
		if got := does(t, "busgen status shop.db"); !strings.Contains(got, "Paused: subscription ledger, since 2026-03-14 03:01:00 UTC, by ada: it is late") &&
			!strings.Contains(got, ", by ada: it is late\n") {
			t.Errorf("status does not say who and why:\n%s", got)
		}
	})
}

func TestADiscardOfManyIsUndone(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		before := does(t, "busgen dlq list shop.db --json")
		does(t, "busgen dlq discard shop.db --all --because oops --yes")
		var action struct {
			ID    json.Number
			Count int
		}
		must(t, json.Unmarshal([]byte(does(t, "busgen audit list shop.db --action discard --json")), &action))
		if got := does(t, "busgen events discard shop.db --undo --action "+action.ID.String()); got != "undone: 12 dead letters again, 0 due, 0 left alone\n" {
			t.Errorf("%s", got)
		}
		if after := does(t, "busgen dlq list shop.db --json"); after != before {
			t.Errorf("the letters were\n%s\nand are\n%s", before, after)
		}
		if got := typed(t, "busgen events discard shop.db --undo --action "+action.ID.String(), ""); got.Status != cli.StatusNotFound {
			t.Errorf("%+v", got)
		}
	})
}

func TestTimesCanBeWrittenInManyWays(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight() // from 02:40 to 03:00
		for flags, want := range map[string]int{
			"--since 02:50":                     20,
			"--since 02:50:30 --until 02:51:30": 2,
			"--since 03:30":                     40, // half past three yesterday
			"--since 1w":                        40,
			"--since 10m --until 5m":            10,
			"--correlation checkout-7":          1,
		} {
			got := does(t, "busgen events list shop.db --json --limit 100 "+flags)
			if n := strings.Count(got, "\n"); n != want {
				t.Errorf("%s: %d events, want %d", flags, n, want)
			}
		}
		if got := does(t, "busgen dlq list shop.db --correlation checkout-5 --utc"); !strings.Contains(got, "2026-03-14 02:44:00") {
			t.Errorf("%s", got)
		}
		if got := does(t, "busgen events list shop.db --utc --limit 1"); !strings.Contains(got, "2026-03-14 02:59:10") {
			t.Errorf("%s", got)
		}
	})
}

func TestTheLastLineOfAPageHasTheMarkOfTheNext(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		for _, list := range []string{"busgen events list shop.db", "busgen dlq list shop.db"} {
			got := strings.Split(strings.TrimSpace(does(t, list+" --limit 3 --json")), "\n")
			var last struct{ Next string }
			must(t, json.Unmarshal([]byte(got[len(got)-1]), &last))
			if len(got) != 4 || last.Next == "" {
				t.Fatalf("%s: %q", list, got)
			}
			next := does(t, list+" --limit 1 --json --after "+last.Next)
			all := does(t, list+" --json")
			if want := strings.Split(all, "\n")[3] + "\n"; !strings.HasPrefix(next, want) {
				t.Errorf("%s: the next is %s, want %s", list, next, want)
			}
		}
	})
}
