package dispatch

import (
	"slices"
	"time"
)

// gathering is what a subscription with batches gathers. It is guarded by the turn.
type gathering struct {
	queue *queue
	items []item
	since time.Time // when the first of them was taken; zero for none
	full  bool      // nothing is to be added
}

// putBackGathered undoes the gathering. The time since the first delivery was taken goes
// on, if there is one.
func (g *gathering) putBack() {
	g.queue.giveBack(g.items...)
	g.drop()
	g.full = false
}

// drop forgets the deliveries.
func (g *gathering) drop() {
	clear(g.items)
	g.items = g.items[:0]
}

// limit returns how many deliveries the batch may have that is gathered.
func (g *gathering) limit(size int) int {
	if len(g.items) > 0 && g.items[0].Suspect {
		return min(size, int(g.items[0].Together))
	}
	return size
}

// gather removes the next delivery that may join a batch. It has no key until enter, so
// that the next one of the key may join it, but with onePerKey and for an urgent one.
func (q *queue) gather(onePerKey bool) (item, bool) {
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
			return item{}, false
		}
		i := q.ready[r].pop()
		if i.key != "" {
			p := q.keys[i.key]
			p.ready = false
			if p.taken() { // by a batch that runs
				p.behind = slices.Insert(p.behind, 0, i)
				continue
			}
			if onePerKey {
				p.enter(i.Seq)
				i.entered = true
			} else if next, ok := p.next(); ok {
				q.ready[rank(next.priority)].insert(next)
			} else if p.idle() {
				delete(q.keys, i.key)
			}
		}
		q.size--
		return i, true
	}
}

// anyAwaited tells whether a handler waits for the event of one of these deliveries.
func (q *queue) anyAwaited(items []item) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(items, func(i item) bool {
		_, awaited := q.awaitedEvents[i.Seq]
		return awaited
	})
}

// heldUpBy tells whether deliveries in memory wait for the keys of gathered ones.
func (q *queue) heldUpBy(items []item) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(items, func(i item) bool {
		p := q.keys[i.key]
		return i.key != "" && p != nil && len(p.behind) > 0
	})
}

// enter gives a delivery that was gathered its key.
func (q *queue) enter(i *item) {
	if i.key == "" || i.entered {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.partition(i.key)
	if p.ready { // the next one of the key was to join
		q.withdraw(i.key, p)
	}
	p.enter(i.Seq)
	i.entered = true
}

// giveBack undoes gather for deliveries, in the order in which they were taken.
func (q *queue) giveBack(items ...item) {
	if len(items) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.size += len(items)
	for _, i := range slices.Backward(items) {
		entered := i.entered
		i.entered = false
		if i.key == "" {
			if i.urgent {
				q.urgent = slices.Insert(q.urgent, 0, i)
			} else {
				q.ready[rank(i.priority)].unpop(i)
			}
			continue
		}
		if p := q.keys[i.key]; p != nil && entered { // else the queue was drained
			p.exit(i.Seq)
		}
		p := q.partition(i.key)
		if i.urgent {
			q.urgent = slices.Insert(q.urgent, 0, i)
			continue
		}
		if p.ready {
			q.withdraw(i.key, p)
		}
		p.behind = slices.Insert(p.behind, 0, i)
	}
	for _, i := range slices.Backward(items) {
		if p := q.keys[i.key]; p != nil {
			q.promote(i.key, p)
		}
	}
}
