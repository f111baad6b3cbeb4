package buslog

import (
	"maps"
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

// On one replica each part is stored by a message of its own, and none waits for the others. What was refused is stored
// by the next plan.
func TestOnOneReplicaAPartIsStoredThoughTheNextOneIsRefused(t *testing.T) {
	u := dividedUnit(t)
	for seq := int64(1); seq <= 100; seq++ {
		u.hold(true, seq)
		u.flights.of(seq).in = uint8(seq % slots)
	}
	at := func(seq int64) int { return u.sub.at(u.flights.of(seq).slot()) }
	mine, other := at(1), int64(2)
	for at(other) == mine {
		other++
	}
	u.succeed(1, other)
	plan := func(want ...int64) *plan {
		t.Helper()
		p := u.makePlan(u.takeEnded(), nil, nil)
		u.plan = p
		var seqs []int64
		for _, f := range p.flights {
			seqs = append(seqs, f.record.Seq)
		}
		if !slices.Equal(seqs, want) || len(p.msgs) < len(want) || len(p.msgs) != len(p.cursors) {
			t.Errorf("the plan stores %d with %d messages for %d parts, want %d", seqs, len(p.msgs), len(p.cursors), want)
		}
		return p
	}
	first := plan(1, other)
	for part := range maps.Clone(first.cursors) {
		if part != at(other) {
			u.complete(first, part)
		}
	}
	if len(u.queue) != 1 || u.queue[0].record.Seq != other || u.stored == u.changes {
		t.Errorf("%d deliveries are left, and %d of %d changes are stored, before the last part is", len(u.queue), u.stored, u.changes)
	}
	p := plan(other) // the message was refused
	for part := range maps.Clone(p.cursors) {
		u.complete(p, part)
	}
	if len(u.queue) > 0 || u.stored != u.changes || u.plan != nil {
		t.Errorf("%d deliveries are left, and %d of %d changes are stored", len(u.queue), u.stored, u.changes)
	}
	if p = plan(); len(p.msgs) == 0 {
		u.complete(p, whole) // there was nothing to store
	}
}

// Of a plan in doubt nothing counts that another plan has stored meanwhile.
func TestOfAPlanInDoubtThePartsThatWereStoredOtherwiseDoNotCount(t *testing.T) {
	u := dividedUnit(t)
	for seq := int64(1); seq <= 100; seq++ {
		u.hold(true, seq)
		u.flights.of(seq).in = uint8(seq % slots)
	}
	at := func(seq int64) int { return u.sub.at(u.flights.of(seq).slot()) }
	other := int64(2)
	for at(other) == at(1) {
		other++
	}
	mine, its := at(1), at(other)
	u.succeed(1, other)
	doubtful := u.makePlan(u.takeEnded(), nil, nil)
	u.doubts = []*plan{doubtful}
	again := u.makePlan(u.takeEnded(), nil, nil)
	u.plan = again
	u.complete(again, mine)
	if doubtful.cursors[mine] != nil || doubtful.cursors[its] == nil || len(u.doubts) != 1 {
		t.Errorf("the plan in doubt has the parts %v, want %d among them and not %d", doubtful.cursors, its, mine)
	}
	u.complete(doubtful, its) // it was stored after all
	if len(u.queue) > 0 {
		t.Errorf("%d deliveries are left", len(u.queue))
	}
	if again.cursors[its] == nil {
		t.Error("the newer plan has lost a part that nobody has stored for it")
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
