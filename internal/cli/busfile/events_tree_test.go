package busfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// cashier requests the payment of each order, at the second attempt.
func (s *shop) cashier() {
	s.t.Helper()
	_, err := runtime.Subscribe(s.Bus, clitest.OrderType, "cashier", func(ctx context.Context, e runtime.Event[clitest.OrderPlaced]) error {
		if e.Attempt == 1 {
			time.Sleep(time.Second)
			return errors.New("the till is locked")
		}
		_, err := runtime.Publish(ctx, s.Bus, clitest.PaymentType, clitest.PaymentRequested{Order: e.Payload.Number, Cents: poison})
		return err
	})
	must(s.t, err)
	_, err = runtime.Subscribe(s.Bus, clitest.PaymentType, "archive", func(context.Context, runtime.Event[clitest.PaymentRequested]) error { return nil })
	must(s.t, err)
	_, err = runtime.SubscribeDead(s.Bus, clitest.OrderType, "alarm", func(ctx context.Context, e runtime.Event[runtime.DeadLetter[clitest.OrderPlaced]]) error {
		return nil
	})
	must(s.t, err)
}

// An order whose receipt cannot be sent, whose payment is requested at the second
// attempt, and ends the process.
func (s *shop) troubledOrder() {
	s.t.Helper()
	s.dying = make(chan struct{}, 1)
	s.cashier()
	_, err := runtime.Publish(s.t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 7, Email: "customer7"})
	must(s.t, err)
	<-s.dying
	s.calm.Store(true) // before the next attempt, which begins with the program
	s.killed()
	s.cashier()
	time.Sleep(time.Minute)
}

var someID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}`)

func TestATreeOfAnOrderIsDrawn(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.troubledOrder()
		file, err := inspect.Open(t.Context(), "shop.db")
		must(t, err)
		defer file.Close()
		events, _, err := file.Events(t.Context(), event.Filter{}, event.Page{})
		must(t, err)
		payment, order := events[0], events[1]
		const want = `order.placed  ID  1 min ago
├─ cashier  done
│  ├─ failed attempt 1: error after 1 s: the till is locked
│  └─ payment.requested  ID  1 min ago
│     ├─ archive  done
│     └─ charge-card  done
│        └─ failed attempt 1: crash: the process ended while the handler was running
├─ ledger  done
└─ send-receipt  dead, permanent
   ├─ failed attempt 1: error after 0 ms: order 7: the mail server refuses "customer7"
   └─ $dead.order.placed  ID  1 min ago
      └─ alarm  done
`
		drawing := func(line string) string { return someID.ReplaceAllString(does(t, line), "ID") }
		if diff := cmp.Diff(want, drawing("busgen events tree shop.db "+order.ID.String()[:18])); diff != "" {
			t.Errorf("the tree (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, drawing("busgen events tree shop.db "+payment.ID.String()+" --root")); diff != "" {
			t.Errorf("with --root (-want +got):\n%s", diff)
		}
		const branch = `payment.requested  ID  1 min ago  {"order":7,"cents":666666666}
├─ archive  done
└─ charge-card  done
   └─ failed attempt 1: crash: the process ended while the handler was running
`
		if diff := cmp.Diff(branch, drawing("busgen events tree shop.db "+payment.ID.String()+" --payload")); diff != "" {
			t.Errorf("of the payment (-want +got):\n%s", diff)
		}
		t.Setenv("COLUMNS", "40")
		const narrow = `payment.requested  ID  …
├─ archive  done
└─ charge-card  done
   └─ failed attempt 1: crash: the proc…
`
		if diff := cmp.Diff(narrow, drawing("busgen events tree shop.db "+payment.ID.String())); diff != "" {
			t.Errorf("on a narrow terminal (-want +got):\n%s", diff)
		}
		var tree event.TreeNode
		must(t, json.Unmarshal([]byte(does(t, "busgen events tree shop.db "+order.ID.String()+" --json --max-payload 3")), &tree))
		if len(tree.Children) != 2 || tree.Children[0].ID != payment.ID && tree.Children[1].ID != payment.ID || string(tree.Payload) != `"(32 bytes, more than --max-payload)"` {
			t.Errorf("the JSON is %+v", tree)
		}
		if got := does(t, "busgen events list shop.db --json --child-of "+order.ID.String()+" --type payment.requested"); !regexp.MustCompile(
			fmt.Sprintf(`"correlation_id":"%s","parent_id":"%[1]s","published_by":"cashier","hops":1`, order.ID)).MatchString(got) {
			t.Errorf("the child is listed as %s", got)
		}
		if got := does(t, "busgen events show shop.db "+payment.ID.String()); !regexp.MustCompile(
			"\nParent +" + order.ID.String() + ", whose handler cashier has published it\n").MatchString(got) {
			t.Errorf("the child is shown as %s", got)
		}
	})
}
