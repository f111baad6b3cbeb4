package dispatch

import (
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Each event of a batch has a claim of its own, under a number that no other attempt of the
// subscription has meanwhile, so that after a crash all events of the batch are found. They
// are begun and ended together.

// takeSlots returns numbers for attempts that run at once, under which they are claimed. No
// other attempt of the subscription has them until freeSlots.
func (s *Scheduler) takeSlots(n int) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	slots := make([]int, 0, n)
	for len(slots) < n && len(s.slots) > 0 {
		last := len(s.slots) - 1
		slots = append(slots, s.slots[last])
		s.slots = s.slots[:last]
	}
	for len(slots) < n {
		slots = append(slots, s.slotted)
		s.slotted++
	}
	for len(s.running) < s.slotted {
		s.running = append(s.running, new(slot))
	}
	return slots
}

func (s *Scheduler) freeSlots(slots []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots = append(s.slots, slots...)
}

// claimAll begins the attempts, and removes attempts at deliveries that must not be tried.
func (b *Batch) claimAll() {
	left, kept := b.begun, b.begun[:0]
	deliveries, slots := make([]*engine.Delivery, len(left)), make([]int, len(left))
	for i, a := range left {
		deliveries[i], slots[i] = a.Delivery, int(a.worker)
	}
	for len(left) > 0 {
		n, begun, cancelled := b.scheduler.consumer.Begin(deliveries, slots, left[0].started)
		for _, a := range left[:n] {
			a.startAt(begun)
		}
		kept = append(kept, left[:n]...)
		if n < len(left) && left[n].refused(cancelled) {
			n++
		}
		left, deliveries, slots = left[n:], deliveries[n:], slots[n:]
	}
	b.begun = kept
}
