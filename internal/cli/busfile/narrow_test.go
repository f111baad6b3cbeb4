package busfile

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// longName is the name of a subscription that takes most of a line.
const longName = "write-the-order-into-the-warehouse-of-the-partner-in-another-country"

func TestATerminalShowsWhatIsWrongFirstAndEveryNameWhole(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.order(5, "customer5", 100) // is dead at once
		time.Sleep(time.Second)      // and paid
		must(t, s.Shutdown(t.Context()))
		s.open()
		_, err := runtime.Subscribe(s.Bus, clitest.OrderType, longName, func(context.Context, runtime.Event[clitest.OrderPlaced]) error { return nil })
		must(t, err)
		s.breakDown()
		does(t, "busgen subscriptions pause shop.db "+longName+" --actor ada --because 'the warehouse counts what it has, until Monday'")
		time.Sleep(time.Second)
		s.order(6, "customer6@example.org", 100)
		t.Setenv("COLUMNS", "80")
		got := does(t, "busgen status shop.db --watch --count 2")
		inOrder(t, got, "shop.db: ", "Open: circuit breaker of charge-card", "Paused: subscription\n  "+longName, "1 dead letter", "busgen dlq groups /",
			"\nSUBSCRIPTION", "\ncharge-card", "\n"+longName+"\n   ", "\nsend-receipt", "\nledger", "\nProcess ", "events, the oldest", "\nTYPE ", "every 1s", "Open: ")
		for _, command := range []string{"status", "dlq list", "dlq groups", "subscriptions list", "events list", "breakers list", "running list", "audit list"} {
			got := does(t, "busgen "+command+" shop.db")
			for line := range strings.Lines(got) {
				if n := terminal.Width(strings.TrimSuffix(line, "\n")); n > 80 && !strings.HasPrefix(line, "  busgen ") {
					t.Errorf("%s: %d columns: %s", command, n, line)
				}
			}
			for _, cut := range []string{"charge-c…", "send-rec…", "order.pl…", "payment.req…", longName[:12] + "…"} {
				if strings.Contains(got, cut) {
					t.Errorf("%s cuts a name:\n%s", command, got)
				}
			}
		}
	})
}

// inOrder checks that the texts are there, one after the other.
func inOrder(t *testing.T, got string, texts ...string) {
	t.Helper()
	rest := got
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Errorf("%q is not there, or not behind what comes before it:\n%s", text, got)
			return
		}
		rest = after
	}
}

func TestAStatusSaysFirstThatNothingCanBeStored(t *testing.T) {
	c := &call{path: "/srv/shop.db", now: night, screen: terminal.Screen{Width: 80}}
	status := event.Status{At: night, Path: "shop.db", Unwritable: event.DiskFull, DeadLetters: 2, Owner: &event.Owner{PID: 7, Since: night}}
	inOrder(t, c.statusText(status), "shop.db: 0 B", "\nNothing can be stored: disk full. Free some space: the bus goes on by itself.\n",
		"No process dispatches from it.", "2 dead letters:\n  busgen dlq groups /srv/shop.db\n\nThere are no events in it.\n")
	for field, want := range map[string]string{"unwritable>0": "unwritable is 1", "unwritable=0": ""} {
		one, err := parseThreshold(field)
		must(t, err)
		if got := one.exceeded(status, night); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q", field, got)
		}
	}
}

func TestWhatIsDeadIsAboveWhatIsDone(t *testing.T) {
	c := &call{now: night}
	inOrder(t, c.deliveryTable([]event.DeliveryState{
		{Subscription: "a", State: event.StateDone}, {Subscription: "b", State: event.StateWaiting}, {Subscription: "c", State: event.StateDead},
	}), "\nc ", "\nb ", "\na ")
}
