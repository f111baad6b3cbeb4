package queue

import (
	"slices"
	"time"
)

// The deliveries of events that handlers wait for are urgent. The queue has them in a list
// of their own, from which they are taken before all others. Those that are not in memory
// are polled out of turn, because the window may be full of deliveries that wait for the
// place of the waiting handler.

// Hurry makes the delivery of the event at seq urgent, wherever it is.
func (q *Queue) Hurry(seq int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.awaitedEvents == nil {
		q.awaitedEvents = map[int64]time.Time{}
	}
	q.awaitedEvents[seq] = time.Now()
	q.raise(seq)
}

// raise puts a delivery that waits among the urgent ones.
func (q *Queue) raise(seq int64) {
	if i, ok := q.take(seq); ok {
		q.pushUrgent(i)
	}
}

// take removes a delivery that waits. Its key is free for the next one.
func (q *Queue) take(seq int64) (Item, bool) {
	is := func(i Item) bool { return i.Seq == seq }
	for r := range q.ready {
		if i, ok := q.ready[r].take(is); ok {
			if p := q.keys[i.Key]; i.Key != "" && p != nil {
				p.ready = false
				q.promote(i.Key, p)
			}
			return i, true
		}
	}
	if i, ok := q.takeAside(func(i Item) bool { return is(i) && !i.Urgent }); ok {
		if p := q.keys[i.Key]; p != nil {
			q.promote(i.Key, p)
		}
		return i, true
	}
	for _, p := range q.keys {
		if at := slices.IndexFunc(p.behind, is); at >= 0 {
			i := p.behind[at]
			p.behind = slices.Delete(p.behind, at, at+1)
			return i, true
		}
	}
	return Item{}, false
}

func (q *Queue) pushUrgent(i Item) {
	if _, awaited := q.awaited[i.Seq]; awaited {
		delete(q.awaited, i.Seq)
		q.keys[i.Key].awaited--
	}
	i.Urgent, i.awaited = true, false
	q.awaitedEvents[i.Seq] = time.Time{}
	q.urgent = append(q.urgent, i)
}

// popUrgent returns the first urgent delivery whose key no running handler has, for a guest
// one that may have what is lent.
func (q *Queue) popUrgent(guest bool) (Item, bool) {
	for at, i := range q.urgent {
		if !q.mayBegin(i, guest) {
			continue
		}
		if i.Key != "" {
			q.partition(i.Key).enter(i.Seq)
		}
		q.urgent = slices.Delete(q.urgent, at, at+1)
		q.size--
		return i, true
	}
	return Item{}, false
}

// mayBegin tells whether a delivery may begin with its key, for a guest in a place that is
// lent. Keys and places that are lent are for what handlers wait for.
func (q *Queue) mayBegin(i Item, guest bool) bool {
	p := q.keys[i.Key]
	switch {
	case i.Key != "" && p != nil && p.running > 0, guest && !i.Urgent:
		return false
	case !guest && (i.Key == "" || p == nil || p.lent == 0):
		return true
	}
	return i.Urgent
}

// Calm makes a delivery one like all others, in its place by the order of the log.
func (q *Queue) Calm(seq int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.awaitedEvents, seq)
	q.lower(seq)
}

// lower takes a delivery out of the urgent ones.
func (q *Queue) lower(seq int64) {
	if i, ok := q.takeAside(func(i Item) bool { return i.Seq == seq && i.Urgent }); ok {
		q.urgent = append(q.urgent, i)
	}
	at := slices.IndexFunc(q.urgent, func(i Item) bool { return i.Seq == seq })
	if at < 0 {
		return
	}
	i := q.urgent[at]
	q.urgent = slices.Delete(q.urgent, at, at+1)
	i.Urgent = false
	if i.Key == "" {
		q.ready[Rank(i.Priority)].insert(i)
		return
	}
	p := q.partition(i.Key)
	q.withdraw(i.Key, p)
	place := slices.IndexFunc(p.behind, func(other Item) bool { return !other.awaited && other.Seq > seq })
	if place < 0 {
		place = len(p.behind)
	}
	p.behind = slices.Insert(p.behind, place, i)
	q.promote(i.Key, p)
}

// withdraw puts the delivery of a key that is ready back behind it.
func (q *Queue) withdraw(key string, p *partition) {
	for r := range q.ready {
		if i, ok := q.ready[r].take(func(i Item) bool { return i.Key == key }); ok {
			p.ready = false
			p.behind = slices.Insert(p.behind, 0, i)
		}
	}
	if i, ok := q.takeAside(func(i Item) bool { return i.Key == key && !i.Urgent }); ok {
		p.behind = slices.Insert(p.behind, 0, i)
	}
}

// ToPoll returns the seqs of urgent deliveries that may have to be polled, once.
func (q *Queue) ToPoll(now time.Time) (seqs []int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for seq, at := range q.awaitedEvents {
		if !at.IsZero() && !at.After(now) {
			seqs = append(seqs, seq)
			q.awaitedEvents[seq] = time.Time{}
		}
	}
	slices.Sort(seqs)
	return seqs
}

// NextPoll returns when an urgent delivery has to be polled that is not yet due; zero for
// none.
func (q *Queue) NextPoll(now time.Time) (next time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, at := range q.awaitedEvents {
		if at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// PollAgain says when to poll a delivery, and reports false if it is not urgent.
func (q *Queue) PollAgain(seq int64, at time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, urgent := q.awaitedEvents[seq]
	if urgent {
		q.awaitedEvents[seq] = at
	}
	return urgent
}

// Lend makes the key of a running handler free for urgent deliveries.
func (q *Queue) Lend(i Item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.keys[i.Key]; p != nil { // else it has none, or the queue was drained
		p.exit(i.Seq)
		p.lent++
		p.beside = append(p.beside, i.Seq)
	}
}

// TakeBack undoes lend.
func (q *Queue) TakeBack(i Item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.keys[i.Key]; p != nil {
		p.lent--
		p.leave(i.Seq)
		p.enter(i.Seq)
	}
}

// Free tells whether no running handler has a key.
func (q *Queue) Free(key string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.keys[key]
	return key == "" || p == nil || p.running == 0
}

// take removes the first item that is the one.
func (f *fifo) take(is func(Item) bool) (Item, bool) {
	at := slices.IndexFunc(f.items[f.head:], is)
	if at < 0 {
		return Item{}, false
	}
	i := f.items[f.head+at]
	f.items = slices.Delete(f.items, f.head+at, f.head+at+1)
	return i, true
}

// insert puts an item before the first one of a later event.
func (f *fifo) insert(i Item) {
	at := slices.IndexFunc(f.items[f.head:], func(other Item) bool { return other.Seq > i.Seq })
	if at < 0 {
		f.push(i)
		return
	}
	f.items = slices.Insert(f.items, f.head+at, i)
}
