package buslog

import (
	"container/heap"
	"time"
)

// dueAt is a delivery that waits. It may be out of date: the row says whether it is.
type dueAt struct {
	due time.Time
	seq int64
}

// queue orders deliveries by the time at which they are due.
type queue []dueAt

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].due.Equal(q[j].due) {
		return q[i].seq < q[j].seq
	}
	return q[i].due.Before(q[j].due)
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(dueAt)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func (q *queue) add(d dueAt) { heap.Push(q, d) }
func (q *queue) take() dueAt { return heap.Pop(q).(dueAt) }
