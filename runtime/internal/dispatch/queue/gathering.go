package queue

import (
	"slices"
	"time"
)

// Gathering is what a subscription with batches gathers. It is guarded by the turn.
type Gathering struct {
	queue *Queue
	Items []Item
	Since time.Time // when the first of them was taken; zero for none
	Full  bool      // nothing is to be added
}

// NewGathering returns what nothing is gathered in.
func NewGathering(q *Queue) *Gathering { return &Gathering{queue: q} }

// PutBack undoes the gathering. The time since the first delivery was taken goes
// on, if there is one.
func (g *Gathering) PutBack() {
	g.queue.GiveBack(g.Items...)
	g.Drop()
	g.Full = false
}

// Drop forgets the deliveries.
func (g *Gathering) Drop() {
	clear(g.Items)
	g.Items = g.Items[:0]
}

// Limit returns how many deliveries the batch may have that is gathered.
func (g *Gathering) Limit(size int) int {
	if len(g.Items) > 0 && g.Items[0].Suspect {
		return min(size, int(g.Items[0].Together))
	}
	return size
}

// Gather removes the next delivery that may join a batch. It has no key until enter, so
// that the next one of the key may join it, but with onePerKey and for an urgent one.
func (q *Queue) Gather(onePerKey bool) (Item, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.urgent) > 0 && !q.suspected() {
		if i, ok := q.popUrgent(false); ok {
			i.entered = true
			return i, true
		}
	}
	for {
		r, ok := q.turn()
		if !ok {
			return Item{}, false
		}
		i := q.ready[r].pop()
		if i.Key != "" {
			p := q.keys[i.Key]
			p.ready = false
			if p.taken() { // by a batch that runs
				p.behind = slices.Insert(p.behind, 0, i)
				continue
			}
			if onePerKey {
				p.enter(i.Seq)
				i.entered = true
			} else if next, ok := p.next(); ok {
				q.ready[Rank(next.Priority)].insert(next)
			} else if p.idle() {
				delete(q.keys, i.Key)
			}
		}
		q.size--
		return i, true
	}
}

// AnyAwaited tells whether a handler waits for the event of one of these deliveries.
func (q *Queue) AnyAwaited(items []Item) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(items, func(i Item) bool {
		_, awaited := q.awaitedEvents[i.Seq]
		return awaited
	})
}

// HeldUpBy tells whether deliveries in memory wait for the keys of gathered ones.
func (q *Queue) HeldUpBy(items []Item) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(items, func(i Item) bool {
		p := q.keys[i.Key]
		return i.Key != "" && p != nil && len(p.behind) > 0
	})
}

// Enter gives a delivery that was gathered its key.
func (q *Queue) Enter(i *Item) {
	if i.Key == "" || i.entered {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.partition(i.Key)
	if p.ready { // the next one of the key was to join
		q.withdraw(i.Key, p)
	}
	p.enter(i.Seq)
	i.entered = true
}

// GiveBack undoes gather for deliveries, in the order in which they were taken.
func (q *Queue) GiveBack(items ...Item) {
	if len(items) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.size += len(items)
	for _, i := range slices.Backward(items) {
		entered := i.entered
		i.entered = false
		if i.Key == "" {
			if i.Urgent {
				q.urgent = slices.Insert(q.urgent, 0, i)
			} else {
				q.ready[Rank(i.Priority)].unpop(i)
			}
			continue
		}
		if p := q.keys[i.Key]; p != nil && entered { // else the queue was drained
			p.exit(i.Seq)
		}
		p := q.partition(i.Key)
		if i.Urgent {
			q.urgent = slices.Insert(q.urgent, 0, i)
			continue
		}
		if p.ready {
			q.withdraw(i.Key, p)
		}
		p.behind = slices.Insert(p.behind, 0, i)
	}
	for _, i := range slices.Backward(items) {
		if p := q.keys[i.Key]; p != nil {
			q.promote(i.Key, p)
		}
	}
}
