package catalogue

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/retry"
)

// The golden files show what people see. UPDATE_GOLDEN=1 rewrites them.
func TestPolicyShowsTheCatalogueOfTheExamples(t *testing.T) {
	golden, err := filepath.Abs("testdata/policy")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../../../examples")
	for name, command := range map[string]string{
		"everything":                "policy",
		"a_pattern":                 "policy payment.*",
		"an_event_and_its_handlers": "policy order.placed",
		"a_subscription":            "policy charge-card",
		"json":                      "policy order.placed --json",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("COLUMNS", "")
			compareGolden(t, filepath.Join(golden, name+".golden"), busgen(t, command))
		})
	}
	t.Run("a narrow screen", func(t *testing.T) {
		t.Setenv("COLUMNS", "50")
		compareGolden(t, filepath.Join(golden, "narrow.golden"), busgen(t, "policy user.*"))
	})
}

func compareGolden(t *testing.T, path string, got clitest.Result) {
	t.Helper()
	if got.Status != 0 || got.Stderr != "" {
		t.Fatalf("%+v", got)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got.Stdout), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.Stdout); diff != "" {
		t.Errorf("(-want +got), UPDATE_GOLDEN=1 accepts it:\n%s", diff)
	}
}

// tuned has a class of errors, a long schedule, and something that expires.
const tuned = `version: 1
package: shop
events:
  order.placed:
    expires_after: 1m
    retry: { max_attempts: 1000, jitter: 0 }
    errors: { card_declined: permanent, like_any_other: { retry: {} } }
    subscriptions: { charge-card: { retry: { max_attempts: 1 } }, audit: {} }
`

func TestPolicyWritesALongScheduleInFewLines(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": tuned})
	t.Setenv("COLUMNS", "60")
	out := busgen(t, "policy audit").Stdout
	_, schedule, _ := strings.Cut(out, "\nATTEMPT")
	want := `  DELAY  CUMULATIVE
      1     0s          0s
      2     1s          1s
      3     2s          3s
      4     4s          7s
      5     8s         15s
      6    16s         31s
      7    30s        1m1s
      8    30s       1m31s
      9    30s        2m1s
     10    30s       2m31s
      …
   1000    30s    8h17m31s

any error      1 ─1s─ 2 ─2s─ 3 ┄ 996 more ┄ ─30s─ 1000 ✕
card_declined  1 ✕
A dead letter after 8h17m31s of waiting and 1000 attempts of at most 30s.
It expires after 1m: attempt 7 would come too late.
The circuit breaker opens for 30s when more than 50% of at least 4 events within 1m have failed.
Each event counts once, by its latest attempt: one that fails alone does not open it.
`
	if diff := cmp.Diff(want, schedule); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPolicyGroupsWhatIsTheSame(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": tuned + "  order.paid: {}\n  order.sent: {}\n"})
	var headings []string
	for part := range strings.SplitSeq(busgen(t, "policy").Stdout, "\n\n\n") {
		line, _, _ := strings.Cut(part, "\n")
		headings = append(headings, line)
	}
	want := []string{"order.placed (also → audit)", "order.placed → charge-card", "order.paid, order.sent"}
	if diff := cmp.Diff(want, headings); diff != "" {
		t.Errorf("headings (-want +got):\n%s", diff)
	}
}

func TestPolicySaysWhenThereIsNothingToShow(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": tuned, "broken.yaml": broken})
	for command, want := range map[string]struct {
		status int
		text   string
	}{
		"policy order.placd":          {cli.StatusNotFound, "busgen: no event type and no declared subscription matches order.placd: did you mean order.placed?\n"},
		"policy charge-crad":          {cli.StatusNotFound, "did you mean charge-card?"},
		"policy user.*":               {cli.StatusNotFound, "no event type and no declared subscription matches user.*\n"},
		"policy or*":                  {cli.StatusTrouble, "`*` must be a whole segment"},
		"policy a b":                  {cli.StatusTrouble, "busgen policy takes one type, pattern or subscription, but got \"b\" too"},
		"policy nope.yaml":            {cli.StatusTrouble, "there is no catalogue at nope.yaml: name another file"},
		"policy broken.yaml":          {cli.StatusNo, "busgen: 2 errors in broken.yaml\n"},
		"policy --catalog other.yaml": {cli.StatusTrouble, "the catalogue is an argument, and no flag"},
	} {
		busgen(t, command).WantsErrors(t, want.status, want.text)
	}
}

func TestTheExamplesInTheHelpOfPolicyWork(t *testing.T) {
	source, err := os.ReadFile("../../../examples/events.yaml")
	if err != nil {
		t.Fatal(err)
	}
	inFolder(t, map[string]string{"events.yaml": string(source), "events/events.yaml": string(source), "production.yaml": "version: 1\ndefaults: { timeout: 1m }\n"})
	lines := strings.Split(newPolicy().Example, "\n")
	if len(lines) < 4 {
		t.Errorf("there are only %d", len(lines))
	}
	for _, line := range lines {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "busgen ")
		if got := busgen(t, strings.ReplaceAll(command, "'", "")); !ok || got.Status != 0 || got.Stdout == "" {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

// The keys are those of the help; programs rely on them.
func TestPolicyAsJSONHasEverySettingWithItsOrigin(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": tuned})
	var got []policyObject
	if err := json.Unmarshal([]byte(busgen(t, "policy --json").Stdout), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0].Type != "order.placed" || got[0].Subscription != "" || got[1].Subscription != "charge-card" {
		t.Fatalf("got %+v", got)
	}
	if s := got[0].Settings["retry.max_attempts"]; s.Value != 1000.0 || s.From != "events.yaml:6" {
		t.Errorf("max_attempts is %+v", s)
	}
	if s := got[0].Settings["timeout"]; s.Value != "30s" || s.From != "built in" {
		t.Errorf("timeout is %+v", s)
	}
	if len(got[0].Schedule) != 1000 || got[0].Schedule[2] != (stepObject{3, 2, 2, 2, 3, 3}) {
		t.Errorf("the schedule has %d steps, the third %+v", len(got[0].Schedule), got[0].Schedule[2])
	}
	if len(got[0].Classes["card_declined"]) != 1 || len(got[0].Classes["like_any_other"]) != 1000 {
		t.Errorf("classes: %v", slices.Sorted(keys(got[0].Classes)))
	}
}

func keys[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// A line fits any screen that is not absurdly narrow, begins with attempt 1 and
// ends with the last; a longer delay never has a shorter line.
func TestATimelineFitsAndIsInProportion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := retry.Default().With(
			retry.MaxAttempts(rapid.IntRange(1, 40).Draw(t, "attempts")),
			retry.WithBackoff(retry.Backoff(rapid.IntRange(0, 3).Draw(t, "backoff"))),
			retry.BaseDelay(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "base"))),
			retry.MaxDelay(time.Duration(rapid.Int64Range(int64(time.Hour), int64(retry.LimitDelay)).Draw(t, "max"))),
		)
		width := rapid.IntRange(50, 200).Draw(t, "width")
		line := timelineOf("", attemptsOf(catalog.Settings{Breaker: catalog.Breaker{Off: catalog.Value[bool]{V: true}}}, p), catalog.Redrive{Off: catalog.Value[bool]{V: true}})
		s := scaleOf([]timeline{line}, width)
		text := line.draw(s, width)
		if n := terminal.Width(text); n > width || !utf8.ValidString(text) {
			t.Errorf("%d columns on a screen of %d: %s", n, width, text)
		}
		if !strings.HasPrefix(text, "1 ") || !strings.HasSuffix(text, " ✕") {
			t.Errorf("got %s", text)
		}
		for i := 1; i < len(line.delays); i++ {
			if a, b := line.delays[i-1], line.delays[i]; a > 0 && s.dashes(a) > s.dashes(b) {
				t.Errorf("%v has %d dashes and %v has %d", a, s.dashes(a), b, s.dashes(b))
			}
		}
	})
}

func TestGroupsOfSubscriptionsAreShown(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": `version: 1
package: shop
events:
  payment.due:
    subscriptions: { bank: { group: chain, strict_order: true }, audit: { group: chain, doc: Writes it down. } }
`})
	for command, want := range map[string]string{
		"describe payment.due":        "In group chain. Writes it down.",
		"describe payment.due --json": `"group": "chain"`,
		"policy bank":                 "payment.due → bank in group chain",
		"policy bank --json":          `"group": "chain"`,
		"policy payment.due":          "(also → audit in group chain)",
		"export asyncapi":             `"group": "chain"`,
		"docs":                        "Member of group <code>chain</code>",
	} {
		if out := busgen(t, command).Stdout; !strings.Contains(out, want) {
			t.Errorf("%s does not show %q:\n%s", command, want, out)
		}
	}
}
