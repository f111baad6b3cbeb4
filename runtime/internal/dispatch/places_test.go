package dispatch

import "testing"

// A handler was called in a lent place and waits itself; the lender has ended. In the place of the one that waits
// nothing may begin that nobody waits for, not even in the moment in which what was called in it ends.
func TestThePlaceOfAHandlerThatWaitsIsLentAlsoWhileItsGuestEnds(t *testing.T) {
	s := New(nil, Config{Concurrency: 1, Alone: new(Alone)})
	s.places.lent, s.places.guests = 1, 1
	guest := &run{guest: true}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range 50_000 {
			s.gate.active.Add(1)
			s.places.enter()
			s.leaveGate(guest)
		}
	}()
	for !isClosed(ended) {
		if !s.places.onlyUrgent() {
			t.Error("the place is free for what nobody waits for")
			break
		}
	}
	<-ended
}
