package dispatch

import (
	"sync/atomic"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// extras is what few attempts have. There is an attempt for each delivery, and most handlers just return: so the
// memory for all of this is made when a part of it is needed for the first time.
type extras struct {
	journal atomic.Pointer[journal]
	watched atomic.Pointer[Watched]
	turn    atomic.Pointer[turn] // of its transaction; nil before it waits for one
	loan    *loan                // that goes on; guarded by the subscription's loans
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

// loaned returns the loan of the attempt that goes on, or nil. The caller holds the mu of the subscription's loans.
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
