package busfile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/runtime"
)

// A filter that names what the file does not know can never match: that is an
// error, and no empty list that looks as if all were well.
func TestAConditionThatCanNeverMatchIsNotReportedAsAllClear(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		group := shownID(t, "busgen dlq groups shop.db")
		for command, want := range map[string]string{
			"busgen dlq list shop.db --subscription charge-crad":              "there is no subscription charge-crad in this bus: did you mean charge-card?",
			"busgen dlq list shop.db --subscription ledger,zzz":               "there is no subscription zzz in this bus: it has send-receipt, charge-card, ledger",
			"busgen dlq list shop.db --json --subscription zzz":               "there is no subscription zzz",
			"busgen dlq groups shop.db --type orders.*":                       "no event type of this bus matches orders.*: did you mean order.*?",
			"busgen dlq export shop.db --type order.plcaed":                   "no event type of this bus matches order.plcaed: did you mean order.placed?",
			"busgen dlq retry shop.db --type zzz":                             "no event type of this bus matches zzz: it has order.placed, payment.requested",
			"busgen dlq discard shop.db --subscription zzz --because x --yes": "there is no subscription zzz",
			"busgen dlq purge shop.db --until 1s --subscription zzz --yes":    "there is no subscription zzz",
			"busgen dlq retry shop.db --group zzz":                            "no group of dead letters begins with zzz: there are ",
			"busgen dlq list shop.db --group 00":                              "no group of dead letters begins with 00: there are ",
			"busgen events list shop.db --type orders.placed":                 "no event type of this bus matches orders.placed: did you mean order.placed?",
			"busgen subscriptions pause shop.db --type orders.*":              "no event type of this bus matches orders.*: did you mean order.*?",
		} {
			got := typed(t, command, "")
			if got.Status != cli.StatusNo || got.Stdout != "" || !strings.Contains(got.Stderr, want) {
				t.Errorf("%s: %+v, want %q", command, got, want)
			}
		}
		if got := does(t, "busgen status shop.db"); strings.Contains(got, "Paused") {
			t.Errorf("a pause of nothing was made:\n%s", got)
		}
		for command, want := range map[string]string{
			"busgen dlq list shop.db --reason permanant":           `"permanant" is not a reason; it is one of max_attempts`,
			"busgen events list shop.db --status dlp":              `there is no status "dlp"`,
			"busgen dlq list shop.db --subscription ''":            "--subscription is empty: give it a value, or leave it out",
			"busgen dlq list shop.db --subscription ledger,":       "there is no subscription with an empty name",
			"busgen dlq list shop.db --reason permanent,,":         `"" is not a reason`,
			"busgen dlq purge shop.db --yes --until 1s --group ''": "--group is empty: give it a value, or leave it out",
			"busgen events list shop.db --type ''":                 "--type is empty",
			"busgen dlq list shop.db --group " + group + "0":       "no group of dead letters begins with " + group + "0: did you mean " + group + "?",
		} {
			if got := typed(t, command, ""); got.Status == 0 || got.Stdout != "" || !strings.Contains(got.Stderr, want) {
				t.Errorf("%s: %+v, want %q", command, got, want)
			}
		}

		// What could match and does not at the moment is no error.
		does(t, "busgen dlq retry shop.db --group "+group+" --limit 100")
		s.down.Store(false)
		time.Sleep(time.Minute)
		for command, want := range map[string]string{
			"busgen dlq list shop.db --subscription ledger":                "There are no such dead letters.\n",
			"busgen dlq list shop.db --group " + group:                     "There are no dead letters in group " + group + " at the moment.\n",
			"busgen dlq groups shop.db --group " + group:                   "There are no dead letters in group " + group + " at the moment.\n",
			"busgen events list shop.db --type order.placed --text zzz":    "There are no such events.\n",
			"busgen dlq list shop.db --type order.* --reason max_attempts": "There are no such dead letters.\n",
		} {
			if got := does(t, command); got != want {
				t.Errorf("%s: %q, want %q", command, got, want)
			}
		}
	})
}

func TestAGroupIsNamedByAsMuchAsIsUnique(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		want := does(t, "busgen dlq groups shop.db --json")
		id := shownID(t, "busgen dlq groups shop.db")
		for _, short := range []string{id[:4], strings.ToUpper(id[:8]), id} {
			if got := does(t, "busgen dlq groups shop.db --json --group "+short); got != want[:strings.Index(want, "\n")+1] {
				t.Errorf("group %s:\n%s", short, got)
			}
		}
		if got := does(t, "busgen dlq retry shop.db --dry-run --group "+id[:5]); got != "matched 10, retried 0, skipped 0\n" {
			t.Errorf("retrying by a short name: %s", got)
		}
		// One digit cannot tell twenty groups apart.
		must(t, second(runtime.Subscribe(s.Bus, clitest.OrderType, "sort", func(_ context.Context, e runtime.Event[clitest.OrderPlaced]) error {
			return runtime.Permanent(errors.New("no shelf for " + e.Payload.Email))
		})))
		for n := range 20 {
			s.order(100+n, "letter "+string(rune('a'+n)), 1)
		}
		var groups []string
		for line := range strings.Lines(does(t, "busgen dlq groups shop.db --json")) {
			_, name, _ := strings.Cut(line, `{"fingerprint":"`)
			groups = append(groups, name[:12])
		}
		digits := map[byte][]string{}
		for _, g := range groups {
			digits[g[0]] = append(digits[g[0]], g)
		}
		for digit, named := range digits {
			if len(named) < 2 {
				continue
			}
			slices.Sort(named)
			got := typed(t, "busgen dlq retry shop.db --group "+string(digit), "")
			want := fmt.Sprintf("busgen: several groups begin with %c: %s\n", digit, strings.Join(named, ", "))
			got.Wants(t, cli.StatusTrouble, "", want)
			return
		}
		t.Errorf("no two groups begin with the same digit: %q", groups)
	})
}

func second[T any](_ T, err error) error { return err }

func TestAMisspeltNameIsSuggested(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		id := shownID(t, "busgen dlq list shop.db --reason permanent")
		for command, want := range map[string]string{
			"busgen subscriptions pause shop.db legder":         "; did you mean ledger?",
			"busgen subscriptions remove shop.db legder --yes":  "; did you mean ledger?",
			"busgen dlq show shop.db " + id + "/send-receit":    "did you mean send-receipt?",
			"busgen dlq retry shop.db " + id + "/zzz":           "there is no subscription zzz in this bus",
			"busgen subscriptions resume shop.db --type order.": "there is no pause of type order.",
		} {
			if got := typed(t, command, ""); got.Status != cli.StatusNotFound || !strings.Contains(got.Stderr, want) {
				t.Errorf("%s: %+v, want %q", command, got, want)
			}
		}
	})
}
