package observe

import (
	"errors"
	"fmt"
	"time"

	"github.com/busgen/busgen/runtime/event"
)

// Health says when a bus is not well. The zero Health is not valid; start from
// [DefaultHealth]. A threshold is exceeded by more than its value. Shares are of what
// happened within Window, over all subscriptions of the bus.
type Health struct {
	// Off switches the checks off.
	Off bool
	// RetryRate is the share of attempts that failed and are tried again. 0 to 1,
	// where 1 is never exceeded.
	RetryRate float64
	// DeadLetters is how many dead letters there may be in the file.
	DeadLetters int
	// TimeoutRate is the share of attempts that outlived their deadline. 0 to 1.
	TimeoutRate float64
	// DuplicateRate is the share of published events that were duplicates by
	// their dedupe key. 0 to 1.
	DuplicateRate float64
	// Unhandled is how many subscriptions there may be that have pending events and
	// no handler in this program.
	Unhandled int
	// UnknownTypes is how many event types may be published that are not in the
	// catalogue and that no subscription is for.
	UnknownTypes int
	// Saturated is how many subscriptions there may be whose handlers are busy all the time
	// while their backlog grows, for a minute. See docs/flow.md.
	Saturated int
	// Window is for how long something counts. It slides in steps of Every, or
	// of a 60th where that is longer. At most 24h.
	Window time.Duration
	// MinSamples is how many attempts, or published events, must be in the window
	// before a share of them is looked at.
	MinSamples int
	// Every is how often the bus evaluates the checks. From 1s to Window.
	Every time.Duration
}

// DefaultHealth returns the thresholds of a bus that sets none: 10 % retries,
// 100 dead letters, 5 % timeouts and 20 % duplicates, of at least 20 samples
// within 5 minutes, no unhandled subscription, no unknown type and no saturated subscription, evaluated every 10
// seconds.
func DefaultHealth() Health {
	return Health{
		RetryRate: 0.10, DeadLetters: 100, TimeoutRate: 0.05, DuplicateRate: 0.20,
		Window: 5 * time.Minute, MinSamples: 20, Every: 10 * time.Second,
	}
}

// Validate returns nil for thresholds that can be watched, and otherwise every
// problem in one error.
func (h Health) Validate() error {
	var problems []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	isShare := func(name string, v float64) {
		require(v >= 0 && v <= 1, "%s is %v: it must be between 0 and 1", name, v)
	}
	isShare("RetryRate", h.RetryRate)
	isShare("TimeoutRate", h.TimeoutRate)
	isShare("DuplicateRate", h.DuplicateRate)
	require(h.DeadLetters >= 0, "DeadLetters is %d: it must not be negative", h.DeadLetters)
	require(h.Unhandled >= 0, "Unhandled is %d: it must not be negative", h.Unhandled)
	require(h.UnknownTypes >= 0, "UnknownTypes is %d: it must not be negative", h.UnknownTypes)
	require(h.Saturated >= 0, "Saturated is %d: it must not be negative", h.Saturated)
	require(h.MinSamples >= 1, "MinSamples is %d: it must be at least 1", h.MinSamples)
	require(h.Every >= time.Second, "Every is %v: it must be at least 1s", h.Every)
	require(h.Window >= h.Every && h.Window <= 24*time.Hour, "Window is %v: it must be between Every, %v, and 24h", h.Window, h.Every)
	return errors.Join(problems...)
}

// The names of health checks.
const (
	CheckRetries      = "retries"
	CheckDeadLetters  = "dead_letters"
	CheckTimeouts     = "timeouts"
	CheckDuplicates   = "duplicates"
	CheckUnhandled    = "unhandled"
	CheckUnknownTypes = "unknown_types"
	CheckSaturated    = "saturated"
	// CheckStalled counts subscriptions that have stopped within the window although they had events to handle, and those
	// of this program that stand still because of the process that has them, or a part of them: see Status of
	// package inspect. Since is since when they do.
	CheckStalled = "stalled"
	CheckNewer   = "newer_versions" // events held because a newer program has published them; for longer than an hour
	// CheckUnwritable says that nothing can be stored: the last write has failed, and so does another one now. Mostly
	// is the [event.Fault], and Since is when the first write failed; the threshold is 0.
	CheckUnwritable = "unwritable"
	CheckHeld       = "held_up" // transactions of DB that keep all others from writing for more than 5 s; the threshold is 0
	// CheckOutbox says for how many seconds events have been waiting in the outbox of this bus, or this could not be
	// looked into, which Mostly says then; more than 10. Only a bus with an outbox has it (package postgres).
	CheckOutbox = "outbox"
)

// HealthCheck is the result of one check: a value, and whether it exceeds its threshold.
type HealthCheck struct {
	Name      string    `json:"name"`     // one of the Check constants
	Exceeded  bool      `json:"exceeded"` // Value is above Threshold, of enough samples
	Value     float64   `json:"value"`    // a share of Samples, or how many there are; of newer_versions: for how many hours, of outbox: seconds
	Threshold float64   `json:"threshold"`
	Samples   uint64    `json:"samples,omitempty"` // attempts or published events in the window; of newer_versions: held events
	Mostly    string    `json:"mostly,omitempty"`  // the event type with most of them; the subscription with most dead letters, the oldest pending event or the largest backlog; the line that has begun the transaction; the type and version that was held first; the fault
	Since     time.Time `json:"since,omitzero"`    // when Exceeded last changed
}

// HealthStatus is the result of all checks when the bus last evaluated them.
type HealthStatus struct {
	Healthy bool          `json:"healthy"`     // no threshold is exceeded, as far as the bus has looked; it has not stopped, and is in no crash loop
	At      time.Time     `json:"at,omitzero"` // when the bus looked; zero before the first time
	Checks  []HealthCheck `json:"checks"`      // empty if the bus does not look: before Start, and with health checks switched off
	// Stopped says why the bus has stopped dispatching by itself: its file was moved,
	// deleted or replaced, or another process has taken over.
	Stopped string `json:"stopped,omitempty"`
	// CrashLoop says until when deliveries wait that another crash would make dead letters: the
	// last process ended within 10 seconds of its start, while handlers were running. The bus
	// is not healthy meanwhile. Zero for no such time.
	CrashLoop time.Time `json:"crash_loop,omitzero"`
	// Newer are events of versions that this program does not know, of all subscriptions, the oldest
	// first. For an hour the bus is healthy with them: a deploy is under way.
	Newer []event.Newer `json:"newer,omitempty"`
}
