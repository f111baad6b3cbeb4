package dispatch

import (
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/internal/lockorder"
)

// Alone lets suspects run one at a time, with nothing beside them in the whole
// bus, so that a crash says which delivery has caused it.
//
// While there is no suspect a delivery that passes the gate adds itself to
// gate.active of its subscription, and reads closed. A suspect sets closed and
// then reads gate.active of all. So one of the two sees the other.
//
// A subscription whose next delivery is a suspect asks for the bus with enter. It gets
// the bus as soon as no other subscription has it, and keeps it until its next delivery
// is not a suspect or cannot run, because the subscription is paused or stops or its
// breaker is open. Then the next subscription that has asked gets it. Nobody waits for
// handlers that were left behind.
type Alone struct {
	Logger *slog.Logger

	closed atomic.Bool // there is an owner

	mu      lockorder.Mutex[lockorder.Alone]
	all     []*gate
	owner   *gate       // has the bus, or waits until the others are through
	running bool        // a suspect of the owner is in its handler
	waiting []*gate     // have asked
	calm    *time.Timer // says that there are no suspects any more; nil if that was said, or there is an owner
}

// calmAfter is how long no suspect has run before the log says so. They come one by one, with others between them: the
// log does not go back and forth.
const calmAfter = 10 * time.Second

// join takes a subscription in that begins to deliver.
func (a *Alone) join(g *gate) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, g)
}

// leave is called when a subscription delivers no more.
func (a *Alone) leave(g *gate) {
	a.mu.Lock()
	a.all = slices.DeleteFunc(a.all, func(other *gate) bool { return other == g })
	switch a.owner {
	case nil:
	case g:
		a.running = false
	default:
		a.owner.signal() // it waits no longer for a handler that was left behind
	}
	if len(a.all) == 0 {
		a.becalm()
	}
	a.mu.Unlock()
	a.pass(g)
}

// enter asks for the bus, and reports whether the suspect may run now. If not,
// there will be a signal when that may have changed.
func (a *Alone) enter(g *gate) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.owner == nil:
		a.owner = g
		a.closed.Store(true)
		if a.becalm() {
			break // they have not stopped coming
		}
		a.Logger.Warn("handlers that were running when the process died now run alone: one at a time, or in half a batch", "subscription_id", g.cfg.Name)
	case a.owner != g:
		if !slices.Contains(a.waiting, g) {
			a.waiting = append(a.waiting, g)
		}
		return false
	}
	if a.running {
		return false
	}
	for _, other := range a.all {
		if other.active.Load() > 0 {
			return false
		}
	}
	a.running = true
	return true
}

// done is called when the suspect of a subscription has run.
func (a *Alone) done(g *gate) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.owner == g {
		a.running = false
		g.signal() // it chooses what comes next
	}
}

// pass says that a subscription has no suspect to run at the moment.
func (a *Alone) pass(g *gate) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = slices.DeleteFunc(a.waiting, func(other *gate) bool { return other == g })
	if a.owner != g || a.running {
		return
	}
	if len(a.waiting) > 0 {
		a.owner, a.waiting = a.waiting[0], a.waiting[1:]
		a.owner.signal()
		return
	}
	a.owner = nil
	a.closed.Store(false)
	if len(a.all) > 0 { // else the bus stops
		a.calm = time.AfterFunc(calmAfter, a.calmed)
	}
	for _, other := range a.all {
		other.signal()
	}
}

// becalm takes back that the log is about to say that there are no suspects any more, and reports whether it was.
func (a *Alone) becalm() bool {
	if a.calm == nil {
		return false
	}
	a.calm.Stop()
	a.calm = nil
	return true
}

// calmed says that no suspect has run for a while.
func (a *Alone) calmed() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calm != nil {
		a.calm = nil
		a.Logger.Info("handlers run in parallel again: none that is suspected of a crash was due for ten seconds")
	}
}

// left is called when a delivery has left the gate that the owner may wait for.
func (a *Alone) left() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.owner != nil {
		a.owner.signal()
	}
}
