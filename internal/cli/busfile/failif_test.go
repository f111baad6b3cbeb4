package busfile

import (
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/runtime"
)

func TestAnExceededThresholdIsExitStatus1OfStatus(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		does(t, "busgen subscriptions pause shop.db ledger")
		time.Sleep(time.Second)
		_, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 30, Email: "x@example.org"})
		must(t, err)
		time.Sleep(10 * time.Minute)
		for conditions, want := range map[string]string{
			"--fail-if dead>100":                                       "",
			"--fail-if dead>11":                                        "dead is 12 (--fail-if 'dead>11')",
			"--fail-if dead>=12 --fail-if 'oldest > 5m'":               "dead is 12 (--fail-if 'dead>=12'); oldest is 10m0s (--fail-if 'oldest > 5m')",
			"--fail-if send-receipt:dead>1":                            "",
			"--fail-if charge-card:dead>10":                            "charge-card:dead is 11",
			"--fail-if ledger:backlog=1":                               "ledger:backlog is 1",
			"--fail-if dispatchers<1":                                  "",
			"--fail-if waiting>0 --fail-if held>0 --fail-if running>0": "",
			"--fail-if charge-card:oldest>1s":                          "",
			"--fail-if 'backlog>1,000' --fail-if oldest>1w":            "",
			"--fail-if dead<1 --fail-if backlog<=1 --json":             "backlog is 1",
		} {
			got := typed(t, "busgen status shop.db "+conditions, "")
			status := 0
			if want != "" {
				status = cli.StatusNo
			}
			if got.Status != status || !strings.Contains(got.Stderr, want) || want == "" && got.Stderr != "" || !strings.Contains(got.Stdout, "ledger") {
				t.Errorf("%s: %+v, want %q", conditions, got, want)
			}
		}
		for condition, want := range map[string]string{
			"dead":                 "want a condition, as in dead>100",
			"deda>1":               "there is no number deda: did you mean dead?",
			"age>1":                "there is no number age: there are dead, backlog",
			"dead>many":            `"many" is not a whole number`,
			"oldest>5":             `"5" is no age`,
			"ledger:dispatchers<1": "leave the name out",
		} {
			if got := typed(t, "busgen status shop.db --fail-if "+condition, ""); got.Status != cli.StatusTrouble || !strings.Contains(got.Stderr, want) {
				t.Errorf("%s: %+v, want %q", condition, got, want)
			}
		}
		if got := typed(t, "busgen status shop.db --fail-if legder:dead>0", ""); got.Status != cli.StatusNo || !strings.Contains(got.Stderr, "did you mean ledger?") {
			t.Errorf("%+v", got)
		}
		must(t, s.Shutdown(t.Context()))
		if got := typed(t, "busgen status shop.db --fail-if dispatchers<1", ""); got.Status != cli.StatusNo {
			t.Errorf("%+v", got)
		}
	})
}

func TestFailuresAreShownBeforeThePayload(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		long := strings.Repeat("x", 3000)
		_, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 40, Email: long})
		must(t, err)
		time.Sleep(time.Second)
		id := shownID(t, "busgen events list shop.db --type order.placed")
		for _, verb := range []string{"events", "dlq"} {
			got := does(t, "busgen "+verb+" show shop.db "+id)
			if strings.Index(got, "failed attempt 1") > strings.Index(got, "\nPayload\n") || !strings.Contains(got, long) {
				t.Errorf("%s show: the payload comes first, or is cut", verb)
			}
			got = does(t, "busgen "+verb+" show shop.db --max-payload 100 "+id)
			if strings.Contains(got, strings.Repeat("x", 200)) && strings.Contains(got[strings.Index(got, "\nPayload\n"):], strings.Repeat("x", 200)) || !strings.Contains(got, "more bytes of the payload") {
				t.Errorf("%s show --max-payload: %s", verb, got)
			}
			for _, list := range []string{"list", "show"} {
				command := "busgen " + verb + " " + list + " shop.db --json --max-payload 100 "
				if list == "show" {
					command += id
				}
				if got := does(t, command); !strings.Contains(got, `"payload":"(3,0`) && !strings.Contains(got, `"payload": "(3,0`) {
					t.Errorf("%s: %.300s", command, got)
				}
			}
		}
		if got := typed(t, "busgen events list shop.db --max-payload -1", ""); got.Status != cli.StatusTrouble {
			t.Errorf("%+v", got)
		}
	})
}
