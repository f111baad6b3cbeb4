package lint_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// messagesOf lints a catalogue of events, and returns what one rule says.
func messagesOf(t *testing.T, rule, source string) []string {
	t.Helper()
	var messages []string
	for _, f := range ofRule(found(t, header+source), rule) {
		messages = append(messages, f.Message)
	}
	return messages
}

func TestANameIsGenericIfNoWordOfItSaysSomething(t *testing.T) {
	generic := []string{"error", "event", "system.error", "system.events", "app.errors", "sys.unknown_error", "internal.error_happened", "app.main.error", "data"}
	fine := []string{
		"system.backup_finished", "system.disk_filled", "payment.error", "app.started", "system.updated", "chat.message", "user.event_joined",
		"error.reported", "data.exported", "warning.sent", "system.failed", "main.door_opened", "eventually.done",
	}
	for _, name := range append(generic, fine...) {
		got := messagesOf(t, "generic-name", "\nevents: { "+name+": {} }")
		if want := slices.Contains(generic, name); want != (len(got) > 0) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestTheResultingDelaysOfAPolicyAreChecked(t *testing.T) {
	const early, late = "before the second attempt", "is tried again after"
	for retry, want := range map[string]string{
		"base_delay: 100ms":                                          "",
		"base_delay: 5s":                                             "",
		"base_delay: 99ms":                                           late,
		"base_delay: 0s":                                             late,
		"base_delay: 6s":                                             early,
		"base_delay: 6s, max_attempts: 1":                            "",
		"base_delay: 1ms, backoff: none":                             "",
		"base_delay: 10s, backoff: linear":                           "",
		"base_delay: 1m, max_delay: 1m, backoff: constant":           "",
		"base_delay: 10ms, backoff: constant":                        late,
		"max_delay: 10m, max_attempts: 30":                           "",
		"max_delay: 11m, max_attempts: 30":                           "waits up to 11m between",
		"max_delay: 30d, max_attempts: 5":                            "", // the fifth comes after 8s
		"max_delay: 11m, max_attempts: 3, backoff: linear":           "",
		"base_delay: 1d, max_delay: 30d, backoff: constant":          "waits up to 24h between",
		"max_delay: 5s, max_attempts: 4":                             "",
		"max_delay: 5s, max_attempts: 5":                             "", // one wait of five seconds for eight
		"max_delay: 5s, max_attempts: 8":                             "has 4 waits cut to 5s",
		"max_delay: 10s, max_attempts: 100":                          "",
		"max_delay: 2s, max_attempts: 100, backoff: none":            "",
		"max_delay: 2s, max_attempts: 9, backoff: constant":          "",
		"max_delay: 2s, max_attempts: 9, multiplier: 1":              "",
		"base_delay: 200ms, max_delay: 400ms, max_attempts: 3":       "",
		"base_delay: 1s, max_delay: 9s, backoff: linear":             "",
		"max_delay: 9s, backoff: linear, max_attempts: 20":           "has 10 waits cut to 9s",
		"base_delay: 700ms, max_delay: 900ms, max_attempts: 3":       "",
		"base_delay: 700ms, max_delay: 10m, max_attempts: 1000":      "",
		"base_delay: 700ms, max_delay: 10m1s, max_attempts: 1000":    "waits up to 10m1s between",
		"base_delay: 5s, multiplier: 1000, max_delay: 10m":           "",
		"base_delay: 5s, multiplier: 1000, max_delay: 2d":            "waits up to 2d between",
		"base_delay: 100ms, max_delay: 30d, max_attempts: 12":        "",
		"base_delay: 100ms, max_delay: 9s, max_attempts: 7":          "",
		"base_delay: 100ms, max_delay: 9s, max_attempts: 12":         "has 4 waits cut to 9s",
		"base_delay: 100ms, max_delay: 9s, max_retries: 8":           "",
		"base_delay: 99ms, max_delay: 20m, max_attempts: 1":          "",
		"base_delay: 99ms, max_delay: 20m, backoff: none":            "",
		"base_delay: 0s, max_delay: 0s, max_attempts: 2":             late,
		"base_delay: 1s, max_delay: 1s, max_attempts: 4, jitter: .2": "has 2 waits cut to 1s",
	} {
		retry = strings.Replace(retry, ": .2", ": 0.2", 1)
		got := messagesOf(t, "retry-delays", "\nevents: { order.placed: { retry: { "+retry+" } } }")
		if len(got) > 1 || want == "" && len(got) > 0 || want != "" && (len(got) == 0 || !strings.Contains(got[0], want)) {
			t.Errorf("%s: %q, want %q", retry, got, want)
		}
	}
}

func TestEventsOfAFlowShareAField(t *testing.T) {
	for source, want := range map[string][]string{
		"a.done: { payload: { x_id: uuid } }, a.made: { payload: { x_id: uuid } }, a.sent: { payload: { x_id: uuid } }, a.lost: { payload: { y: int } }": {
			"event a.lost has no x_id, the field that connects the other events of a.*",
		},
		// Two are no rule yet, and another namespace is another flow.
		"a.done: { payload: { x_id: uuid } }, a.made: { payload: { x_id: uuid } }, a.lost: { payload: { y: int } }":                                       nil,
		"a.done: { payload: { x_id: uuid } }, a.made: { payload: { x_id: uuid } }, a.sent: { payload: { x_id: uuid } }, b.lost: { payload: { y: int } }":  nil,
		"a.done: { payload: { x_id: uuid } }, a.made: { payload: { x_id: uuid } }, a.sent: { payload: { x_id: uuid } }, a.lost: {}, a.cut: {}, a.dug: {}": nil,
		// It belongs to the flow in another way.
		"a.done: { payload: { x_id: uuid } }, a.made: { payload: { x_id: uuid } }, a.sent: { payload: { x_id: uuid } }, a.lost: { partition_by: y, payload: { y: int } }": nil,
		"a.done: { payload: { x_id: uuid } }, a.made: { payload: { x_id: uuid } }, a.sent: { payload: { x_id: uuid } }, a.lost: { payload: { correlation_id: uuid } }":    nil,
		"a.done: { payload: { x_id: uuid } }, a.made: { payload: { x_id: uuid } }, a.sent: { payload: { x_id: uuid } }, a.lost: { deprecated: yes, payload: { y: int } }": nil,
		// A start and an end.
		"job.started: { payload: { at: time } }, job.failed: { payload: { why: string } }": {
			"event job.failed has no field in common with job.started, so it cannot be matched with its start",
		},
		"a.backup_started: { payload: { at: time } }, a.backup_finished: { payload: { at: time } }": {
			"event a.backup_finished has no field in common with a.backup_started, so it cannot be matched with its start",
		},
		"job.started: { payload: { job: int } }, job.failed: { payload: { job: int, why: string } }":        nil,
		"job.started: {}, job.failed: { payload: { why: string } }":                                         nil,
		"system.started: { payload: { v: int } }, system.failed: { payload: { why: string } }":              nil,
		"a.backup_started: { payload: { at: time } }, a.restore_finished: { payload: { at: time } }":        nil,
		"a.job.started: { payload: { at: time } }, b.job.finished: { payload: { why: string } }":            nil,
		"started: { payload: { at: time } }, finished: { payload: { why: string } }":                        nil,
		"job.started: { partition_by: x, payload: { x: int } }, job.failed: { payload: { why: string } }":   nil,
		"job.started: { payload: { at: time } }, job.failed: { partition_by: x, payload: { x: string } }":   nil,
		"job.started: { payload: { at: time } }, job.failed: { payload: { trace_id: string } }":             nil,
		"order.placed: { payload: { at: time } }, order.paid: { payload: { x: int } }, order.cancelled: {}": nil,
	} {
		if diff := cmp.Diff(want, messagesOf(t, "flow-correlation", "\nevents: { "+source+" }")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", source, diff)
		}
	}
}

func TestOneBudgetIsReportedOnceInALargeCatalogue(t *testing.T) {
	events := func(namespaces ...string) string {
		var all []string
		for _, namespace := range namespaces {
			for _, what := range []string{"done", "made", "sent", "lost"} {
				all = append(all, namespace+"."+what+": {}")
			}
		}
		return "\nevents: { " + strings.Join(all, ", ") + " }"
	}
	const said = "all 12 event types have one retry budget: 4 attempts"
	for source, want := range map[string][]string{
		events("a", "b", "c"):       {said},
		events("a", "b"):            nil,
		events("a.x", "a.y", "a.z"): nil, // one team, one thing
		strings.Replace(events("a", "b", "c"), "c.lost: {}", "c.lost: { retry: { max_attempts: 2 } }", 1):                       nil,
		strings.Replace(events("a", "b", "c"), "c.lost: {}", "c.lost: { subscriptions: { x: { retry: { jitter: 0.5 } } } }", 1): nil,
		strings.Replace(events("a", "b", "c"), "c.lost: {}", "c.lost: { errors: { gone: permanent } }", 1):                      nil,
		strings.Replace(events("a", "b", "c"), "c.lost: {}", "c.lost: { timeout: 1m }", 1):                                      {said},
		events("a", "b", "c") + "\ndefaults: { timeout: 1m, retry: { max_retries: 3, jitter: 0.1 } }":                           {said},
		events("a", "b", "c") + "\nlint: { one-budget: { except: [a.*] } }":                                                     nil,
		events("a", "b", "c") + "\npolicies: { c.*: { retry: { max_attempts: 4 } } }":                                           {said},
	} {
		if diff := cmp.Diff(want, messagesOf(t, "one-budget", source)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", source, diff)
		}
	}
}

func TestTheHintOfAFieldIsYAML(t *testing.T) {
	for text, want := range map[string]string{
		"int": "write it as { type: int, doc: … }", "[]int": `write it as { type: "[]int", doc: … }`,
		"int?": `write it as { type: "int?", doc: … }`, "map[string]int": `write it as { type: "map[string]int", doc: … }`,
	} {
		all := ofRule(found(t, header+"\nevents: { a.done: { payload: { x: \""+text+"\" } } }"), "field-doc")
		if len(all) != 1 || all[0].Hint != want {
			t.Errorf("%s: %q", text, lines(all))
		}
	}
}
