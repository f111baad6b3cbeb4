package busfile

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/runtime"
)

var quiet = []runtime.Option{runtime.WithDurability(runtime.Normal), runtime.WithLogger(slog.New(slog.DiscardHandler))}

func TestStatusShowsSubscriptionsWithoutAHandler(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.order(1, "a@example.org", 100)
		must(t, s.WaitIdle(t.Context()))
		must(t, s.Shutdown(t.Context()))
		// The next program has renamed a subscription, and dropped another one.
		bus, err := runtime.Open(t.Context(), "shop.db", runtime.NewCatalogue(clitest.OrderType, clitest.PaymentType), quiet...)
		must(t, err)
		defer bus.Shutdown(context.Background())
		_, err = runtime.Subscribe(bus, clitest.OrderType, "mail-receipt", func(context.Context, runtime.Event[clitest.OrderPlaced]) error { return nil })
		must(t, err)
		must(t, bus.PauseSubscription(t.Context(), "ledger", ""))
		must(t, bus.Start(t.Context()))
		_, err = runtime.Publish(t.Context(), bus, clitest.OrderType, clitest.OrderPlaced{Number: 2, Email: "x@example.org"})
		must(t, err)
		must(t, bus.WaitIdle(t.Context()))

		if got := typed(t, "busgen status shop.db --fail-if unhandled>0", ""); got.Status != 0 {
			t.Errorf("before the bus has looked: %+v", got)
		}
		time.Sleep(11 * time.Second)
		const ledger, receipt = "ledger        order.placed             1  11 s ago  paused, no handler", "send-receipt  order.placed             1  11 s ago  no handler"
		got := typed(t, "busgen status shop.db --fail-if unhandled>1", "")
		if got.Status != cli.StatusNo || !strings.Contains(got.Stdout, ledger) || !strings.Contains(got.Stdout, receipt) ||
			strings.Count(got.Stdout, "no handler") != 2 || !strings.Contains(got.Stderr, "unhandled is 2 (--fail-if 'unhandled>1')") {
			t.Errorf("%d\n%s%s", got.Status, got.Stdout, got.Stderr)
		}
		got = typed(t, "busgen status shop.db --json --fail-if mail-receipt:unhandled>0", "")
		if got.Status != 0 || strings.Count(got.Stdout, `"unhandled": true`) != 2 {
			t.Errorf("%d\n%s%s", got.Status, got.Stdout, got.Stderr)
		}
		must(t, bus.Shutdown(t.Context()))
		if got := typed(t, "busgen status shop.db", ""); strings.Contains(got.Stdout, "no handler") {
			t.Errorf("without a process that dispatches:\n%s", got.Stdout)
		}
	})
}

func TestStatusShowsTypesWithoutASubscription(t *testing.T) {
	inFolder(t, nil)
	bus, err := runtime.Open(t.Context(), "shop.db", runtime.NewCatalogue(clitest.OrderType, clitest.PaymentType), quiet...)
	must(t, err)
	_, err = runtime.Subscribe(bus, clitest.PaymentType, "charge-card", func(context.Context, runtime.Event[clitest.PaymentRequested]) error { return nil })
	must(t, err)
	_, err = runtime.Publish(t.Context(), bus, clitest.OrderType, clitest.OrderPlaced{Number: 1, Email: "x@example.org"})
	must(t, err)
	_, err = runtime.Publish(t.Context(), bus, clitest.PaymentType, clitest.PaymentRequested{Order: 1, Cents: 1})
	must(t, err)
	must(t, bus.Shutdown(t.Context()))
	var lines []string
	for line := range strings.Lines(typed(t, "busgen status shop.db", "").Stdout) {
		if strings.Contains(line, "no subscription") {
			lines = append(lines, strings.Fields(line)[0])
		}
	}
	if len(lines) != 1 || lines[0] != "order.placed" {
		t.Errorf("without a subscription: %q", lines)
	}
	if got := typed(t, "busgen status shop.db --json", ""); strings.Count(got.Stdout, `"unrouted": true`) != 1 {
		t.Error(got.Stdout)
	}
}
