package buslog

import "testing"

// The newest events are counted exactly, wherever a follower stands; older ones in parts.
func TestAFollowerIsToldHowManyEventsWerePruned(t *testing.T) {
	const events = 3 * prunedSeqs
	var h pruneHistory
	var step []int64
	for n := range int64(events) {
		if step = append(step, 1+3*n); len(step) == pruneStep { // every third message is an event
			h, step = h.with(step), nil
		}
	}
	if got := h.within(0, 3*events); got != events {
		t.Errorf("of %d events %d were pruned", events, got)
	}
	for _, n := range []int64{1, 7, 1000, prunedSeqs / 2} {
		if got := h.within(3*(events-n), 3*events); got != n {
			t.Errorf("of the newest %d events %d were pruned", n, got)
		}
	}
	if got := h.within(0, 3*prunedSeqs); got < prunedSeqs*9/10 || got > prunedSeqs*11/10 {
		t.Errorf("of the oldest %d events %d were pruned", prunedSeqs, got)
	}
	if len(h.Parts) > 20 || len(h.Newest) > 2*prunedSeqs {
		t.Errorf("the record has %d parts and %d bytes", len(h.Parts), len(h.Newest))
	}
}
