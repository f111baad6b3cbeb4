package buslog

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// shortcut is the short way on which the workers of a busy unit say that handlers begin, return and
// have succeeded. They need not wait for the log's mu, which all subscriptions share.
//
// It is open only while nothing can be in the way: the stored cursors say that the unit is busy, no
// delivery is cancelled, and not too much is unstored. Then a worker changes its flight under the
// shortcut's mu, and leaves a note. Code that holds the log's mu and reads or changes what the
// workers change (begun, started, returned, ended and how of flights; atWork, queue, changes and
// begunAt of the unit; and what keeps the shortcut open) calls shut first. That carries the notes
// over, and closes the shortcut: from then on the workers wait for the log's mu, too. So all other
// code needs to know nothing of it.
type shortcut struct {
	mu    sync.Mutex  // is taken after the log's mu, or alone
	open  atomic.Bool // changes under mu
	room  int         // so many deliveries may end before the next is stored
	begun []*flight   // have begun since the shortcut was opened; its memory is used again, as that of ended
	ended []*flight   // have succeeded since then
	last  time.Time   // when the last of them has begun
	turn  time.Time   // when the first delivery of this turn has begun; zero before it
}

// mayOpen reports whether nothing is in the way.
func (u *unit) mayOpen() bool {
	if !u.busyMode || u.in.alone || u.wary > 0 || len(u.sub.asks) > 0 || u.sub.cancelled > 0 || u.consumer == nil {
		return false
	}
	owns := false
	for _, at := range u.sub.live() {
		if s := &u.parts[at]; s.owned {
			if !s.busy {
				return false
			}
			owns = true
		}
	}
	return owns
}

// openShortcut opens the shortcut if nothing is in the way, and closes it otherwise. The caller holds
// the log's mu, and does not rely on the state of flights any more.
func (u *unit) openShortcut() {
	if !u.mayOpen() {
		u.shut()
		return
	}
	u.shortcut.mu.Lock()
	u.shortcut.room = mostUnstored - len(u.queue) - len(u.shortcut.ended)
	u.shortcut.open.Store(true)
	u.shortcut.mu.Unlock()
}

// shut closes the shortcut, and carries over what was noted.
func (u *unit) shut() {
	w := &u.shortcut
	w.mu.Lock()
	w.open.Store(false)
	w.mu.Unlock()
	// No worker adds anything while it is closed, and only the holder of the log's mu opens it.
	if len(w.begun) > 0 {
		u.atWork = append(u.atWork, w.begun...)
		u.begunAt = w.last
	}
	u.queue = append(u.queue, w.ended...)
	u.touchedAll(w.begun)
	u.touchedAll(w.ended)
	clear(w.begun)
	clear(w.ended)
	w.begun, w.ended = w.begun[:0], w.ended[:0]
}

// shortcutFlight returns the flight of a delivery if the shortcut is open for it. The caller unlocks the
// shortcut's mu if it gets one.
func (c *consumer) shortcutFlight(d *engine.Delivery) *flight {
	w := &c.unit.shortcut
	w.mu.Lock()
	if f, ok := d.Token.(*flight); w.open.Load() && ok && f.known && !f.ended && f.row == nil && !f.ahead && f.consumer == c {
		return f
	}
	w.mu.Unlock()
	return nil
}

// turn is for how long a worker of a busy unit begins deliveries before other goroutines have their turn. It would
// otherwise go on until too much is unstored, and what it waits for then would wait, at each of its steps to the
// servers and back, for the workers of all other units. A short turn costs: what the next one needs is not in the
// processor's caches.
const turn = 500 * time.Microsecond

// beginQuickly is Begin on the shortcut. It reports false if it cannot be done there.
func (c *consumer) beginQuickly(d *engine.Delivery, started time.Time) bool {
	f, w := c.shortcutFlight(d), &c.unit.shortcut
	if f == nil {
		return false
	}
	room := w.room
	if room > 0 {
		if !f.begun {
			w.begun = append(w.begun, f)
		}
		f.begun, f.returned, f.started, w.last = true, false, started.UnixNano(), started
	}
	first := room > 0 && len(w.begun) == 1
	if w.turn.IsZero() {
		w.turn = started
	}
	over := started.Sub(w.turn) >= turn
	if over {
		w.turn = time.Time{}
	}
	w.mu.Unlock()
	if first {
		c.unit.signal(false) // the claim is stored even if the handler never returns
	}
	if over {
		runtime.Gosched()
	}
	return room > 0
}

// endQuickly is End on the shortcut.
func (c *consumer) endQuickly(d *engine.Delivery) bool {
	f := c.shortcutFlight(d)
	if f == nil {
		return false
	}
	defer c.unit.shortcut.mu.Unlock()
	f.returned = true
	return true
}

// settleQuickly is Settle on the shortcut, for what has simply gone well.
func (c *consumer) settleQuickly(d *engine.Delivery, v *engine.Disposition) bool {
	if v.Kind != engine.Done || v.Attempt != nil || len(v.Staged)+len(v.Frees) > 0 {
		return false
	}
	f, w := c.shortcutFlight(d), &c.unit.shortcut
	if f == nil {
		return false
	}
	defer w.mu.Unlock()
	if !f.begun || !f.returned {
		return false
	}
	f.ended, f.how = true, &wentWell
	w.ended = append(w.ended, f)
	if w.room--; w.room <= mostUnstored/4 {
		c.unit.signal(true)
	} else if len(w.ended) == 1 {
		c.unit.signal(false)
	}
	return true
}

// wentWell is how a delivery has ended on the shortcut.
var wentWell = engine.Disposition{Kind: engine.Done}

// isFree reports whether the shortcut is open, so that nothing is cancelled.
func (w *shortcut) isFree() bool { return w.open.Load() }
