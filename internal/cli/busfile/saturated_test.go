package busfile

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
)

func TestAMonitorCanAskForSaturatedSubscriptions(t *testing.T) {
	short.Visit(t, "it runs many commands")
	inShop(t, func(t *testing.T, s *shop) {
		_, err := runtime.Subscribe(s.Bus, clitest.OrderType, "slow", func(context.Context, runtime.Event[clitest.OrderPlaced]) error {
			time.Sleep(time.Second)
			return nil
		})
		must(t, err)
		ask := func(conditions string, status int, want string) {
			t.Helper()
			got := typed(t, "busgen status shop.db "+conditions, "")
			if got.Status != status || !strings.Contains(got.Stderr, want) || want == "" && got.Stderr != "" {
				t.Errorf("%s: %+v, want status %d and %q", conditions, got, status, want)
			}
		}
		s.place(3, 25) // so that the bus, which looks every ten seconds, has looked some seconds before each question
		ask("--fail-if saturated>0", 0, "")
		s.place(3, 150)
		ask("--fail-if saturated>0", cli.StatusNo, "saturated is 1 (--fail-if 'saturated>0')")
		ask("--fail-if slow:saturated=1 --json", cli.StatusNo, "slow:saturated is 1 (--fail-if 'slow:saturated=1')")
		ask("--fail-if ledger:saturated>0", 0, "")
		ask("--fail-if saturated>1", 0, "")
		time.Sleep(10 * time.Minute)
		ask("--fail-if saturated>0", 0, "")
	})
}
