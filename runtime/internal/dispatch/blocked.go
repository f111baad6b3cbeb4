package dispatch

import (
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// In a strict order a delivery that has to come again holds up the later ones of its key. If the window is full of
// those, its retry is polled by its number: in the order of due times any number of other deliveries can be before it.

// blocked is when deliveries that hold up others are looked for.
type blocked struct {
	changed bool      // something may have become due earlier than was known
	looked  time.Time // when that was taken into account last
}

// blockedPause is how often what may have changed is looked at: each time that means to ask for each of them.
const blockedPause = time.Second

// pollBlocking polls what holds up deliveries in memory and is due. It returns when another of them may be due; zero if
// there is none.
func (s *Scheduler) pollBlocking(dst []*engine.Delivery) (_ []*engine.Delivery, next time.Time, err error) {
	b, now := &s.blocked, time.Now()
	all := b.changed && now.Sub(b.looked) >= blockedPause
	if all {
		b.changed, b.looked = false, now
	}
	seqs, next := s.queue.blocking(now, all)
	for _, seq := range seqs {
		d, again, err := s.consumer.PollEvent(seq)
		if err != nil {
			return dst, time.Time{}, err
		}
		if d != nil {
			dst = append(dst, d)
			continue
		}
		if !again.After(now) { // it is held, or on its way: there will be a signal
			again = now.Add(blockedPause)
		}
		s.queue.dueAgain(seq, again)
		next = earlier(next, again)
	}
	if b.changed {
		next = earlier(next, b.looked.Add(blockedPause))
	}
	return dst, next, nil
}

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
