package sqlite

import (
	"context"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// request is something to do in a transaction, and someone who waits for it.
type request struct {
	events  []logged          // to append
	exec    func(*conn) error // to run instead, in a transaction of its own
	result  chan error
	refused error // for itself only: an idempotency key in conflict
	pending bool  // in the queue, and may still be withdrawn
}

// do queues a transaction and waits for its outcome. A context that ends
// while it is still queued withdraws it; later the outcome is waited for,
// because only the outcome tells whether it is stored.
func (w *writer) do(ctx context.Context, events []logged, exec func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := w.requests.Get().(*request)
	r.events, r.exec, r.pending = events, exec, true
	w.mu.Lock()
	if w.closing {
		w.mu.Unlock()
		return engine.ErrClosed
	}
	w.queue = append(w.queue, r)
	alone := len(w.queue) == 1 && w.lastGroup <= 1
	w.mu.Unlock()
	if !alone || !w.lead() {
		w.signal()
	}

	var err error
	select {
	case err = <-r.result:
	case <-ctx.Done():
		if w.withdraw(r) {
			err = ctx.Err()
		} else {
			err = <-r.result
		}
	}
	r.events, r.exec, r.refused = nil, nil, nil
	w.requests.Put(r)
	return err
}

// lead runs the next transaction on the caller's goroutine, which spares a lone
// publisher two switches between goroutines. It reports false, having done
// nothing, when a transaction is under way.
func (w *writer) lead() bool {
	select {
	case <-w.turn:
	default:
		return false
	}
	if group, _, _ := w.gather(); !group.empty() {
		w.write(group)
	}
	w.turn <- struct{}{}
	w.mu.Lock()
	left := len(w.queue) > 0
	w.mu.Unlock()
	if left {
		w.signal()
	}
	return true
}

func (w *writer) withdraw(r *request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !r.pending {
		return false
	}
	for i, queued := range w.queue {
		if queued == r {
			w.queue = append(w.queue[:i], w.queue[i+1:]...)
			return true
		}
	}
	return false
}

// flush asks for the verdicts of c to be written: within delay, or with the
// next transaction that runs anyway. The caller makes sure that c is not
// queued twice.
func (w *writer) flush(c *consumer, delay time.Duration) {
	w.mu.Lock()
	w.dirty = append(w.dirty, c)
	w.due(delay)
	w.mu.Unlock()
	w.signal()
}

// hasten makes verdicts that are already queued due now.
func (w *writer) hasten() {
	w.mu.Lock()
	w.due(0)
	w.mu.Unlock()
	w.signal()
}

func (w *writer) due(delay time.Duration) {
	if at := time.Now().Add(delay); w.flushAt.IsZero() || at.Before(w.flushAt) {
		w.flushAt = at
	}
}

// watchOthers makes the writer look for the writes of other processes.
func (w *writer) watchOthers() {
	w.mu.Lock()
	w.watch = true
	w.mu.Unlock()
	w.signal()
}

// signal wakes the writer's goroutine.
func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
