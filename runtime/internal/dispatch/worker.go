package dispatch

import (
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// worker is a goroutine that handles one delivery after the other. It belongs to it.
type worker struct {
	number int
	slot   *slot           // of its attempts
	loan   <-chan struct{} // closed when the loan of a guest ends; nil for those that are none

	// ended is when its last attempt has ended, and zero if anything may have taken time since. So the next one begins
	// at that time, and the clock is read once for both.
	ended time.Time

	spare *run // memory for the next run; nil for none

	claims [1]*engine.Delivery // what an engine is told of at once: a list of one
	as     [1]int              // by this worker
}

// begin tells the engine that the worker begins an attempt.
func (w *worker) begin(c engine.Consumer, a *Attempt) (n int, begun time.Time, cancelled bool) {
	w.claims[0], w.as[0] = a.Delivery, w.number
	return c.Begin(w.claims[:], w.as[:], a.started)
}

// end tells the engine that the handler has returned.
func (w *worker) end(c engine.Consumer, a *Attempt) {
	w.claims[0] = a.Delivery
	c.End(w.claims[:])
	w.claims[0] = nil
}

// keep takes the memory of a run that is over, for the next one, if nobody else may know it.
func (w *worker) keep(r *run) {
	if r.left {
		*r = run{}
		w.spare = r
	}
}

// now returns the time, from the end of the last attempt if nothing has happened since.
func (w *worker) now() time.Time {
	now := w.ended
	if w.ended = (time.Time{}); now.IsZero() {
		return time.Now()
	}
	return now
}

// slot is where an attempt is found that runs. It changes without a lock, which the workers of a subscription would
// share.
type slot struct{ atomic.Pointer[Attempt] }
