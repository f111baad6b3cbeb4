package runtime

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// HandlingInfo describes an attempt that is about to begin; see [Observer].Handling.
type HandlingInfo struct {
	// AttemptInfo is that of the event, in a batch of its first event. Started is zero if the
	// event becomes a dead letter without a call of its handler.
	AttemptInfo
	// Batch says that the handler is given several events at once ([SubscribeBatch]), or one
	// in place of several.
	Batch   bool
	attempt any // a *dispatch.Attempt; nil for one that does not come from a bus
}

// Events returns the events of the attempt: one, or those of the batch. Events that cannot be
// decoded, which the handler is not given, are among them.
func (i HandlingInfo) Events() iter.Seq[HandledEvent] {
	return func(yield func(HandledEvent) bool) {
		attempt, _ := i.attempt.(*dispatch.Attempt)
		if attempt == nil {
			return
		}
		if !attempt.Whole() {
			yield(HandledEvent{Info: i.AttemptInfo, attempt: attempt})
			return
		}
		for _, a := range attempt.Batch().Begun() {
			info := i.AttemptInfo
			info.ID, info.Type, info.PublishedAt, info.Attempt, info.MaxAttempts = a.ID, a.Type, a.CreatedAt, a.Number, a.Max()
			if !yield(HandledEvent{Info: info, attempt: a}) {
				return
			}
		}
	}
}

// Size returns how many events there are.
func (i HandlingInfo) Size() int {
	attempt, _ := i.attempt.(*dispatch.Attempt)
	switch {
	case attempt == nil:
		return 0
	case attempt.Whole():
		return len(attempt.Batch().Begun())
	}
	return 1
}

// HandledEvent is an event of an attempt that is about to begin.
type HandledEvent struct {
	Info    AttemptInfo
	attempt any // a *dispatch.Attempt
}

// Metadata returns the metadata of the event, without the bus's own keys; nil without. Each
// call decodes it anew.
func (e HandledEvent) Metadata() map[string]string {
	var event head
	setLineage(&event, e.attempt.(*dispatch.Attempt).Metadata)
	return event.Metadata
}

// CorrelationID is that of [Event].
func (e HandledEvent) CorrelationID() string {
	return engine.LineageIn(metadataOf(e.attempt.(*dispatch.Attempt).Metadata)).CorrelationID
}

// Replayed is that of [Event].
func (e HandledEvent) Replayed() bool { return e.attempt.(*dispatch.Attempt).Replayed }

// Handling is what an observer leaves with an attempt; see [Observer].Handling. All of it is
// optional.
type Handling struct {
	// Context is what middleware and the handler are given: the context that the observer was
	// given, with values. One that does not come from that is not used.
	Context context.Context
	// Logged are attributes of all that the bus logs about the attempt, and of
	// [Logger].
	Logged []slog.Attr
	// Ended is called when it is decided what comes of the attempt, after the other functions
	// of the observer and before the file knows it; in a batch once for each event, and then
	// once more with Batch. If the handler has outlived its deadline, that is before it has
	// returned. Context has ended by then.
	Ended func(EndedInfo)
}

// AttemptOutcome says what comes of an attempt.
type AttemptOutcome string

// The outcomes of attempts.
const (
	OutcomeHandled   AttemptOutcome = "handled"   // the handler has succeeded
	OutcomeRetried   AttemptOutcome = "retried"   // it has failed, and there will be another attempt
	OutcomeDead      AttemptOutcome = "dead"      // the delivery becomes a dead letter, or an ephemeral one is dropped
	OutcomeSnoozed   AttemptOutcome = "snoozed"   // put off by [Snooze]
	OutcomeDiscarded AttemptOutcome = "discarded" // settled by [Discard], or because it was cancelled or its answer is not needed
	OutcomeReleased  AttemptOutcome = "released"  // put back, and not counted: by a shutdown, or because its transaction could not be stored
)

// EndedInfo says what comes of an attempt.
type EndedInfo struct {
	AttemptInfo
	Outcome AttemptOutcome
	Kind    string    // of a failure, as in [FailedInfo]; else empty
	Error   string    // of a failure, or of what made it a dead letter, as the log shows it: without the values of sensitive fields; else empty
	Reason  string    // of a dead letter, as in [DeadInfo], or given to [Discard]; else empty
	Due     time.Time // of the next attempt, if it is known; else zero
	// Batch says that the batch is over, and what became of it. Then the fields above are
	// those of its first event, without an Outcome.
	Batch *BatchInfo
}

// watching is what the observers have left with an attempt.
type watching struct {
	dispatch.Watched
	info  AttemptInfo
	ended []endedFunc
	last  atomic.Pointer[EndedInfo] // a failure of which it is not known yet what comes of it; nil for none
	over  atomic.Bool
}

// endedFunc is what an observer has left.
type endedFunc struct {
	of   int // the observer
	call func(EndedInfo)
}

// handles says whether any observer is to be asked before a handler is called.
func (o *observers) handles() bool {
	return slices.ContainsFunc(o.all, func(one Observer) bool { return one.Handling != nil })
}

// watch asks the observers what they leave with an attempt that is about to begin.
func (c *counter) watch(a *dispatch.Attempt) {
	c.askObservers(a, HandlingInfo{AttemptInfo: c.info(a, a.Started(), 0), Batch: a.Batch() != nil, attempt: a})
}

// watchUntried is watch for a delivery that becomes a dead letter without a call of its
// handler. There is no context that the bus does not hold.
func (c *counter) watchUntried(a *dispatch.Attempt) {
	if c.bus.observers.handles() {
		c.askObservers(nil, HandlingInfo{AttemptInfo: c.info(a, time.Time{}, 0), Batch: a.Batch() != nil, attempt: a})
	}
}

func (c *counter) askObservers(attempt *dispatch.Attempt, info HandlingInfo) {
	ctx, o := context.Background(), &c.bus.observers
	if attempt != nil {
		ctx = attempt
	}
	var w *watching
	for i := range o.all {
		f := o.all[i].Handling
		if f == nil {
			continue
		}
		var left Handling
		usable := false
		o.guarded(fault{i, "Handling"}, func() {
			left = f(ctx, info)
			// Without its attempt a handler would publish and wait as if it was none.
			usable = left.Context != nil && attempt != nil && dispatch.FromContext(left.Context) == attempt
		})
		if !usable && left.Ended == nil && len(left.Logged) == 0 {
			continue
		}
		if w == nil {
			w = &watching{info: info.AttemptInfo}
		}
		if usable {
			ctx = left.Context
			w.Context = ctx
		}
		for _, attr := range left.Logged {
			w.Logged = append(w.Logged, attr)
		}
		if left.Ended != nil {
			w.ended = append(w.ended, endedFunc{i, left.Ended})
		}
	}
	if w != nil {
		w.Of, w.Released = w, func() { w.release(o) }
		info.attempt.(*dispatch.Attempt).Watch(&w.Watched)
	}
}

// ended tells the observers what comes of an attempt.
func (c *counter) ended(a *dispatch.Attempt, end EndedInfo) {
	watched := a.Watched()
	if watched == nil {
		return
	}
	w := watched.Of.(*watching)
	if a.Batch() == nil && !w.over.CompareAndSwap(false, true) {
		return
	}
	if end.Outcome == OutcomeRetried || end.Outcome == OutcomeSnoozed {
		if reason, cancelled := a.Cancelled(); cancelled {
			end.Outcome, end.Reason, end.Due = OutcomeDiscarded, reason, time.Time{}
		}
	}
	end.Error, end.Reason = c.bus.shown(a.Delivery, end.Error), c.bus.shown(a.Delivery, end.Reason)
	w.tell(&c.bus.observers, end)
}

// failedLast keeps how an attempt has failed that is not tried again: a dead letter follows,
// unless the delivery was cancelled meanwhile.
func (c *counter) failedLast(a *dispatch.Attempt, end EndedInfo) {
	if watched := a.Watched(); watched != nil && a.Batch() == nil {
		end.Error = c.bus.shown(a.Delivery, end.Error)
		watched.Of.(*watching).last.Store(&end)
	}
}

// endedBatch tells them that a batch is over.
func (c *counter) endedBatch(whole *dispatch.Attempt, info BatchInfo) {
	watched := whole.Watched()
	if watched == nil {
		return
	}
	if w := watched.Of.(*watching); w.over.CompareAndSwap(false, true) {
		end := EndedInfo{AttemptInfo: w.info, Batch: &info}
		end.Took = info.Took
		w.tell(&c.bus.observers, end)
	}
}

// release tells them of an attempt of which nothing was counted, when its handler has
// returned.
func (w *watching) release(o *observers) {
	if !w.over.CompareAndSwap(false, true) {
		return
	}
	if last := w.last.Load(); last != nil {
		w.tell(o, *last)
		return
	}
	end := EndedInfo{AttemptInfo: w.info, Outcome: OutcomeReleased}
	end.Took = time.Since(end.Started)
	w.tell(o, end)
}

func (w *watching) tell(o *observers, end EndedInfo) {
	for _, f := range w.ended {
		o.guarded(fault{f.of, "Handling.Ended"}, func() { f.call(end) })
	}
}
