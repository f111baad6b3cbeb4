package dispatch

import (
	"sync"
	"sync/atomic"
	"time"
)

// A subscription stalls when it has something to begin, a free worker and nothing that says wait, and begins nothing:
// a signal was lost, or nobody sent one. That is a fault of this project, and the watch is there for the next one.
//
// When the worker with the turn has waited for a while without a signal, it looks once more: it polls from the
// storage itself and tries to take something. If that begins a delivery for which nobody sends a signal shortly, the
// subscription had stalled. A look that finds nothing is repeated after twice the time, so that a subscription at rest
// costs nothing.

const (
	// stallAfter is how long a worker waits without a signal before it looks. What is due, is due at a microsecond, and
	// the signal for it must not come at the same moment.
	stallAfter = 5*time.Second + 511*time.Nanosecond
	// stallSlowest and how long at most between looks that find nothing.
	stallSlowest = 5*time.Minute + 511*time.Nanosecond
	// stallDoubt is how long the signal for what a look has found may take: it may have been on its way.
	stallDoubt = time.Second
)

// WatchStalls is false in tests of what happens without the watch. They set it before they make schedulers.
var WatchStalls = true

// stallWatch makes the worker that waits with the turn look again. It is safe for concurrent use.
type stallWatch struct {
	off     bool
	signals atomic.Uint64 // that were sent
	waits   atomic.Uint64 // how often a worker began to wait because something had happened
	looks   chan struct{} // receives when it is time to look
	count   atomic.Int64  // stalls
	slow    atomic.Bool   // nothing has happened for long: the timer is not set, or to more than stallAfter

	mu    sync.Mutex
	timer *time.Timer
	seen  uint64        // waits
	pause time.Duration // before the next look

	looked uint64 // signals before the last look; guarded by the turn
}

func (w *stallWatch) init() {
	w.off, w.looks, w.pause = !WatchStalls, make(chan struct{}, 1), stallAfter
	w.timer = time.AfterFunc(stallAfter, w.fire)
	w.timer.Stop()
	w.slow.Store(!w.off)
}

// wait notes that a worker begins to wait. looked says that it has only looked since it waited last.
func (w *stallWatch) wait(looked bool) {
	if !looked {
		w.waits.Add(1)
	}
	if w.slow.Load() {
		w.set(looked)
	}
}

// set sets the timer.
func (w *stallWatch) set(looked bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !looked {
		w.pause = stallAfter
		w.slow.Store(false)
	}
	w.timer.Reset(w.pause)
}

// fire runs when the time is over. If something has happened meanwhile, it begins anew.
func (w *stallWatch) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if waits := w.waits.Load(); waits != w.seen {
		w.seen = waits
		w.timer.Reset(w.pause)
		return
	}
	w.pause = min(2*w.pause, stallSlowest)
	w.slow.Store(!w.off)
	select {
	case w.looks <- struct{}{}:
	default:
	}
}

// waited tells whether the worker that is told to look has waited all the time, or the timer fired before it began to.
func (w *stallWatch) waited() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waits.Load() == w.seen
}

// stop ends the looks.
func (w *stallWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slow.Store(false)
	w.timer.Stop()
}

// began notes that a worker begins something. looked says that it had waited, and only looked. A signal that was sent
// since then may have been for this.
func (c *core) began(looked bool) {
	if !looked {
		return
	}
	before := c.stalls.looked
	time.AfterFunc(stallDoubt, func() {
		if c.stalls.signals.Load() != before || c.stopped.Load() {
			return
		}
		c.stalls.count.Add(1)
		logger := c.cfg.Logger
		logger.Error("a subscription had stopped although it had events to handle; the bus has looked again, and it goes on. This is a fault of busgen: please report it",
			"subscription_id", c.cfg.Name)
	})
}
