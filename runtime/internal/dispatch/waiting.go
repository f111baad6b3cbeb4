package dispatch

import (
	"slices"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/lockorder"
)

// A handler may wait for another event: one that it has published, or any that is
// stored. While it waits it must not keep from running what it waits for. So it lends
// what it holds, and the deliveries of the awaited event are taken out of turn.
//
// The words:
//
//   - A place is the right to run a handler. A subscription has as many places as its
//     concurrency; gate.active counts those in use.
//   - A loan is what one waiting attempt has lent: its place, its partition key, and its
//     turn if it was a suspect that ran alone ([loan]).
//   - A guest is an extra worker that comes with a loan and goes with it. It takes urgent
//     deliveries only. The worker of the waiting handler is blocked in the handler.
//   - A delivery is urgent while a handler of this bus waits for its event, in whichever
//     subscription. It overtakes everything that has not begun (urgent.go).
//
// What always holds:
//
//  1. Nothing begins while gate.active is the concurrency or more. It is more only after a
//     handler came back by force, and until a guest ends.
//  2. Nothing begins with a partition key that a running handler has. A key that is lent
//     is for urgent deliveries only.
//  3. A handler whose wait has ended goes on when it has its place and its key again, and
//     may run beside the suspects of a crash or alone. It comes back by force, at once,
//     when the context of the wait ends, its attempt is over, or the subscription stops.
//  4. Whoever decides an attempt (finish, expire, interrupt) first takes back by force what
//     it has lent. So all that follows a decision is as without loans: the key is freed,
//     the gate is left once, a worker that is left behind is replaced.
//  5. Decisions that let something begin or come back are made by whoever has the turn, and
//     handlers that come back go first. Everything that may allow one is followed by a
//     signal. There is somebody to hear it: a loan has a guest, and a guest that is busy
//     comes back to the turn.
//
// Why there is no deadlock: a handler that comes back, and an urgent delivery, need only
// what running handlers have. A running handler ends in time, or is left behind, or waits,
// and then it lends everything. So only events can wait for each other in a circle, and
// [Waits] refuses a wait that would close one. Two handlers whose children need each
// other's keys have lent both. A suspect that wants to come back keeps everything else in
// its subscription from beginning, as a suspect in the queue does; what it waits for then
// are running handlers of other subscriptions. Deliveries that the engine takes back
// (ErrMoved) are polled again, urgent ones out of turn. When the subscription stops, guests
// end like workers, waits end with ErrShutdown, and the queue is given back whole.
//
// A handler that waits has lent its claim, too ([engine.Settler].SetWaiting): if the process
// dies, that counts for what ran in its place, not for it.
//
// Who does not wait pays two atomic loads of core.extra for a delivery.

// Waits is shared by the subscriptions of a bus. It knows which events the handlers of the
// bus wait for.
type Waits struct {
	mu      lockorder.Mutex[lockorder.Waits]
	all     []*core
	by      map[int64]*waiter // by seq of the event whose handlers wait
	awaited map[int64]int     // by seq: how many waits are for it
}

// waiter is an event whose handlers wait for others.
type waiter struct {
	id      uuid.UUID
	targets map[int64]int // by seq: how many waits are for it
}

// join takes a subscription in that begins to deliver.
func (w *Waits) join(c *core) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, c)
	for seq := range w.awaited {
		c.hurry(seq)
	}
}

// leave is called when a subscription delivers no more.
func (w *Waits) leave(c *core) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = slices.DeleteFunc(w.all, func(other *core) bool { return other == c })
}

// begin notes that a handler waits for the event at seq, whose deliveries are urgent from
// now on. It refuses to close a circle.
func (w *Waits) begin(of *engine.Delivery, ephemeral bool, seq int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by, w.awaited = map[int64]*waiter{}, map[int64]int{}
	}
	if !ephemeral { // else nobody waits for it, so it is in no circle
		if path := w.path(seq, of.Seq, map[int64]bool{}); path != nil || seq == of.Seq {
			return &errs.WaitCycleError{Path: append(append([]uuid.UUID{of.ID}, path...), of.ID)}
		}
		if w.by[of.Seq] == nil {
			w.by[of.Seq] = &waiter{id: of.ID, targets: map[int64]int{}}
		}
		w.by[of.Seq].targets[seq]++
	}
	if w.awaited[seq]++; w.awaited[seq] == 1 {
		for _, s := range w.all {
			s.hurry(seq)
		}
	}
	return nil
}

// path returns the ids of the events from one to another whose handlers wait for the next
// one, without the last; nil if there is no such way.
func (w *Waits) path(from, to int64, seen map[int64]bool) []uuid.UUID {
	one := w.by[from]
	if one == nil || seen[from] {
		return nil
	}
	seen[from] = true
	if one.targets[to] > 0 {
		return []uuid.UUID{one.id}
	}
	for next := range one.targets {
		if path := w.path(next, to, seen); path != nil {
			return append([]uuid.UUID{one.id}, path...)
		}
	}
	return nil
}

// end undoes begin.
func (w *Waits) end(of *engine.Delivery, ephemeral bool, seq int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.by[of.Seq]; !ephemeral {
		if one.targets[seq]--; one.targets[seq] == 0 {
			delete(one.targets, seq)
		}
		if len(one.targets) == 0 {
			delete(w.by, of.Seq)
		}
	}
	if w.awaited[seq]--; w.awaited[seq] == 0 {
		delete(w.awaited, seq)
		for _, s := range w.all {
			s.calm(seq)
		}
	}
}
