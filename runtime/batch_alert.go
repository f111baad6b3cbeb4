package runtime

import (
	"sync/atomic"

	"github.com/busgen/busgen/runtime/observe"
)

// batchAlarm is what a subscription knows of its batches that have failed. An alert is
// given for the first batch of critical events that fails as a whole, and then not until
// a batch has handled something: one outage is one alert.
type batchAlarm struct {
	given    atomic.Bool
	critical atomic.Pointer[string] // the last error of a critical event; nil if a batch has handled something since
}

// failed notes that an event of a batch has failed.
func (m *batchAlarm) failed(critical bool, text string) {
	if critical {
		m.critical.Store(&text)
	}
}

// alertBatch gives an alert if all of a batch has failed, and it had critical events.
func (s *innerSubscription) alertBatch(info observe.BatchInfo) {
	m := &s.batches.alarm
	if info.Done > 0 {
		m.given.Store(false)
		m.critical.Store(nil)
		return
	}
	if info.Failed < info.Size && !info.TimedOut {
		return
	}
	text := m.critical.Load()
	if text == nil && s.bus.catalogue.Lookup(s.pattern).Priority() != PriorityCritical || m.given.Swap(true) {
		return
	}
	alert := observe.AlertInfo{
		AttemptInfo: observe.AttemptInfo{Type: info.Type, Subscription: info.Subscription, Started: info.Started, Took: info.Took},
		Reason:      "batch", Batch: &info,
	}
	if text != nil {
		alert.LastError = *text
	}
	s.bus.config.logger.Error("a batch of critical events has failed as a whole", "subscription_id", info.Subscription, "event_type", info.Type,
		"events", info.Size, "timed_out", info.TimedOut, "error", alert.LastError, "alert", "critical")
	later(&s.bus.observers, toAlert, alert)
}
