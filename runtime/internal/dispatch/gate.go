package dispatch

import (
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// A delivery passes the gate when a worker takes it: neither the subscription nor the
// event type is paused, the program knows the version of the event, the breaker is closed,
// and no suspect of a crash is running. Deliveries that may not pass stay in the queue. Only
// those that are held get a row.

// gate counts what has passed it, and knows what stops others. It is safe for concurrent use, but for newer.
type gate struct {
	*core
	paused atomic.Bool
	held   atomic.Pointer[func(eventType string) bool] // nil if no type is paused
	byKey  *byKey
	newer  map[string]int // by type: up to which version the log has been told; under the turn
	holds  atomic.Int64   // how often a delivery was held for its version
	active atomic.Int32   // deliveries that have passed and are not settled
}

// setPaused stops the subscription or lets it go on; held tells what types are paused.
func (g *gate) setPaused(all bool, held func(eventType string) bool) {
	if g.paused.Store(all); held == nil {
		g.held.Store(nil)
	} else {
		g.held.Store(&held)
	}
}

// reopening returns a channel that says when to try an open breaker again, or
// nil if its state has to change first, which signals.
func reopening(b *breaker.Breaker, now time.Time) <-chan time.Time {
	if status := b.Status(now); status.State == breaker.Open {
		return time.After(status.Until.Sub(now))
	}
	return nil
}

// pass lets a delivery through the gate, unless it has to wait: a suspect for all
// others, the others for a suspect.
func (g *gate) pass(suspect bool) bool {
	alone := g.cfg.Alone
	if suspect {
		if !alone.enter(g) {
			return false
		}
		g.active.Add(1)
		return true
	}
	if alone.closed.Load() {
		// This opens the bus again if the subscription was its owner.
		if alone.pass(g); alone.closed.Load() {
			return false
		}
	}
	g.active.Add(1)
	if !alone.closed.Load() {
		return true
	}
	g.leave(false)
	return false
}

// yield tells the others that the subscription has no suspect to run at the moment.
func (g *gate) yield() {
	if g.cfg.Alone.closed.Load() {
		g.cfg.Alone.pass(g)
	}
}

// leave undoes pass.
func (g *gate) leave(suspect bool) {
	g.active.Add(-1)
	switch {
	case suspect:
		g.cfg.Alone.done(g)
	case g.cfg.Alone.closed.Load():
		g.cfg.Alone.left()
	}
}

// full tells whether all places are in use.
func (g *gate) full() bool { return int(g.active.Load()) >= g.places() }

func (g *gate) places() int { return max(g.cfg.Concurrency, 1) }

// A delivery is held while nothing can be done with it: its event type is paused, or a newer
// program has published it, in a version that this one cannot read. That counts as no
// attempt, and a strict order waits for it. Of a paused type the engine finds out when the
// pause ends. For its version a delivery is held until a process takes over, which may be a
// program that knows the version, or for HoldUnknown. After that it becomes a dead letter,
// as any payload that does not decode. An ephemeral subscription ends with its process, so
// nobody could take over: there nothing is held for its version.

// dismissal returns how to settle a delivery that must not be tried now: somebody has
// cancelled it, or it is held. It returns nil for all others. The caller has the turn.
func (g *gate) dismissal(i *queue.Item, settings *Settings) *engine.Disposition {
	if reason, cancelled := g.consumer.Cancelled(i.Seq); cancelled {
		return &engine.Disposition{Kind: engine.Discard, Reason: reason, Cancelled: true, Progress: i.Progress}
	}
	if held := g.held.Load(); held != nil && (*held)(i.Type) {
		return &engine.Disposition{Kind: engine.Hold, Progress: i.Progress}
	}
	if settings.newer(i.Delivery) && !g.cfg.Ephemeral {
		return g.holdNewer(i, settings)
	}
	if g.byKey.pausing() {
		return g.byKey.paused(i)
	}
	return nil
}

// holdNewer is dismissal for an event of a version that the program does not know.
func (g *gate) holdNewer(i *queue.Item, settings *Settings) *engine.Disposition {
	v, now := &engine.Disposition{Kind: engine.Hold, Progress: i.Progress}, time.Now()
	if v.Held = i.Held; v.Held == nil {
		v.Held = &now
	}
	v.Due = v.Held.Add(settings.HoldUnknown)
	if expires := i.Since.Add(settings.ExpiresAfter); settings.ExpiresAfter > 0 && expires.Before(v.Due) {
		v.Due = expires
	}
	if left := v.Due.Sub(now); left <= time.Microsecond { // a log may keep times to the microsecond only
		return nil
	}
	g.holds.Add(1)
	if g.newer[i.Type] < i.Version {
		if g.newer == nil {
			g.newer = map[string]int{}
		}
		g.newer[i.Type] = i.Version
		g.cfg.Logger.Warn("events of a version that is newer than this program are held until a program takes over that knows it",
			"subscription_id", g.cfg.Name, "event_type", i.Type, "version", i.Version, "known", settings.Version, "event_id", i.ID,
			"since", *v.Held, "dead_letters_from", v.Due)
	}
	return v
}

// newer tells whether the handlers cannot read a delivery, because a newer program has published it.
func (s *Settings) newer(d *engine.Delivery) bool { return s.Version > 0 && d.Version > s.Version }
