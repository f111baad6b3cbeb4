package observe

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/busgen/busgen/runtime/internal/observed"
)

// HandlingInfo describes an attempt that is about to begin; see [Observer].Handling.
type HandlingInfo struct {
	// AttemptInfo is that of the event, in a batch of its first event. Started is zero if the
	// event becomes a dead letter without a call of its handler.
	AttemptInfo
	// Batch says that the handler is given several events at once (runtime.SubscribeBatch), or one
	// in place of several.
	Batch   bool
	attempt any // an observed.Attempt, which programs that name this type do not compile; nil for one that does not come from a bus
}

// NewHandlingInfo is for a bus only: attempt is an observed.Attempt, whose package is internal.
func NewHandlingInfo(about AttemptInfo, batch bool, attempt any) HandlingInfo {
	return HandlingInfo{AttemptInfo: about, Batch: batch, attempt: attempt}
}

// Events returns the events of the attempt: one, or those of the batch. Events that cannot be
// decoded, which the handler is not given, are among them.
func (i HandlingInfo) Events() iter.Seq[HandledEvent] {
	return func(yield func(HandledEvent) bool) {
		attempt, _ := i.attempt.(observed.Attempt)
		if attempt == nil {
			return
		}
		for one := range attempt.Events() {
			info, is := i.AttemptInfo, one.Identity()
			info.ID, info.Type, info.PublishedAt, info.Attempt, info.MaxAttempts = is.ID, is.Type, is.PublishedAt, is.Attempt, is.MaxAttempts
			if !yield(HandledEvent{Info: info, event: one}) {
				return
			}
		}
	}
}

// Size returns how many events there are.
func (i HandlingInfo) Size() int {
	attempt, _ := i.attempt.(observed.Attempt)
	if attempt == nil {
		return 0
	}
	return attempt.Size()
}

// HandledEvent is an event of an attempt that is about to begin.
type HandledEvent struct {
	Info  AttemptInfo
	event any // an observed.Event
}

// Metadata returns the metadata of the event, without the bus's own keys; nil without. Each
// call decodes it anew.
func (e HandledEvent) Metadata() map[string]string { return e.event.(observed.Event).Metadata() }

// CorrelationID is that of runtime.Event.
func (e HandledEvent) CorrelationID() string { return e.event.(observed.Event).CorrelationID() }

// Replayed is that of runtime.Event.
func (e HandledEvent) Replayed() bool { return e.event.(observed.Event).Replayed() }

// Handling is what an observer leaves with an attempt; see [Observer].Handling. All of it is
// optional.
type Handling struct {
	// Context is what middleware and the handler are given: the context that the observer was
	// given, with values. One that does not come from that is not used.
	Context context.Context
	// Logged are attributes of all that the bus logs about the attempt, and of
	// runtime.Logger.
	Logged []slog.Attr
	// Ended is called when it is decided what comes of the attempt, after the other functions
	// of the observer and before the file knows it; in a batch once for each event, and then
	// once more with Batch. If the handler has outlived its deadline, that is before it has
	// returned. Context has ended by then.
	Ended func(EndedInfo)
	// Step is called before a step of the handler is done (package step), with the context of that. It returns the
	// context for the step, nil for the same, and what is called when the step has ended, nil for nothing. It is not called
	// for a step whose result is in the file. Steps may be done at the same time.
	Step func(context.Context, StepInfo) (context.Context, func(StepEnd))
}

// StepInfo describes a step that is about to be done.
type StepInfo struct {
	Name string
	Kind string // do, tx, sleep, await or undo
}

// StepEnd says how a step has ended.
type StepEnd struct {
	// Stored is the kind of what was stored: that of the step; of an await also event, if that was there, or none, if no
	// event has come in time; lost if the result could not be stored. Empty if nothing was stored.
	Stored string
	Error  string // as the log shows it: without the values of sensitive fields; empty if it has not failed
}

// AttemptOutcome says what comes of an attempt.
type AttemptOutcome string

// The outcomes of attempts.
const (
	OutcomeHandled   AttemptOutcome = "handled"   // the handler has succeeded
	OutcomeRetried   AttemptOutcome = "retried"   // it has failed, and there will be another attempt
	OutcomeDead      AttemptOutcome = "dead"      // the delivery becomes a dead letter, or an ephemeral one is dropped
	OutcomeSnoozed   AttemptOutcome = "snoozed"   // put off by runtime.Snooze
	OutcomeSuspended AttemptOutcome = "suspended" // the handler waits in a step, of package step
	OutcomeDiscarded AttemptOutcome = "discarded" // settled by runtime.Discard, or because it was cancelled or its answer is not needed
	OutcomeReleased  AttemptOutcome = "released"  // put back, and not counted: by a shutdown, or because its transaction could not be stored
)

// EndedInfo says what comes of an attempt.
type EndedInfo struct {
	AttemptInfo
	Outcome AttemptOutcome
	Kind    string    // of a failure, as in [FailedInfo]; else empty
	Error   string    // of a failure, or of what made it a dead letter, as the log shows it: without the values of sensitive fields; else empty
	Reason  string    // of a dead letter, as in [DeadInfo], or given to runtime.Discard; else empty
	Due     time.Time // of the next attempt, if it is known; else zero
	// Batch says that the batch is over, and what became of it. Then the fields above are
	// those of its first event, without an Outcome.
	Batch *BatchInfo
}
