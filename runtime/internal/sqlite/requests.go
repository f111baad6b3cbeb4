package sqlite

import (
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// request is something to do in a transaction, and someone who waits for it.
type request struct {
	events     []logged                   // to append
	exec       func(*database.Conn) error // to run instead, in a transaction of its own
	part       *part                      // of the program, to run beside those of others
	step       *engine.Stepping           // of a handler, to store instead
	turn       chan *run                  // of its part; nil before the first
	full       bool                       // it has to be on disk before the answer
	postponed  bool                       // to the next transaction
	separate   bool                       // that is to be its own
	result     chan error
	refused    error // for itself only: an idempotency key in conflict
	generation int64 // of the log that has numbered the types of its events
	pending    bool  // in the queue or about to be begun, and may still be withdrawn
	beside     *run  // for whose function it has waited long
	outside    bool  // its caller is in no function of the program that others wait for
}

// synced reports whether r has to be on disk before the answer.
func (r *request) synced() bool { return len(r.events) > 0 || r.full }

// do executes something in a transaction and waits for its outcome. A context
// that ends while it is still queued withdraws it; later the outcome is waited
// for, because only the outcome tells whether it is stored.
func (w *writer) do(ctx context.Context, exec func(*database.Conn) error) error {
	return w.execute(ctx, exec, false)
}

// doSynced is do for what must be on disk.
func (w *writer) doSynced(ctx context.Context, exec func(*database.Conn) error) error {
	return w.execute(ctx, exec, true)
}

func (w *writer) execute(ctx context.Context, exec func(*database.Conn) error, full bool) error {
	r := w.newRequest()
	defer w.free(r)
	r.exec, r.full = exec, full
	return w.submit(ctx, r)
}

// newRequest returns a request to fill in; it is used again after free.
func (w *writer) newRequest() *request { return w.requests.Get().(*request) }

// free takes a request back that nobody waits for. Whoever keeps its events has
// copies.
func (w *writer) free(r *request) {
	events := r.events[:0]
	if cap(events) > 1024 {
		events = nil
	}
	clear(r.events)
	*r = request{result: r.result, turn: r.turn, events: events}
	w.requests.Put(r)
}

// submit queues a request and waits for its outcome.
func (w *writer) submit(ctx context.Context, r *request) error {
	if err := w.enqueue(ctx, r); err != nil {
		return err
	}
	return w.await(ctx, r)
}

// enqueue queues a request.
func (w *writer) enqueue(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.gate.within(); err != nil {
		return err
	}
	r.pending = true
	w.mu.Lock()
	if w.closing {
		w.mu.Unlock()
		return engine.ErrClosed
	}
	w.queue = append(w.queue, r)
	w.queued()
	alone := len(w.queue) == 1 && w.lastGroup <= 1 && r.synced() && r.part == nil
	w.mu.Unlock()
	if !alone || !w.lead() {
		w.signal()
	}
	return nil
}

// await waits for the outcome of a request, or withdraws it.
func (w *writer) await(ctx context.Context, r *request) error {
	err := w.outcome(ctx, r)
	for err == errRecheck {
		if err = w.requeue(ctx, r); err == nil {
			err = w.outcome(ctx, r)
		}
	}
	return err
}

func (w *writer) outcome(ctx context.Context, r *request) error {
	if ctx.Done() == nil {
		return <-r.result
	}
	select {
	case err := <-r.result:
		return err
	case <-ctx.Done():
		if w.withdraw(r) {
			return ctx.Err()
		}
		return <-r.result
	}
}

// lead runs the next transaction on the caller's goroutine, which spares a lone
// publisher two switches between goroutines. It reports false, having done
// nothing, when a transaction is under way or cannot begin at once: only those
// who wait in await notice that their context ends.
func (w *writer) lead() bool {
	select {
	case <-w.turn:
	default:
		return false
	}
	w.mu.Lock()
	left := len(w.queue) > 0
	w.mu.Unlock()
	led := !left
	if left && w.tryBegin(!w.unsynced) {
		group, _, _ := w.gather()
		w.write(group, true)
		led = true
	}
	w.turn <- struct{}{}
	w.mu.Lock()
	left = len(w.queue) > 0
	w.mu.Unlock()
	if left && led {
		w.signal()
	}
	return led
}

// withdraw takes back a request whose transaction has not begun.
func (w *writer) withdraw(r *request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !r.pending {
		return false
	}
	for _, list := range []*[]*request{&w.queue, &w.starting} {
		if i := slices.Index(*list, r); i >= 0 {
			*list = slices.Delete(*list, i, i+1)
			return true
		}
	}
	return false
}

// started returns the requests of the transaction at hand, which nobody may
// withdraw any more.
func (w *writer) started() []*request {
	w.mu.Lock()
	defer w.mu.Unlock()
	requests := w.starting
	w.starting = nil
	for _, r := range requests {
		r.pending = false
	}
	return requests
}

// dirtyClient is a client with something to write.
type dirtyClient struct {
	client
	at time.Time
	// idle says that there are no dispositions: it is only to be looked at again,
	// for attempts that run for long. Nobody waits for that.
	idle bool
}

// schedule asks for what c has to be written within delay, or with the next
// transaction that runs anyway. Asked again it keeps the earlier time.
func (w *writer) schedule(c client, delay time.Duration, idle bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closing && !w.lasting {
		return // what is there is written now or never
	}
	at := time.Now().Add(delay)
	for i := range w.dirty {
		if d := &w.dirty[i]; d.client == c {
			d.idle = d.idle && idle
			if d.at.Before(at) {
				return
			}
			d.at = at
			w.signal()
			return
		}
	}
	w.dirty = append(w.dirty, dirtyClient{c, at, idle})
	w.signal()
}

// hasten makes dispositions that are already queued due now.
func (w *writer) hasten() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.dirty {
		if d := &w.dirty[i]; !d.idle {
			d.at = time.Time{}
			w.signal()
		}
	}
}

// signal wakes the writer's goroutine.
func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// forgetClients drops all that was to be written for clients. The caller has the turn.
func (w *writer) forgetClients() {
	w.mu.Lock()
	w.dirty = nil
	w.mu.Unlock()
	w.batch.flushes = emptied(w.batch.flushes)
	clear(w.failing)
}

// alone tells whether r is to have a transaction of its own.
func (r *request) alone() bool { return r.exec != nil || r.separate }

// queueAgain puts what was postponed before all that came later, and takes them
// out of the requests that have run.
func (w *writer) queueAgain(requests []*request) (ran []*request) {
	if !slices.ContainsFunc(requests, func(r *request) bool { return r.postponed }) {
		return requests
	}
	var again []*request
	for _, r := range requests {
		if r.postponed {
			r.postponed = false
			again = append(again, r)
		} else {
			ran = append(ran, r)
		}
	}
	w.mu.Lock()
	for _, r := range again {
		r.pending = true
	}
	w.queue = append(again, w.queue...)
	w.mu.Unlock()
	return ran
}

// rhythm decides whether publishers who publish again and again share each sync, or take turns in two halves.
//
// Together they come to half as many syncs. But nobody prepares an event while the disk is waited for, and nothing is
// written while they prepare the next ones. In halves, one prepares while the other one is written. So that is better
// when they need longer to come back than the disk needs for one sync more.
type rhythm struct {
	sync     time.Duration // how long a commit takes, lately
	back     time.Duration // how long those of a transaction take until all are back, lately
	together bool          // all are waited for, so that their time is known
	turns    int           // in halves, since all were waited for
}

const (
	// fewestHalved is how many publishers are worth it: few are back before they were missed.
	fewestHalved = 32
	// turnsHalved is after how many transactions all are waited for, to see how long they take now.
	turnsHalved = 256
)

// committed notes how long a commit has taken.
func (r *rhythm) committed(took time.Duration) { r.sync = lately(r.sync, took) }

// waited notes how long it took until those were back whom next had said.
func (r *rhythm) waited(took time.Duration) {
	if r.together {
		r.back = lately(r.back, took)
	}
}

// next returns how many publishers the next transaction waits for, after one for so many, while others have queued.
func (r *rhythm) next(size, queued int) int {
	all := size + queued
	r.together = true
	if all < fewestHalved || r.back <= r.sync {
		r.turns = 0
		return size
	}
	switch r.turns++; r.turns {
	case turnsHalved:
		r.together = false // some of them have come back long ago
		return all
	case turnsHalved + 1:
		r.turns = 0
		return size
	}
	r.together = false
	return (all + 1) / 2
}

// lately is a moving average.
func lately(before, now time.Duration) time.Duration {
	if before == 0 {
		return now
	}
	return before + (now-before)/4
}
