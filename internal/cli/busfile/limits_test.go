package busfile

import (
	"slices"
	"testing"

	"github.com/busgen/busgen/internal/standing"
	"github.com/busgen/busgen/runtime/event"
)

func TestALimitHasALineForWhoWaitsAndForWhoHoldsIt(t *testing.T) {
	running := []event.Running{
		{Subscription: "send-mail", Worker: 1, Limits: []event.Place{{Limit: "mail", Key: "acme"}, {Limit: "disk"}}},
		{Subscription: "send-mail", Worker: 2, Limits: []event.Place{{Limit: "mail", Key: "globex"}}},
		{Subscription: "archive", Worker: 3, Limits: []event.Place{{Limit: "disk"}}},
		{Subscription: "print", Worker: 4},
	}
	var got []string
	for _, l := range standing.Waitlists([]event.Waitlist{
		{Subscription: "send-mail", Kind: event.WaitlistLimit, Limit: "mail", Key: "acme", Waiting: 12_000},
		{Subscription: "send-mail", Kind: event.WaitlistKey, Key: "acme", Waiting: 3},
	}, running) {
		line := waitlistKind(l.Waitlist) + " " + l.Key + ":"
		for _, r := range l.HeldBy {
			line += " " + r.Subscription
		}
		got = append(got, line)
	}
	want := []string{"limit mail acme: send-mail", "partition key acme:", "limit disk : send-mail archive", "limit mail globex: send-mail"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
