package dispatch

import (
	"context"
	"sync/atomic"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// extras is what few attempts have. There is an attempt for each delivery, and most handlers just return: so the
// memory for all of this is made when a part of it is needed for the first time.
type extras struct {
	journal atomic.Pointer[journal]
	watched atomic.Pointer[Watched]
	steps   atomic.Pointer[steps]
	turn    atomic.Pointer[turn] // of its transaction; nil before it waits for one
	loan    *loan                // that goes on; guarded by the mu of the places
	failed  error                // see Failed
	settled chan struct{}        // closed when the disposition is settled; nil if that was at once
	commits atomic.Bool          // the stash has functions for Commit

	// These are guarded by the attempt's mu.
	real         realContext   // made when someone asks for more than the deadline
	interruption *interruption // nil unless something of it is needed
	reports      []func()      // to observers
	disposition  engine.Disposition
	leaving      bool // the worker is left behind soon, unless it has returned by then
}

// extras returns the extras of the attempt, made if need be. Whoever only looks loads extra instead.
func (a *Attempt) extras() *extras {
	if x := a.extra.Load(); x != nil {
		return x
	}
	a.extra.CompareAndSwap(nil, new(extras)) // or another goroutine of the handler is first
	return a.extra.Load()
}

// Failed returns what the handler has returned, once it has failed; nil if its methods panic.
func (a *Attempt) Failed() error {
	if x := a.extra.Load(); x != nil {
		return x.failed
	}
	return nil
}

// loaned returns the loan of the attempt that goes on, or nil. The caller holds the mu of the places.
func (a *Attempt) loaned() *loan {
	if x := a.extra.Load(); x != nil {
		return x.loan
	}
	return nil
}

// waited returns what replaces the limit of the attempt since its transaction has waited, or nil.
func (a *Attempt) waited() *turn {
	if x := a.extra.Load(); x != nil {
		return x.turn.Load()
	}
	return nil
}

// Watched is what observers have left with an attempt before its handler was called. It
// does not change any more.
type Watched struct {
	Context  context.Context // what the handler is given: the attempt, and values; nil for the attempt itself
	Logged   []any           // attributes of every log line about the attempt
	Released func()          // called when the handler has returned, whatever came of the attempt
	Of       any             // more of it, for who has made it
	// Step is called before a step is done, and what it returns when that has ended: stored is empty if nothing was. Nil
	// for nothing.
	Step func(ctx context.Context, name string, kind engine.StepKind) (within context.Context, ended func(stored engine.StepKind, err error))
}

// Watch keeps what observers have left. It is called before the handler is.
func (a *Attempt) Watch(w *Watched) { a.extras().watched.Store(w) }

// watchedItself returns what observers have left with the attempt itself; nil for nothing.
func (a *Attempt) watchedItself() *Watched {
	if x := a.extra.Load(); x != nil {
		return x.watched.Load()
	}
	return nil
}

// Watched returns what observers have left with the attempt or, if it is part of a batch,
// with the batch; nil for nothing.
func (a *Attempt) Watched() *Watched {
	if w := a.watchedItself(); w != nil || a.batch == nil {
		return w
	}
	return a.batch.whole.watchedItself()
}

// Cancelled tells whether the delivery was cancelled while its handler was at work, and the
// word for that.
func (a *Attempt) Cancelled() (reason string, cancelled bool) {
	return a.run.site.consumer.Cancelled(a.Seq)
}

// Given returns the context that the handler is given.
func (a *Attempt) Given() context.Context {
	if w := a.watchedItself(); w != nil && w.Context != nil {
		return w.Context
	}
	return a.Handed()
}

// released tells observers that the handler has returned.
func (a *Attempt) released() {
	if w := a.watchedItself(); w != nil {
		w.Released()
	}
}

// Begun returns the attempts of a batch, also those that cannot be handed over.
func (b *Batch) Begun() []*Attempt { return b.begun }
