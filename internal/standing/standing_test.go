package standing_test

import (
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/standing"
	"github.com/busgen/busgen/runtime/event"
)

var now = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// A line has what is special about a bus, and what is said first of its subscription mailer.
func TestTheFirstSentenceSaysWhyASubscriptionStandsStill(t *testing.T) {
	alive := &event.Owner{PID: 7, Since: ago(time.Hour), Alive: true}
	waits := event.SubscriptionState{Name: "mailer", Pattern: "order.placed mail.*", Backlog: 1200, Oldest: ago(10 * time.Minute)}
	for _, one := range []struct {
		change func(b *event.Status, s *event.SubscriptionState)
		level  string
		want   string
	}{
		{func(*event.Status, *event.SubscriptionState) {}, standing.Good, "It goes on: 1,200 events are to be handled, the oldest from 10 min ago."},
		{func(_ *event.Status, s *event.SubscriptionState) { s.Backlog = 0 }, standing.Good, "It has handled everything."},
		{func(b *event.Status, _ *event.SubscriptionState) { b.Unwritable = event.DiskFull }, standing.Bad, "Nothing can be stored: disk full."},
		{func(b *event.Status, _ *event.SubscriptionState) { b.Owner = nil }, standing.Bad, "No process has ever dispatched from this bus."},
		{func(b *event.Status, _ *event.SubscriptionState) {
			b.Owner = &event.Owner{PID: 7, Since: ago(time.Hour)}
		}, standing.Bad, "No process dispatches: process 7, which started 1 h ago, has ended."},
		{func(b *event.Status, s *event.SubscriptionState) { b.Owner, s.Backlog = &event.Owner{PID: 7}, 0 }, standing.Good, "No process dispatches, and there is nothing to handle."},
		{func(b *event.Status, _ *event.SubscriptionState) { b.CrashLoop = true }, standing.Bad, "The last process ended within 10 seconds of its start"},
		{func(b *event.Status, _ *event.SubscriptionState) {
			b.Pauses = []event.PauseState{{Subscription: "mailer", Since: ago(3 * time.Minute), Actor: "bob@desk", Reason: "the provider is down."}}
		}, standing.Warn, "It has been paused for 3 min by bob@desk: the provider is down."},
		{func(_ *event.Status, s *event.SubscriptionState) { s.Unhandled = true }, standing.Bad, "No process has a handler for it:"},
		{func(_ *event.Status, s *event.SubscriptionState) {
			s.Stalled = []event.Stalled{{Since: ago(time.Minute), PID: 9}}
		}, standing.Bad, "It has stood still for 1 min: process 9 has it, and does not answer."},
		{func(b *event.Status, _ *event.SubscriptionState) {
			b.Breakers = []event.Breaker{{Subscription: "mailer", State: "open", Since: ago(20 * time.Second), Until: now.Add(10 * time.Second), Failures: 6, Deliveries: 8}}
		}, standing.Bad, "Its circuit breaker has been open for 20 s: 6 of 8 deliveries failed. It tries the next one in 10 s."},
		{func(b *event.Status, _ *event.SubscriptionState) {
			for _, key := range []string{"a", "b", "c", "d"} {
				b.Breakers = append(b.Breakers, event.Breaker{Subscription: "mailer", Key: key, State: "open"})
			}
			b.Breakers[3].More = 5
		}, standing.Warn, "9 circuit breakers of keys are not closed: a, b, c and 6 more."},
		{func(b *event.Status, _ *event.SubscriptionState) {
			b.Pauses = []event.PauseState{{Types: "mail.*", Since: ago(time.Minute)}}
		}, standing.Warn, "Events of type mail.* have been paused for 1 min."},
		{func(b *event.Status, _ *event.SubscriptionState) {
			b.Pauses = []event.PauseState{{Subscription: "mailer", Key: "acme", Since: ago(time.Minute)}}
		}, standing.Warn, "The deliveries of key acme have been paused for 1 min."},
		{func(b *event.Status, _ *event.SubscriptionState) {
			b.Waitlists = []event.Waitlist{{Subscription: "mailer", Kind: event.WaitlistLimit, Limit: "mail", Key: "acme", Waiting: 12_000, Since: ago(time.Hour)}}
		}, standing.Warn, "12,000 deliveries wait for limit mail of acme, the first from 1 h ago."},
		{func(_ *event.Status, s *event.SubscriptionState) {
			s.Newer = []event.Newer{{Type: "order.placed", Version: 3, Events: 2, Since: ago(time.Hour)}}
		}, standing.Warn, "2 events have waited for a program that knows version 3 of order.placed, for 1 h."},
		{func(b *event.Status, _ *event.SubscriptionState) {
			b.Running = []event.Running{{Subscription: "mailer", Started: ago(time.Hour), Abandoned: true}}
		}, standing.Bad, "1 handler has ignored its deadline and was left behind"},
		{func(_ *event.Status, s *event.SubscriptionState) { s.Saturated = true }, standing.Bad, "Its handlers are busy all the time while its backlog grows"},
		{func(b *event.Status, _ *event.SubscriptionState) {
			b.Running = []event.Running{{Subscription: "mailer", Started: ago(time.Minute)}}
		}, standing.Good, "1 handler has run for more than a second, the longest for 1 min."},
		{func(_ *event.Status, s *event.SubscriptionState) {
			s.Waiting, s.Later, s.NextDue = 3, 3, now.Add(time.Minute)
		}, standing.Good, "3 deliveries wait for a retry, a delay or a snooze, the first is due in 1 min."},
		{func(_ *event.Status, s *event.SubscriptionState) {
			s.Waiting, s.Later, s.NextDue = 3, 1, now.Add(2*time.Hour)
		}, standing.Warn, "2 deliveries wait behind an earlier one of a strict order, which comes again in 2 h."},
		{func(b *event.Status, _ *event.SubscriptionState) {
			b.Running = []event.Running{{Subscription: "newsletter", Started: ago(time.Minute), Limits: []event.Place{{Limit: "mail"}}}}
		}, standing.Warn, "1,200 events are to be handled, the oldest from 10 min ago. If it uses limit mail, it waits for newsletter, whose handler has held that for 1 min."},
	} {
		bus, own := event.Status{At: now, Owner: alive}, waits
		one.change(&bus, &own)
		// What is about others says nothing.
		bus.Subscriptions = []event.SubscriptionState{{Name: "other", Unhandled: true}, own}
		bus.Pauses = append(bus.Pauses, event.PauseState{Subscription: "other"}, event.PauseState{Types: "payment.*"})
		bus.Breakers = append(bus.Breakers, event.Breaker{Subscription: "other", State: "open"})
		bus.Waitlists = append(bus.Waitlists, event.Waitlist{Subscription: "other", Waiting: 1})
		bus.Running = append(bus.Running, event.Running{Subscription: "other", Abandoned: true})
		reasons, known := standing.Of(bus, "mailer")
		if !known || reasons[0].Level != one.level || !strings.HasPrefix(reasons[0].Text, one.want) {
			t.Errorf("got %+v, want %s: %s", reasons, one.level, one.want)
		}
		if len(reasons) > 1 && one.level != standing.Bad && own.Later == own.Waiting {
			t.Errorf("more is said than one thing: %+v", reasons)
		}
	}
	if _, known := standing.Of(event.Status{}, "mailer"); known {
		t.Error("it knows a subscription that is not there")
	}
}
