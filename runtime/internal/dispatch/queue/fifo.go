package queue

import "slices"

// fifo is a slice that is consumed from the front.
type fifo struct {
	items []Item
	head  int
}

func (f *fifo) empty() bool { return f.head == len(f.items) }

func (f *fifo) push(i Item) {
	// What was popped makes room: a queue that is never empty must not grow.
	if f.head > len(f.items)/2 {
		n := copy(f.items, f.items[f.head:])
		clear(f.items[n:])
		f.items, f.head = f.items[:n], 0
	}
	f.items = append(f.items, i)
}

func (f *fifo) first() Item { return f.items[f.head] }

func (f *fifo) pop() Item {
	i := f.items[f.head]
	f.items[f.head] = Item{}
	f.head++
	return i
}

// unpop puts an item at the front.
func (f *fifo) unpop(i Item) {
	if f.head > 0 {
		f.head--
		f.items[f.head] = i
		return
	}
	f.items = slices.Insert(f.items, 0, i)
}
