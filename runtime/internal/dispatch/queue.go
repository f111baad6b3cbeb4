package dispatch

import (
	"sync"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Priority orders the deliveries that wait in one subscription.
type Priority int

// The priorities. Normal is the zero value.
const (
	Normal Priority = iota
	High
	Low
)

// patience is how many deliveries may overtake a waiting one of a lower
// priority before it has its turn.
const patience = 8

// item is a delivery that waits for a lane.
type item struct {
	*engine.Delivery
	key string // of its partition; empty for none
}

// queue holds what was polled and has no lane yet: first come, first served
// within a priority; one at a time within a partition key. It is safe for
// concurrent use.
type queue struct {
	mu     sync.Mutex
	ready  [3]fifo           // by rank: high, normal, low
	passed [3]int            // by rank: how often it was overtaken since its last turn
	parked map[string][]item // by key: waiting for the one that runs; present while a key is busy
	size   int               // of all of it
}

// rank gives the order in which priorities are served.
func rank(p Priority) int {
	switch p {
	case High:
		return 0
	case Low:
		return 2
	default:
		return 1
	}
}

func (q *queue) push(i item, p Priority) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ready[rank(p)].push(i)
	q.size++
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size
}

// pop returns the next delivery that may run. Its key is busy until done.
func (q *queue) pop() (item, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		r, ok := q.turn()
		if !ok {
			return item{}, false
		}
		i := q.ready[r].pop()
		if i.key != "" {
			if waiting, busy := q.parked[i.key]; busy {
				q.parked[i.key] = append(waiting, i)
				continue
			}
			if q.parked == nil {
				q.parked = map[string][]item{}
			}
			q.parked[i.key] = nil
		}
		q.size--
		return i, true
	}
}

// turn chooses the priority that is served next.
func (q *queue) turn() (chosen int, ok bool) {
	chosen = -1
	for r := range q.ready {
		if q.ready[r].empty() {
			q.passed[r] = 0
			continue
		}
		if chosen < 0 || q.passed[r] >= patience {
			chosen = r
		}
	}
	if chosen < 0 {
		return 0, false
	}
	q.passed[chosen] = 0
	for r := chosen + 1; r < len(q.ready); r++ {
		if !q.ready[r].empty() {
			q.passed[r]++
		}
	}
	return chosen, true
}

// done frees a key, and reports whether a delivery waited for it.
func (q *queue) done(key string) (more bool) {
	if key == "" {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.parked[key]
	delete(q.parked, key)
	if len(waiting) == 0 {
		return false
	}
	// Back to the front, ahead of what was polled later: order within a key
	// is order in the log.
	q.ready[0].unpop(waiting)
	return true
}

// drain removes and returns everything.
func (q *queue) drain() (left []item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for r := range q.ready {
		for !q.ready[r].empty() {
			left = append(left, q.ready[r].pop())
		}
	}
	for key, waiting := range q.parked {
		left = append(left, waiting...)
		delete(q.parked, key)
	}
	q.size = 0
	return left
}

// fifo is a slice that is consumed from the front.
type fifo struct {
	items []item
	head  int
}

func (f *fifo) empty() bool { return f.head == len(f.items) }

func (f *fifo) push(i item) {
	if f.empty() {
		f.items, f.head = f.items[:0], 0
	}
	f.items = append(f.items, i)
}

func (f *fifo) pop() item {
	i := f.items[f.head]
	f.items[f.head] = item{}
	f.head++
	return i
}

// unpop puts items back at the front.
func (f *fifo) unpop(items []item) {
	f.items = append(append([]item(nil), items...), f.items[f.head:]...)
	f.head = 0
}
