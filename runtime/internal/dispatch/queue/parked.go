package queue

import (
	"cmp"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/limit"
)

// What is parked belongs to the queue, but is in none of its lists. It has its partition key
// as one that is ready has it: later ones wait behind it, and urgent ones do not. See limits.go.

// Park puts a delivery aside that was popped, and puts its waiter in line. Handlers may
// have begun or ended to wait for it meanwhile; then it goes back into the queue.
func (q *Queue) Park(i Item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, urgent := q.awaitedEvents[i.Seq]; urgent != i.Urgent {
		i.Unwait()
		q.unpop(i)
		if urgent {
			q.raise(i.Seq)
		} else {
			q.lower(i.Seq)
		}
		return
	}
	q.size++
	if p := q.keys[i.Key]; p != nil { // else it has none, or the queue was drained
		p.exit(i.Seq)
		p.setParked(i.Urgent, true)
	}
	if q.aside == nil {
		q.aside = map[*limit.Waiter]Item{}
	}
	i.Limits.Parked = true
	i.Limits.Waiter.Of = i.Seq
	q.aside[i.Limits.Waiter] = i
	i.Limits.Waiter.Park()
}

// Unpark undoes park for a delivery that may run now; for a guest it is an urgent one. Its
// waiter stays in line. It reports false if its key is in use.
func (q *Queue) Unpark(w *limit.Waiter, guest bool) (Item, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i, ok := q.aside[w]
	if !ok || !q.mayBegin(i, guest) {
		return Item{}, false
	}
	q.comeBack(i)
	return i, true
}

// comeBack makes a parked delivery one that was popped.
func (q *Queue) comeBack(i Item) {
	delete(q.aside, i.Limits.Waiter)
	q.size--
	if i.Key != "" {
		p := q.partition(i.Key)
		p.setParked(i.Urgent, false)
		p.enter(i.Seq)
	}
}

// setParked gives the key to a delivery that is parked, or takes it away.
func (p *partition) setParked(urgent, parked bool) {
	switch {
	case !urgent:
		p.ready = parked
	case parked:
		p.urgent++
	default:
		p.urgent = max(p.urgent-1, 0) // the queue may have been drained meanwhile
	}
}

// TakeParked removes the parked deliveries that are those, as if they were popped.
func (q *Queue) TakeParked(is func(i Item) bool) (taken []Item) {
	q.mu.Lock()
	all := make([]Item, 0, len(q.aside))
	for _, i := range q.aside {
		all = append(all, i)
	}
	q.mu.Unlock()
	all = slices.DeleteFunc(all, func(i Item) bool { return !is(i) })
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, i := range all {
		if _, parked := q.aside[i.Limits.Waiter]; parked {
			q.comeBack(i)
			taken = append(taken, i)
		}
	}
	return taken
}

// Unwait takes the waiter of a delivery out of line.
func (i Item) Unwait() {
	if l := i.Limits; l != nil && l.Waiter != nil {
		l.Waiter.Leave()
		l.Waiter, l.Parked = nil, false
	}
}

// takeAside removes the parked delivery that is the one, and takes its waiter out of line.
// It has not got its key any more.
func (q *Queue) takeAside(is func(i Item) bool) (Item, bool) {
	for w, i := range q.aside {
		if is(i) {
			delete(q.aside, w)
			i.Unwait()
			if p := q.keys[i.Key]; p != nil {
				p.setParked(i.Urgent, false)
			}
			return i, true
		}
	}
	return Item{}, false
}

// leaveAside removes and returns everything that is parked.
func (q *Queue) leaveAside() (left []Item) {
	for len(q.aside) > 0 {
		i, _ := q.takeAside(func(Item) bool { return true })
		left = append(left, i)
	}
	slices.SortFunc(left, func(a, b Item) int { return cmp.Compare(a.Seq, b.Seq) })
	return left
}

// Parked returns how many deliveries are.
func (q *Queue) Parked() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.aside)
}

// In a strict order a delivery that has to come again holds up the later ones of its key. If the window is full of
// those, its retry is polled by its number: in the order of due times any number of other deliveries can be before it.

// Earlier returns the earlier of two times, where zero is never.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Blocking returns deliveries that hold up others in memory and may be due by now, one of each key, and when to ask for
// the others. With all none is known to be due later.
func (q *Queue) Blocking(now time.Time, all bool) (seqs []int64, next time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for seq, one := range q.awaited {
		switch p := q.keys[one.key]; {
		case p == nil || p.taken() || len(p.behind) == 0 || p.behind[0].awaited:
			continue
		case all:
			one.due = time.Time{}
			q.awaited[seq] = one
		}
		if one.due.After(now) {
			next = Earlier(next, one.due)
		} else {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	keys := map[string]bool{}
	return slices.DeleteFunc(seqs, func(seq int64) bool {
		key := q.awaited[seq].key
		again := keys[key]
		if keys[key] = true; again {
			next = now
		}
		return again
	}), next
}

// DueAgain notes when to poll a delivery that holds up others.
func (q *Queue) DueAgain(seq int64, due time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if one, awaited := q.awaited[seq]; awaited {
		one.due = due
		q.awaited[seq] = one
	}
}
