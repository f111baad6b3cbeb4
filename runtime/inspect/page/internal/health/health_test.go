package health

import (
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/event"
)

func TestTheSentenceAboutHandlersLeftBehindHasTheRightNumber(t *testing.T) {
	for n, want := range map[int]string{
		1: "1 handler has ignored its deadline and was left behind.",
		3: "3 handlers have ignored their deadlines and were left behind.",
	} {
		status := event.Status{At: time.Now(), Owner: &event.Owner{Alive: true}, Running: make([]event.Running, n)}
		for i := range status.Running {
			status.Running[i].Abandoned = true
		}
		if got := sentences(Of(status)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAFullDiskIsTheFirstThingThatIsWrong(t *testing.T) {
	h := Of(event.Status{At: time.Now(), Owner: &event.Owner{Alive: true}, DeadLetters: 1, Unwritable: "disk full"})
	const want = "Nothing can be stored: disk full. 1 dead letter is to be looked at."
	if got := sentences(h); h.Level != "bad" || got != want {
		t.Errorf("%s: %q", h.Level, got)
	}
}

func TestWhatIsWrongComesBeforeRemarks(t *testing.T) {
	h := Of(event.Status{At: time.Now(), Breakers: []event.Breaker{
		{Subscription: "ledger", State: "open", Failures: 4, Deliveries: 5},
	}})
	if len(h.Items) != 2 || h.Items[0].Level != "bad" || h.Items[1].Level != "warn" {
		t.Errorf("%+v", h.Items)
	}
}

func TestThePageSaysWhatStandsStillSinceWhenAndWhoHasIt(t *testing.T) {
	now := time.Now()
	for want, one := range map[string]event.Stalled{
		"process 4711 on web-2 has parts 3 and 7, and does not answer": {PID: 4711, Host: "web-2", Parts: []int{3, 7}},
		"process 4711 has it, and can store or read nothing":           {PID: 4711, Idle: true},
		"no process has part 3":                                        {Parts: []int{3}},
		"no process has parts 1 to 3":                                  {Parts: []int{1, 2, 3}},
		"no process has parts 1 to 3, 7 and 9":                         {Parts: []int{1, 2, 3, 7, 9}},
		"no process has parts 1, 3, 4 and 9":                           {Parts: []int{1, 3, 4, 9}},
	} {
		one.Since = now.Add(-3 * time.Hour)
		status := event.Status{At: now, Owner: &event.Owner{Alive: true}, Subscriptions: []event.SubscriptionState{
			{Name: "orders", Stalled: []event.Stalled{one}},
		}}
		if h := Of(status); h.Level != "bad" || sentences(h) != "orders stands still for 3 h: "+want+"." {
			t.Errorf("%s: %q, want %q", h.Level, sentences(h), want)
		}
	}
}

func sentences(h Health) string {
	var all []string
	for _, item := range h.Items {
		all = append(all, item.Text)
	}
	return strings.Join(all, " ")
}
