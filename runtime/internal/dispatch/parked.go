package dispatch

import (
	"cmp"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/limit"
)

// What is parked belongs to the queue, but is in none of its lists. It has its partition key
// as one that is ready has it: later ones wait behind it, and urgent ones do not. See limits.go.

// keeping is what an event holds between its attempts.
type keeping struct {
	grant *limit.Grant
	here  bool // its delivery is in memory
	also  bool // a handler waits for the event, too
}

// park puts a delivery aside that was popped, and puts its waiter in line. Handlers may
// have begun or ended to wait for it meanwhile; then it goes back into the queue.
func (q *queue) park(i item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, urgent := q.awaitedEvents[i.Seq]; urgent != i.urgent {
		i.unwait()
		q.unpop(i)
		if urgent {
			q.raise(i.Seq)
		} else {
			q.lower(i.Seq)
		}
		return
	}
	q.size++
	if p := q.keys[i.key]; p != nil { // else it has none, or the queue was drained
		p.exit(i.Seq)
		p.setParked(i.urgent, true)
	}
	if q.aside == nil {
		q.aside = map[*limit.Waiter]item{}
	}
	i.limits.parked = true
	i.limits.waiter.Of = i.Seq
	q.aside[i.limits.waiter] = i
	i.limits.waiter.Park()
}

// unpark undoes park for a delivery that may run now; for a guest it is an urgent one. Its
// waiter stays in line. It reports false if its key is in use.
func (q *queue) unpark(w *limit.Waiter, guest bool) (item, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i, ok := q.aside[w]
	if !ok || !q.mayBegin(i, guest) {
		return item{}, false
	}
	q.comeBack(i)
	return i, true
}

// comeBack makes a parked delivery one that was popped.
func (q *queue) comeBack(i item) {
	delete(q.aside, i.limits.waiter)
	q.size--
	if i.key != "" {
		p := q.partition(i.key)
		p.setParked(i.urgent, false)
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

// takeParked removes the parked deliveries that are those, as if they were popped.
func (q *queue) takeParked(is func(i item) bool) (taken []item) {
	q.mu.Lock()
	all := make([]item, 0, len(q.aside))
	for _, i := range q.aside {
		all = append(all, i)
	}
	q.mu.Unlock()
	all = slices.DeleteFunc(all, func(i item) bool { return !is(i) })
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, i := range all {
		if _, parked := q.aside[i.limits.waiter]; parked {
			q.comeBack(i)
			taken = append(taken, i)
		}
	}
	return taken
}

// unwait takes the waiter of a delivery out of line.
func (i item) unwait() {
	if l := i.limits; l != nil && l.waiter != nil {
		l.waiter.Leave()
		l.waiter, l.parked = nil, false
	}
}

// takeAside removes the parked delivery that is the one, and takes its waiter out of line.
// It has not got its key any more.
func (q *queue) takeAside(is func(i item) bool) (item, bool) {
	for w, i := range q.aside {
		if is(i) {
			delete(q.aside, w)
			i.unwait()
			if p := q.keys[i.key]; p != nil {
				p.setParked(i.urgent, false)
			}
			return i, true
		}
	}
	return item{}, false
}

// unparkSeq puts a parked delivery back into the queue.
func (q *queue) unparkSeq(seq int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i, ok := q.takeAside(func(i item) bool { return i.Seq == seq })
	switch {
	case !ok:
	case i.urgent:
		q.urgent = slices.Insert(q.urgent, 0, i)
	case i.key == "":
		q.ready[rank(i.priority)].insert(i)
	default:
		p := q.partition(i.key)
		p.behind = slices.Insert(p.behind, 0, i)
		q.promote(i.key, p)
	}
}

// leaveAside removes and returns everything that is parked.
func (q *queue) leaveAside() (left []item) {
	for len(q.aside) > 0 {
		i, _ := q.takeAside(func(item) bool { return true })
		left = append(left, i)
	}
	slices.SortFunc(left, func(a, b item) int { return cmp.Compare(a.Seq, b.Seq) })
	return left
}

// parked returns how many deliveries are.
func (q *queue) parked() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.aside)
}

// keep notes what an event holds until its next attempt, for which it is urgent.
func (q *queue) keep(seq int64, grant *limit.Grant) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.keeps == nil {
		q.keeps = map[int64]*keeping{}
	}
	_, urgent := q.awaitedEvents[seq]
	if q.awaitedEvents == nil {
		q.awaitedEvents = map[int64]time.Time{}
	}
	q.awaitedEvents[seq] = time.Time{} // until it is settled
	q.keeps[seq] = &keeping{grant: grant, also: urgent}
}

// goes notes that a delivery is about to be settled, and comes again. What has come is not
// missed then, however soon it comes.
func (q *queue) goes(seq int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if k := q.keeps[seq]; k != nil {
		k.here = false
	}
}

// kept returns what an event holds; nil for nothing.
func (q *queue) kept(seq int64) *limit.Grant {
	q.mu.Lock()
	defer q.mu.Unlock()
	if k := q.keeps[seq]; k != nil {
		return k.grant
	}
	return nil
}

// unkeep forgets it, and reports false if there was nothing.
func (q *queue) unkeep(seq int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.keeps[seq]
	if k == nil {
		return false
	}
	if delete(q.keeps, seq); !k.also {
		delete(q.awaitedEvents, seq)
		q.lower(seq)
	}
	return true
}

// keeping returns how many events hold something.
func (q *queue) keeping() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.keeps)
}

func (q *queue) keptSeqs() (seqs []int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for seq := range q.keeps {
		seqs = append(seqs, seq)
	}
	return seqs
}

// keptElsewhere tells whether an event holds something and its delivery is not in memory.
func (q *queue) keptElsewhere(seq int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.keeps[seq]
	return k != nil && !k.here
}

// pollCancelled makes the next look for urgent deliveries one for those, too, that hold
// something and were cancelled while they are put off.
func (q *queue) pollCancelled(cancelled func(seq int64) (string, bool)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for seq, k := range q.keeps {
		if k.here {
			continue
		}
		if at, urgent := q.awaitedEvents[seq]; urgent && !at.IsZero() {
			if _, is := cancelled(seq); is {
				q.awaitedEvents[seq] = time.Now()
			}
		}
	}
}

// In a strict order a delivery that has to come again holds up the later ones of its key. If the window is full of
// those, its retry is polled by its number: in the order of due times any number of other deliveries can be before it.

// earlier returns the earlier of two times, where zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// blocking returns deliveries that hold up others in memory and may be due by now, one of each key, and when to ask for
// the others. With all none is known to be due later.
func (q *queue) blocking(now time.Time, all bool) (seqs []int64, next time.Time) {
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
			next = earlier(next, one.due)
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

// dueAgain notes when to poll a delivery that holds up others.
func (q *queue) dueAgain(seq int64, due time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if one, awaited := q.awaited[seq]; awaited {
		one.due = due
		q.awaited[seq] = one
	}
}
