package lint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBatchesAreCheckedWhereASubscriptionSetsThem(t *testing.T) {
	for source, want := range map[string][]string{
		"a.b: { expires_after: 10s, subscriptions: { x: { batch: { wait: 10s } } } }":               {"subscription x of event a.b waits 10s for a batch to fill, and its events expire after 10s"},
		"a.b: { expires_after: 10s, subscriptions: { x: { batch: { wait: 9s } } } }":                nil,
		"a.b: { expires_after: 10s, subscriptions: { x: { batch: { size: 1, wait: 1m } } } }":       nil, // it is full at once
		"a.b: { subscriptions: { x: { batch: { wait: 1h } } } }":                                    nil,
		"a.b: { expires_after: 10s, batch: { wait: 1m }, subscriptions: { x: {} } }":                nil, // perhaps it handles one event at a time
		"a.b: { expires_after: 10s, batch: { wait: 1m } }":                                          nil,
		"a.b: { subscriptions: { x: { expires_after: 1s, batch: { size: 9, wait: 2s } }, y: {} } }": {"subscription x of event a.b waits 2s for a batch to fill, and its events expire after 1s"},
	} {
		if diff := cmp.Diff(want, messagesOf(t, "batch-beyond-expiry", "\nevents: { "+source+" }")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", source, diff)
		}
	}
	for source, want := range map[string][]string{
		"a.b: { retry: { max_attempts: 1 }, subscriptions: { x: { batch: { size: 9 } }, y: {} } }": {"subscription x of event a.b has batches and one attempt, so an event that fails its batch makes dead letters of the others"},
		"a.b: { retry: { max_attempts: 2 }, subscriptions: { x: { batch: { size: 9 } } } }":        nil,
		"a.b: { retry: { max_attempts: 1 }, subscriptions: { x: { batch: { size: 1 } } } }":        nil,
		"a.b: { retry: { max_attempts: 1 }, batch: { size: 9 }, subscriptions: { x: {} } }":        nil,
	} {
		if diff := cmp.Diff(want, messagesOf(t, "batch-one-attempt", "\nevents: { "+source+" }")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", source, diff)
		}
	}
}

func TestASchedulePublishesAnEventThatSomebodyHandles(t *testing.T) {
	const schedules = "\nschedules: { nightly: { event: a.b, cron: '@daily' }, often: { event: a.c, every: 1m } }"
	got := messagesOf(t, "schedule-unhandled", "\nevents: { a.b: {}, a.c: { subscriptions: { x: {} } } }"+schedules)
	if diff := cmp.Diff([]string{"schedule nightly publishes event a.b, for which no subscription is declared"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = messagesOf(t, "deprecated-subscribed", "\nevents: { a.b: { deprecated: use a.c }, a.c: {} }"+schedules)
	if diff := cmp.Diff([]string{"schedule nightly publishes event a.b, which is deprecated"}, got); diff != "" {
		t.Errorf("of a deprecated event (-want +got):\n%s", diff)
	}
}
