package buslog

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// dividedUnit has all parts of a subscription, on a stream of one replica.
func dividedUnit(t *testing.T) *unit {
	l := newTestLog(t)
	l.stream = &stream.Stream{}
	s := l.sub("orders")
	u := l.unitOf(s)
	s.parts[whole] = part{cursor{N: 1, Divided: true}, 1}
	u.running = true // nothing is stored
	for _, at := range allParts {
		s.parts[at] = part{cursor{N: 1, Owner: "me", Next: 1}, 1}
		u.acquire(at, 0)
	}
	u.next = 1000
	return u
}

// On one replica each part has a turn, with one message. What ends meanwhile has to wait for the next round, in which
// nothing is forgotten.
func TestOnOneReplicaEachPartIsStoredOnceInARound(t *testing.T) {
	u := dividedUnit(t)
	for seq := int64(1); seq <= 100; seq++ {
		u.hold(true, seq)
		u.flights.of(seq).in = uint8(seq % slots)
	}
	at := func(seq int64) int { return u.sub.at(u.flights.of(seq).slot()) }
	first := at(1)
	other := int64(2)
	for at(other) == first {
		other++
	}
	late := int64(1 + slots)
	if at(late) != first {
		t.Fatal("the events are of two parts")
	}
	u.succeed(1, other)
	u.round = u.changes
	store := func() (seqs []int64) {
		p := u.makePlan(u.takeEnded(), nil, nil)
		if len(p.msgs) > 1 {
			t.Errorf("%d messages are stored together", len(p.msgs))
		}
		for _, f := range p.flights {
			seqs = append(seqs, f.record.Seq)
		}
		u.complete(p)
		return seqs
	}
	if got := store(); !slices.Equal(got, []int64{1}) {
		t.Errorf("the first turn stores %d, want 1", got)
	}
	if u.stored == u.changes {
		t.Error("all is said to be stored after the first turn")
	}
	u.succeed(late)
	var stored []int64
	for range partCount {
		stored = append(stored, store()...)
	}
	if !slices.Equal(stored, []int64{other}) {
		t.Errorf("the other turns of the round store %d, want %d", stored, other)
	}
	select {
	case <-u.soon:
	default:
		t.Error("nobody is told that something is left for the next round")
	}
	u.round = u.changes
	if got := store(); !slices.Equal(got, []int64{late}) {
		t.Errorf("the next round stores %d, want %d", got, late)
	}
	for u.stored < u.round {
		store()
	}
	if len(u.queue) > 0 {
		t.Errorf("%d deliveries are left", len(u.queue))
	}
}

// While one subscription waits for what comes next, others may have it and much more.
func TestNothingIsSkippedOfWhatAReaderHasForgottenMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := Sizes
		defer func() { Sizes = before }()
		Sizes.Page, Sizes.Ahead = 4, 4
		var a ahead
		r := &aheadReader{in: &a, from: 1, last: 0, over: t.Context()}
		a.readers = []*aheadReader{r}
		got := make(chan []*engine.Record)
		go func() {
			events, _ := a.after(nil, 1, 100)
			got <- events
		}()
		synctest.Wait() // it waits for event 1
		a.mu.Lock()
		for seq := int64(1); seq <= 40; seq++ {
			r.events, r.slots, r.last = append(r.events, &engine.Record{Seq: seq}), append(r.slots, 0), seq
			r.take(seq)
		}
		close(r.news)
		r.news = nil
		a.mu.Unlock()
		if events := <-got; len(events) > 0 && events[0].Seq != 1 {
			t.Errorf("who has waited for event 1 gets %d first", events[0].Seq)
		}
		time.Sleep(time.Second)
	})
}
