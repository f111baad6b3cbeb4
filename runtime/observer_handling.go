package runtime

import (
	"context"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/observed"
	"github.com/busgen/busgen/runtime/observe"
)

// observedAttempt is an attempt as observers see it.
type observedAttempt struct{ *dispatch.Attempt }

// Size implements [observed.Attempt].
func (o observedAttempt) Size() int {
	if o.Whole() {
		return len(o.Batch().Begun())
	}
	return 1
}

// Events implements [observed.Attempt].
func (o observedAttempt) Events() iter.Seq[observed.Event] {
	return func(yield func(observed.Event) bool) {
		if !o.Whole() {
			yield(observedEvent{o.Attempt})
			return
		}
		for _, a := range o.Batch().Begun() {
			if !yield(observedEvent{a}) {
				return
			}
		}
	}
}

// observedEvent is an event of an attempt as observers see it.
type observedEvent struct{ of *dispatch.Attempt }

// Identity implements [observed.Event].
func (o observedEvent) Identity() observed.Identity {
	return observed.Identity{ID: o.of.ID, Type: o.of.Type, PublishedAt: o.of.CreatedAt, Attempt: o.of.Number, MaxAttempts: o.of.Max()}
}

// Metadata implements [observed.Event].
func (o observedEvent) Metadata() map[string]string {
	var h Head
	setLineage(&h, o.of.Metadata)
	return h.Metadata
}

// CorrelationID implements [observed.Event].
func (o observedEvent) CorrelationID() string {
	return engine.LineageIn(metadataOf(o.of.Metadata)).CorrelationID
}

// Replayed implements [observed.Event].
func (o observedEvent) Replayed() bool { return o.of.Replayed }

// watching is what the observers have left with an attempt.
type watching struct {
	dispatch.Watched
	info  observe.AttemptInfo
	ended []endedFunc
	steps []stepFunc
	last  atomic.Pointer[observe.EndedInfo] // a failure of which it is not known yet what comes of it; nil for none
	over  atomic.Bool
}

// endedFunc is what an observer has left.
type endedFunc struct {
	of   int // the observer
	call func(observe.EndedInfo)
}

// stepFunc is what an observer has left for the steps of the handler.
type stepFunc struct {
	of   int
	call func(context.Context, observe.StepInfo) (context.Context, func(observe.StepEnd))
}

// handles says whether any observer is to be asked before a handler is called.
func (o *observers) handles() bool {
	return slices.ContainsFunc(o.all, func(one observe.Observer) bool { return one.Handling != nil })
}

// watch asks the observers what they leave with an attempt that is about to begin.
func (c *counter) watch(a *dispatch.Attempt) {
	c.askObservers(a, a, a.Started())
}

// watchUntried is watch for a delivery that becomes a dead letter without a call of its
// handler. There is no context that the bus does not hold.
func (c *counter) watchUntried(a *dispatch.Attempt) {
	if c.bus.observers.handles() {
		c.askObservers(a, nil, time.Time{})
	}
}

// askObservers asks about an attempt, with its context if it has one that observers may have.
func (c *counter) askObservers(a, attempt *dispatch.Attempt, started time.Time) {
	info := observe.NewHandlingInfo(c.info(a, started, 0), a.Batch() != nil, observedAttempt{a})
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
		var left observe.Handling
		usable := false
		o.guarded(fault{i, "Handling"}, func() {
			left = f(ctx, info)
			// Without its attempt a handler would publish and wait as if it was none.
			usable = left.Context != nil && attempt != nil && dispatch.FromContext(left.Context) == attempt
		})
		if !usable && left.Ended == nil && left.Step == nil && len(left.Logged) == 0 {
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
		if left.Step != nil {
			w.steps = append(w.steps, stepFunc{i, left.Step})
		}
	}
	if w != nil {
		w.Of, w.Released = w, func() { w.release(o) }
		if len(w.steps) > 0 {
			w.Step = func(ctx context.Context, name string, kind engine.StepKind) (context.Context, func(engine.StepKind, error)) {
				return c.step(a, w, ctx, observe.StepInfo{Name: name, Kind: string(kind)})
			}
		}
		a.Watch(&w.Watched)
	}
}

// step asks the observers what they leave with a step that is about to be done.
func (c *counter) step(a *dispatch.Attempt, w *watching, ctx context.Context, info observe.StepInfo) (context.Context, func(engine.StepKind, error)) {
	o, ended := &c.bus.observers, make([]func(observe.StepEnd), len(w.steps))
	for i, f := range w.steps {
		o.guarded(fault{f.of, "Handling.Step"}, func() {
			var within context.Context
			if within, ended[i] = f.call(ctx, info); within != nil && dispatch.FromContext(within) == dispatch.FromContext(ctx) {
				ctx = within
			}
		})
	}
	return ctx, func(stored engine.StepKind, err error) {
		end := observe.StepEnd{Stored: string(stored)}
		if err != nil {
			end.Error = c.bus.shown(a.Delivery, err.Error())
		} else if stored == "" {
			end.Error = "it has not returned"
		}
		for i, f := range w.steps {
			if ended[i] != nil {
				o.guarded(fault{f.of, "Handling.Step"}, func() { ended[i](end) })
			}
		}
	}
}

// ended tells the observers what comes of an attempt.
func (c *counter) ended(a *dispatch.Attempt, end observe.EndedInfo) {
	watched := a.Watched()
	if watched == nil {
		return
	}
	w := watched.Of.(*watching)
	if a.Batch() == nil && !w.over.CompareAndSwap(false, true) {
		return
	}
	if end.Outcome == observe.OutcomeRetried || end.Outcome == observe.OutcomeSnoozed {
		if reason, cancelled := a.Cancelled(); cancelled {
			end.Outcome, end.Reason, end.Due = observe.OutcomeDiscarded, reason, time.Time{}
		}
	}
	end.Error, end.Reason = c.bus.shown(a.Delivery, end.Error), c.bus.shown(a.Delivery, end.Reason)
	w.tell(&c.bus.observers, end)
}

// failedLast keeps how an attempt has failed that is not tried again: a dead letter follows,
// unless the delivery was cancelled meanwhile.
func (c *counter) failedLast(a *dispatch.Attempt, end observe.EndedInfo) {
	if watched := a.Watched(); watched != nil && a.Batch() == nil {
		end.Error = c.bus.shown(a.Delivery, end.Error)
		watched.Of.(*watching).last.Store(&end)
	}
}

// endedBatch tells them that a batch is over.
func (c *counter) endedBatch(whole *dispatch.Attempt, info observe.BatchInfo) {
	watched := whole.Watched()
	if watched == nil {
		return
	}
	if w := watched.Of.(*watching); w.over.CompareAndSwap(false, true) {
		end := observe.EndedInfo{AttemptInfo: w.info, Batch: &info}
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
	end := observe.EndedInfo{AttemptInfo: w.info, Outcome: observe.OutcomeReleased}
	end.Took = time.Since(end.Started)
	w.tell(o, end)
}

func (w *watching) tell(o *observers, end observe.EndedInfo) {
	for _, f := range w.ended {
		o.guarded(fault{f.of, "Handling.Ended"}, func() { f.call(end) })
	}
}
