package busfile

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/event"
)

// findsNothing runs a command that finds nothing, and says so.
func findsNothing(t *testing.T, command, says string) {
	t.Helper()
	if got := typed(t, command, ""); got.Status != 3 || got.Stdout != "" || !strings.Contains(got.Stderr, says) {
		t.Errorf("%s: %+v, want %q", command, got, says)
	}
}

func TestAnOpenBreakerIsShownAndClosed(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		if got := does(t, "busgen breakers list shop.db"); got != "No circuit breaker is open.\n" {
			t.Errorf("got %s", got)
		}
		findsNothing(t, "busgen breakers close shop.db charge-card", "there is no open circuit breaker of charge-card")
		s.breakDown()
		if got := does(t, "busgen status shop.db"); !strings.Contains(got, "Open: circuit breaker of charge-card, since 2026-03-14 02:42:03 UTC (2 s ago), next try in 28 s: "+
			"order 34: dial tcp 10.0.0.7:443: connection refused") {
			t.Errorf("the status is\n%s", got)
		}
		var one event.Breaker
		must(t, json.Unmarshal([]byte(does(t, "busgen breakers list shop.db --json")), &one))
		if one.Subscription != "charge-card" || one.State != "open" || one.Failures != 4 || one.Until.Sub(one.Since) != 30*time.Second {
			t.Errorf("its JSON is %+v", one)
		}
		if got := typed(t, `busgen __complete breakers close shop.db ""`, "").Stdout; !strings.HasPrefix(got, "charge-card\n:") {
			t.Errorf("completed is %q", got)
		}
		findsNothing(t, "busgen breakers close shop.db charge-crad", "did you mean charge-card?")
		s.down.Store(false)
		if got := does(t, "busgen breakers close shop.db charge-card --actor ada --json"); got != "{\n  \"closed\": \"charge-card\"\n}\n" {
			t.Errorf("got %s", got)
		}
		if got := query(t, "shop.db", "SELECT actor, action, subscription FROM busgen_audit"); got != "ada|close breaker|charge-card\n" {
			t.Errorf("the audit is %s", got)
		}
		must(t, s.WaitIdle(t.Context()))
		if n := s.paid.Load(); n != 5 {
			t.Errorf("%d of 5 payments were made", n)
		}
		must(t, s.Shutdown(t.Context()))
		findsNothing(t, "busgen breakers close shop.db charge-card", "no process dispatches from this bus")
	})
}

func TestAHandlerThatHangsIsShown(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		if got := does(t, "busgen running list shop.db"); got != "No handler has been at work for more than a second.\n" {
			t.Errorf("got %s", got)
		}
		s.pay(1, hanging+300)
		s.pay(2, hanging+25)
		time.Sleep(45 * time.Second)
		if got := does(t, "busgen status shop.db"); !strings.Contains(got, "2 handlers at work for more than a second, 1 of them left behind at the deadline: busgen running list /") {
			t.Errorf("the status is\n%s", got)
		}
		var first event.Running
		line, _, _ := strings.Cut(does(t, "busgen running list shop.db --json"), "\n")
		must(t, json.Unmarshal([]byte(line), &first))
		if !first.Abandoned || first.Subscription != "charge-card" || first.Deadline.Sub(first.Started) != 30*time.Second {
			t.Errorf("its JSON is %s", line)
		}
		if got := does(t, "busgen events show shop.db "+first.Event.String()); !strings.Contains(got, "charge-card is at work with it, attempt 1, worker 0, "+
			"since 2026-03-14 02:40:00 UTC (45 s ago); its deadline is 2026-03-14 02:40:30 UTC (15 s ago): left behind\n") {
			t.Errorf("the event is\n%s", got)
		}
		time.Sleep(5 * time.Minute)
	})
}
