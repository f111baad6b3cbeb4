package runtime

import (
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/guard"
)

// observers are those of a bus.
type observers struct {
	all     []Observer
	logger  *slog.Logger
	faults  sync.Map      // fault → nothing: panics that were logged
	news    chan func()   // what serve is to tell
	served  chan struct{} // closed when serve is through; nil before it
	pausing sync.Mutex
	paused  []engine.Pause // as last told; guarded by pausing
}

// newsLimit is how much news may wait for observers that are slow.
const newsLimit = 256

func newObservers(all []Observer, logger *slog.Logger) observers {
	return observers{all: all, logger: logger, news: make(chan func(), newsLimit)}
}

// any says whether there is anyone to tell.
func (o *observers) any() bool { return len(o.all) > 0 }

// told is one of the functions of an observer.
type told[T any] struct {
	name string
	of   func(*Observer) func(T)
}

var (
	toPublished = told[PublishedInfo]{"Published", func(o *Observer) func(PublishedInfo) { return o.Published }}
	toHandled   = told[HandledInfo]{"Handled", func(o *Observer) func(HandledInfo) { return o.Handled }}
	toFailed    = told[FailedInfo]{"Failed", func(o *Observer) func(FailedInfo) { return o.Failed }}
	toRetrying  = told[RetryingInfo]{"Retrying", func(o *Observer) func(RetryingInfo) { return o.Retrying }}
	toDead      = told[DeadInfo]{"Dead", func(o *Observer) func(DeadInfo) { return o.Dead }}
	toDiscarded = told[DiscardedInfo]{"Discarded", func(o *Observer) func(DiscardedInfo) { return o.Discarded }}
	toSnoozed   = told[SnoozedInfo]{"Snoozed", func(o *Observer) func(SnoozedInfo) { return o.Snoozed }}
	toSlow      = told[SlowInfo]{"Slow", func(o *Observer) func(SlowInfo) { return o.Slow }}
	toBreaker   = told[BreakerInfo]{"BreakerChanged", func(o *Observer) func(BreakerInfo) { return o.BreakerChanged }}
	toPaused    = told[Pause]{"Paused", func(o *Observer) func(Pause) { return o.Paused }}
	toResumed   = told[Pause]{"Resumed", func(o *Observer) func(Pause) { return o.Resumed }}
	toHealth    = told[HealthCheck]{"HealthChanged", func(o *Observer) func(HealthCheck) { return o.HealthChanged }}
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

// guarded calls a function of an observer. If it panics nobody notices but the
// log, once.
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

// later has the goroutine of serve tell about a change, which is found out under
// locks that an observer might need. If observers are so slow that too much
// waits, they are not told; the log says so.
func later[T any](o *observers, to told[T], info T) {
	if !slices.ContainsFunc(o.all, func(one Observer) bool { return to.of(&one) != nil }) {
		return
	}
	select {
	case o.news <- func() { tell(o, to, info) }:
	default:
		o.logger.Warn("observers do not keep up; they are not told of a change", "function", to.name)
	}
}

// publishedInfo is what observers are told about a stored event.
func publishedInfo(r *engine.Record) PublishedInfo {
	return PublishedInfo{ID: r.ID, Type: r.Type, Due: r.Due, Duplicate: r.Duplicate}
}

// breakerChanged tells of a breaker that opens, tries or closes.
func (o *observers) breakerChanged(s *Subscription, old, now breaker.Status) {
	later(o, toBreaker, BreakerInfo{Subscription: s.name, Group: s.config.group, Old: old, New: now})
}

// pausesChanged is called by the log with what is paused now.
func (b *Bus) pausesChanged(now []engine.Pause) {
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

// serve tells the news on a goroutine of its own, until ctx ends.
func (o *observers) serve(ctx context.Context) {
	o.served = make(chan struct{})
	go func() {
		defer close(o.served)
		for {
			select {
			case tell := <-o.news:
				tell()
			case <-ctx.Done():
				o.drain()
				return
			}
		}
	}()
}

// drain tells what is left.
func (o *observers) drain() {
	for {
		select {
		case tell := <-o.news:
			tell()
		default:
			return
		}
	}
}

// wait waits until everything is told or ctx ends. It comes after the end of
// serve's context.
func (o *observers) wait(ctx context.Context) {
	if o.served == nil {
		return
	}
	select {
	case <-o.served:
	case <-ctx.Done():
	}
}
