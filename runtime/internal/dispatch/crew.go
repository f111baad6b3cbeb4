package dispatch

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/goroutine"
	"github.com/busgen/busgen/runtime/internal/lockorder"
)

// crew has the workers of a subscription, and the guests that come with loans. It knows on which goroutine each of them
// is: a handler that waits for its own subscription to stop waits for itself, and its context need not be at hand
// there.
type crew struct {
	*core
	work      func(*worker) // what each does, on a goroutine of its own
	deadlines *deadlines
	finished  chan struct{} // closed when the subscription has stopped and no worker is left
	workers   sync.WaitGroup

	// Guarded by mu.
	mu     lockorder.Mutex[lockorder.Crew]
	on     []uint64          // by worker: its goroutine; 0 for one that was left behind
	guests []<-chan struct{} // by worker: closed when the loan of the guest ends; nil for those that are none
	free   []int             // numbers of workers that came back
}

// open starts a worker, or the guest of a loan that goes on until the channel is closed.
func (c *crew) open(loan <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped.Load() || isClosed(loan) {
		return
	}
	var number int
	if n := len(c.free); n > 0 {
		number, c.free = c.free[n-1], c.free[:n-1]
	} else {
		number = len(c.on)
		c.on = append(c.on, 0)
		c.guests = append(c.guests, nil)
	}
	if c.guests[number] = loan; loan != nil {
		c.extra.Add(1)
	}
	c.workers.Add(1)
	go c.work(&worker{number: number, slot: c.deadlines.slot(number), loan: loan})
}

// halt opens no more workers, and stops the subscription.
func (c *crew) halt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped.Swap(true) {
		return
	}
	close(c.stopping)
	go func() {
		c.workers.Wait()
		close(c.finished)
	}()
}

// retire is the end of a worker, or of a guest if it came with a loan.
func (c *crew) retire(w *worker) {
	if w.loan != nil {
		c.comeBack(w.number)
	}
	c.leave(w.loan)
}

func (c *crew) leave(loan <-chan struct{}) {
	if loan != nil {
		c.extra.Add(-1)
	}
	c.workers.Done()
}

// replace starts another worker in place of one whose goroutine is lost; with free its number can be used again. A guest
// is replaced as long as its loan goes on.
func (c *crew) replace(worker int, free bool) {
	c.mu.Lock()
	loan := c.guests[worker]
	if free {
		c.free = append(c.free, worker)
	}
	c.mu.Unlock()
	c.open(loan)
	c.leave(loan)
}

// comeBack says that nothing runs under the number of a worker any more.
func (c *crew) comeBack(worker int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on[worker] = 0
	c.free = append(c.free, worker)
}

// runsOn notes on which goroutine a worker is; 0 for one that was left behind.
func (c *crew) runsOn(worker int, number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on[worker] = number
}

// isOn tells whether the calling goroutine is one of a worker.
func (c *crew) isOn() bool {
	number := goroutine.Number()
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.on, number)
}

// left tells, by worker, whether it was left behind.
func (c *crew) left() []bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := make([]bool, len(c.on))
	for worker, goroutine := range c.on {
		left[worker] = goroutine == 0
	}
	return left
}

// isClosed tells whether a channel that nothing is sent to is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

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
