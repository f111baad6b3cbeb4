package queue

import (
	"cmp"
	"slices"
	"time"
)

// Surplus is a delivery that was taken out of the queue because it waits for others.
type Surplus struct {
	Item
	Waitlist string    // of the limit that it waits for; empty for its partition key
	Head     bool      // nothing frees it: it goes before the others of its waitlist, or of its key
	Due      time.Time // of a head, if it is known when it may begin
}

// waitlistMemory is how many deliveries of a waitlist stay in memory at most: so many can end before others have come
// from the file.
const waitlistMemory = 32

// Thin takes deliveries out of the queue that wait for others of their waitlist, and are not younger than an event: of
// each waitlist all but the first few, and what waits behind them. If the first ones alone crowd the window, some of
// these go, too. waitlist says what a delivery in line waits for, and keyWaitlist what those of a partition key wait
// for; empty for what stays.
func (q *Queue) Thin(upTo int64, window int, waitlist func(Item) (name string, due time.Time), keyWaitlist func(key string) string) (out []Surplus) {
	q.mu.Lock()
	defer q.mu.Unlock()
	type lined struct {
		Item
		due time.Time
	}
	lines := map[string][]lined{}
	for _, i := range q.aside {
		if !q.movable(i) || i.Key != "" && keyWaitlist(i.Key) == "" {
			continue
		}
		if name, due := waitlist(i); name != "" {
			lines[name] = append(lines[name], lined{i, due})
		}
	}
	all := len(lines)
	for _, p := range q.keys {
		if len(p.behind) > 1 {
			all++
		}
	}
	stay := min(max(window/4/max(all, 1), 1), waitlistMemory)
	for key, p := range q.keys {
		if len(p.behind) > stay && keyWaitlist(key) != "" && p.behind[stay].Seq <= upTo && !slices.ContainsFunc(p.behind[stay:], Item.IsSuspect) {
			for _, i := range p.behind[stay:] {
				out = append(out, Surplus{Item: i})
			}
			q.size -= len(p.behind) - stay
			clear(p.behind[stay:])
			p.behind = p.behind[:stay]
		}
	}
	var heads []lined
	for name, line := range lines {
		slices.SortFunc(line, func(a, b lined) int { return cmp.Compare(a.Seq, b.Seq) })
		first := min(stay, len(line))
		if len(line) > first && line[first].came(upTo) {
			for _, one := range line[first:] {
				out = q.remove(out, Surplus{Item: one.Item, Waitlist: name})
			}
		}
		heads = append(heads, line[:first]...)
	}
	slices.SortFunc(heads, func(a, b lined) int { return cmp.Compare(b.Seq, a.Seq) })
	for _, one := range heads {
		if q.size <= window/2 || len(out) > 0 { // it is enough, for now
			break
		}
		if one.came(upTo) {
			name, _ := waitlist(one.Item)
			out = q.remove(out, Surplus{Item: one.Item, Waitlist: name, Head: true, Due: one.due})
		}
	}
	return out
}

// came tells whether the delivery is not younger than an event. What does not come in the order of the log is not.
func (i Item) came(upTo int64) bool { return i.Seq <= upTo || i.Exempt }

// movable tells whether a delivery in line may leave memory.
func (q *Queue) movable(i Item) bool {
	if i.Urgent || i.IsSuspect() {
		return false
	}
	p := q.keys[i.Key]
	return p == nil || !slices.ContainsFunc(p.behind, Item.IsSuspect)
}

// remove takes a delivery out of line, and what waits behind it. A retry may be older than the delivery. That would go
// behind it when it comes back, and free none: such a retry comes by itself.
func (q *Queue) remove(out []Surplus, one Surplus) []Surplus {
	delete(q.aside, one.Limits.Waiter)
	one.Unwait()
	q.size--
	out = append(out, one)
	p := q.keys[one.Key]
	if p == nil {
		return out
	}
	p.setParked(false, false)
	for _, i := range p.behind {
		out = append(out, Surplus{Item: i, Head: i.Seq < one.Seq})
	}
	q.size -= len(p.behind)
	p.behind = nil
	if p.idle() {
		delete(q.keys, one.Key)
	}
	return out
}

// TakeBehind takes out of the queue what waits for a partition key, and is so.
func (q *Queue) TakeBehind(key string, is func(Item) bool) (out []Item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.keys[key]
	if p == nil {
		return nil
	}
	p.behind = slices.DeleteFunc(p.behind, func(i Item) bool {
		if i.awaited || i.IsSuspect() || !is(i) {
			return false
		}
		out = append(out, i)
		return true
	})
	q.size -= len(out)
	return out
}

// Load returns how many deliveries there are, and how many of them wait for others: in line, or for their partition
// key.
func (q *Queue) Load() (all, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting = q.size - len(q.urgent)
	for i := range q.ready {
		waiting -= len(q.ready[i].items) - q.ready[i].head
	}
	return q.size, waiting
}

// Hurries tells whether a handler waits for the event at seq.
func (q *Queue) Hurries(seq int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, urgent := q.awaitedEvents[seq]
	return urgent
}
