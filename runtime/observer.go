package runtime

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/background"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/guard"
	"github.com/busgen/busgen/runtime/observe"
)

// WithObserver adds an observer. Several observers are called in the order of their
// options.
func WithObserver(o observe.Observer) Option {
	return func(c *config) error {
		if isEmpty(&o) {
			return errors.New("WithObserver: none of the functions is set")
		}
		c.observers = append(c.observers, o)
		return nil
	}
}

func isEmpty(o *observe.Observer) bool {
	return o.Published == nil && o.Publishing == nil && o.Handling == nil && o.Started == nil && o.Alert == nil && o.Handled == nil && o.Failed == nil && o.Retrying == nil && o.Dead == nil &&
		o.Discarded == nil && o.Snoozed == nil && o.Slow == nil && o.SlowEvent == nil && o.Batch == nil && o.BreakerChanged == nil &&
		o.Paused == nil && o.Resumed == nil && o.HealthChanged == nil
}

// observers calls the observers of a bus.
type observers struct {
	all     []observe.Observer
	logger  *slog.Logger
	faults  sync.Map         // fault → nothing: panics that were logged
	changes background.Queue // calls that may take their time
	pausing sync.Mutex
	paused  []engine.Pause // as last told; guarded by pausing
}

// changesLimit is how many changes may wait for observers that are slow.
const changesLimit = 256

func newObservers(all []observe.Observer, logger *slog.Logger) observers {
	return observers{all: all, logger: logger, changes: background.NewQueue(changesLimit)}
}

// starts says whether anyone is to be told that attempts start.
func (o *observers) starts() bool {
	return slices.ContainsFunc(o.all, func(one observe.Observer) bool { return one.Started != nil })
}

// any says whether there is anyone to tell.
func (o *observers) any() bool { return len(o.all) > 0 }

// told names a function of an observer, and finds it.
type told[T any] struct {
	name string
	of   func(*observe.Observer) func(T)
}

var (
	toPublished = told[observe.PublishedInfo]{"Published", func(o *observe.Observer) func(observe.PublishedInfo) { return o.Published }}
	toStarted   = told[observe.AttemptInfo]{"Started", func(o *observe.Observer) func(observe.AttemptInfo) { return o.Started }}
	toAlert     = told[observe.AlertInfo]{"Alert", func(o *observe.Observer) func(observe.AlertInfo) { return o.Alert }}
	toHandled   = told[observe.HandledInfo]{"Handled", func(o *observe.Observer) func(observe.HandledInfo) { return o.Handled }}
	toFailed    = told[observe.FailedInfo]{"Failed", func(o *observe.Observer) func(observe.FailedInfo) { return o.Failed }}
	toRetrying  = told[observe.RetryingInfo]{"Retrying", func(o *observe.Observer) func(observe.RetryingInfo) { return o.Retrying }}
	toDead      = told[observe.DeadInfo]{"Dead", func(o *observe.Observer) func(observe.DeadInfo) { return o.Dead }}
	toDiscarded = told[observe.DiscardedInfo]{"Discarded", func(o *observe.Observer) func(observe.DiscardedInfo) { return o.Discarded }}
	toSnoozed   = told[observe.SnoozedInfo]{"Snoozed", func(o *observe.Observer) func(observe.SnoozedInfo) { return o.Snoozed }}
	toSlow      = told[observe.SlowInfo]{"Slow", func(o *observe.Observer) func(observe.SlowInfo) { return o.Slow }}
	toSlowEvent = told[observe.SlowEventInfo]{"SlowEvent", func(o *observe.Observer) func(observe.SlowEventInfo) { return o.SlowEvent }}
	toBatch     = told[observe.BatchInfo]{"Batch", func(o *observe.Observer) func(observe.BatchInfo) { return o.Batch }}
	toBreaker   = told[observe.BreakerInfo]{"BreakerChanged", func(o *observe.Observer) func(observe.BreakerInfo) { return o.BreakerChanged }}
	toPaused    = told[event.Pause]{"Paused", func(o *observe.Observer) func(event.Pause) { return o.Paused }}
	toResumed   = told[event.Pause]{"Resumed", func(o *observe.Observer) func(event.Pause) { return o.Resumed }}
	toHealth    = told[observe.HealthCheck]{"HealthChanged", func(o *observe.Observer) func(observe.HealthCheck) { return o.HealthChanged }}
)

// tell calls one function of every observer that has it.
func tell[T any](o *observers, to told[T], info T) {
	for i := range o.all {
		if f := to.of(&o.all[i]); f != nil {
			o.guarded(fault{i, to.name}, func() { f(info) })
		}
	}
}

// fault is a function of an observer that has panicked.
type fault struct {
	observer int
	function string
}

// guarded calls a function of an observer. A panic is logged, once for each function, and
// changes nothing else.
func (o *observers) guarded(at fault, call func()) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if _, logged := o.faults.LoadOrStore(at, nil); !logged {
			o.logger.Error("an observer has panicked; this is logged once for each of its functions",
				"function", at.function, "panic", guard.PanicText(cause), "stack", string(debug.Stack()))
		}
	}()
	call()
}

// later reports a change on a goroutine of its own, because the bus notices it while it
// holds locks that an observer might need. If too many changes wait for slow observers
// it drops this one and logs that.
func later[T any](o *observers, to told[T], info T) {
	if !slices.ContainsFunc(o.all, func(one observe.Observer) bool { return to.of(&one) != nil }) {
		return
	}
	if !o.changes.Offer(func() { tell(o, to, info) }) {
		o.logger.Warn("the observer is too slow; it misses a change", "function", to.name)
	}
}

// publishedInfo describes a stored event to observers.
func publishedInfo(r *engine.Record) observe.PublishedInfo {
	return observe.PublishedInfo{ID: r.ID, Type: r.Type, Due: r.Due, Duplicate: r.Duplicate}
}

// breakerChanged tells of a breaker that opens, tries or closes.
func (o *observers) breakerChanged(s *innerSubscription, key string, old, now breaker.Status) {
	later(o, toBreaker, observe.BreakerInfo{Subscription: s.name, Group: s.config.group, Key: key, Ephemeral: s.config.ephemeral, Old: old, New: now})
}

// pausesChanged is called by the log with what is paused now.
func (b *innerBus) pausesChanged(now []engine.Pause) {
	b.pausing.set(now)
	b.observers.pausesChanged(now)
}

// pausesChanged tells of what is not among those told before, and of what no
// longer is.
func (o *observers) pausesChanged(now []engine.Pause) {
	o.pausing.Lock()
	defer o.pausing.Unlock()
	for _, p := range o.paused {
		if !slices.Contains(now, p) {
			later(o, toResumed, publicPause(p))
		}
	}
	for _, p := range now {
		if !slices.Contains(o.paused, p) {
			later(o, toPaused, publicPause(p))
		}
	}
	o.paused = now
}

// publishEnded is what an observer has left.
type publishEnded struct {
	of   int // the observer
	call func(observe.PublishEnd)
}

// begin asks the observers what they leave with the call.
func (b *batch) begin(ctx context.Context) {
	o := &b.bus.observers
	for i := range o.all {
		f := o.all[i].Publishing
		if f == nil {
			continue
		}
		info := observe.PublishingInfo{Type: b.typ, Size: len(b.records), Metadata: b.config.metadata, Due: b.config.due, Staged: b.staged()}
		if b.attempt != nil {
			info.ParentID = b.attempt.ID
		}
		var left observe.Publishing
		o.guarded(fault{i, "Publishing"}, func() { left = f(ctx, info) })
		if len(left.Metadata) > 0 {
			b.config.metadata = b.config.with(left.Metadata)
		}
		if left.Ended != nil {
			b.ended = append(b.ended, publishEnded{i, left.Ended})
		}
	}
}

// with returns the metadata of the caller with what observers add, which replaces nothing
// and is not the bus's own.
func (c *publishConfig) with(added map[string]string) map[string]string {
	all := make(map[string]string, len(c.metadata)+len(added))
	for key, value := range added {
		if !slices.Contains(engine.OwnKeys(), key) {
			all[key] = value
		}
	}
	maps.Copy(all, c.metadata)
	return all
}

// encodeMetadata returns the metadata of the events of the call, as it is stored.
func (b *batch) encodeMetadata() (metadata []byte, err error) {
	given := b.config.own.Put(b.config.metadata)
	metadata, err = encodeMetadata(b.bus, b.of, given, len(b.bus.config.publishing) == 0)
	if err == nil && b.attempt != nil {
		metadata, err = b.bus.childMetadata(b.attempt, b.typ, given)
	}
	return metadata, err
}

// over tells the observers that the call has ended, and returns its error.
func (b *batch) over(err error) error {
	if b.ended == nil {
		return err
	}
	end := observe.PublishEnd{Err: err}
	if err == nil {
		end.ID = b.records[0].ID
		for i := range b.records {
			if b.records[i].Duplicate {
				end.Duplicates++
			}
		}
	}
	for _, f := range b.ended {
		b.bus.observers.guarded(fault{f.of, "Publishing.Ended"}, func() { f.call(end) })
	}
	return err
}
