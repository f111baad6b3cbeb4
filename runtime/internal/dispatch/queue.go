package dispatch

import (
	"slices"
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
	key      string // of its partition; empty for none
	priority Priority
}

// queue holds what was polled and has no lane yet: first come, first served
// within a priority, and one at a time within a partition key. Nothing overtakes
// an earlier delivery of its own key. It is safe for concurrent use.
type queue struct {
	mu     sync.Mutex
	ready  [3]fifo           // by rank: high, normal, low
	passed [3]int            // by rank: how often it was overtaken since its last turn
	behind map[string][]item // by key: what waits for the one that is ready, runs or is held
	held   map[string]int64  // by key: the seq of a failed delivery that nothing may overtake
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

func (q *queue) push(i item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.size++
	if seq, held := q.held[i.key]; held && seq == i.Seq {
		delete(q.held, i.key) // its retry; the key is busy since it failed
		q.ready[rank(i.priority)].push(i)
		return
	}
	if i.key != "" {
		if waiting, busy := q.behind[i.key]; busy {
			q.behind[i.key] = append(waiting, i)
			return
		}
		if q.behind == nil {
			q.behind = map[string][]item{}
		}
		q.behind[i.key] = nil
	}
	q.ready[rank(i.priority)].push(i)
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
	r, ok := q.turn()
	if !ok {
		return item{}, false
	}
	q.size--
	return q.ready[r].pop(), true
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

// hold keeps a key busy until the delivery with the given seq comes again.
func (q *queue) hold(key string, seq int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held == nil {
		q.held = map[string]int64{}
	}
	if _, held := q.held[key]; held {
		return // by one that failed before
	}
	q.held[key] = seq
	if q.behind == nil {
		q.behind = map[string][]item{}
	}
	if _, busy := q.behind[key]; !busy {
		q.behind[key] = nil
	}
}

// done frees a key, and reports whether a delivery waited for it.
func (q *queue) done(key string) (more bool) {
	if key == "" {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.behind[key]
	if len(waiting) == 0 {
		delete(q.behind, key)
		return false
	}
	q.behind[key] = waiting[1:]
	// To the front: it is older than what was polled since.
	q.ready[rank(waiting[0].priority)].unpop(waiting[0])
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
	for key, waiting := range q.behind {
		left = append(left, waiting...)
		delete(q.behind, key)
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
	// What was popped makes room: a queue that is never empty must not grow.
	if f.head > len(f.items)/2 {
		n := copy(f.items, f.items[f.head:])
		clear(f.items[n:])
		f.items, f.head = f.items[:n], 0
	}
	f.items = append(f.items, i)
}

func (f *fifo) pop() item {
	i := f.items[f.head]
	f.items[f.head] = item{}
	f.head++
	return i
}

// unpop puts an item at the front.
func (f *fifo) unpop(i item) {
	if f.head > 0 {
		f.head--
		f.items[f.head] = i
		return
	}
	f.items = slices.Insert(f.items, 0, i)
}
