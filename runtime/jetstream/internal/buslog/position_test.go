package buslog

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// newTestUnit returns a unit that has the whole of a subscription, and has looked at the events
// before next.
func newTestUnit(t *testing.T, stands, next int64) *unit {
	l := newTestLog(t)
	s := l.sub("orders")
	u := l.unitOf(s)
	s.parts[whole] = part{cursor{N: 1, Owner: "me", Next: stands}, 1}
	u.running = true // nothing is stored
	u.acquire(whole, 0)
	u.next = next
	return u
}

// hold adds deliveries that were polled, and have begun or not.
func (u *unit) hold(begun bool, seqs ...int64) {
	for _, seq := range seqs {
		r := &engine.Record{Seq: seq}
		u.flights.add(&flight{delivery: engine.Delivery{Record: r}, record: r})
		if begun {
			u.begin(u.flights.of(seq), time.Now())
		}
	}
}

func (u *unit) succeed(seqs ...int64) (ended []*flight) {
	for _, seq := range seqs {
		f := u.flights.of(seq)
		f.returned = true
		u.end(f, engine.Disposition{Kind: engine.Done})
		ended = append(ended, f)
	}
	return ended
}

// A cursor names those that have not ended up to the last one that has, and stands at the first
// one behind it. So nothing that has ended is looked at again, and all else is.
func TestACursorStandsAtTheFirstEventThatHasNotEnded(t *testing.T) {
	u := newTestUnit(t, 3, 100)
	u.hold(true, 4, 6, 8)
	u.hold(false, 10, 20)
	for _, one := range []struct {
		ended []int64
		next  int64
		open  []int64
	}{
		{nil, 4, nil},
		{[]int64{6}, 8, []int64{4}},
		{[]int64{4}, 8, nil},
		{[]int64{8, 10}, 20, nil},
		{[]int64{20}, 100, nil},
	} {
		p := u.makePlan(u.succeed(one.ended...), nil, nil)
		c := p.cursors[whole]
		if c.Next != one.next || !slices.Equal(c.Open, one.open) {
			t.Errorf("when %d have ended the cursor stands at %d, with %d open, want %d and %d", one.ended, c.Next, c.Open, one.next, one.open)
		}
		u.sub.parts[whole] = part{*c, u.sub.parts[whole].rev + 1}
		u.complete(p, whole)
	}
}

// Of a part that was handled further than others all is said to be looked at up to there, so
// that what is not settled of that has to be named.
func TestACursorNamesWhatIsOpenOfAPartThatWasHandledFurther(t *testing.T) {
	u := newTestUnit(t, 3, 10)
	for i := range u.skip {
		u.skip[i] = 50
	}
	u.hold(true, 20)
	u.reopen = []reopened{{30, 0}}
	c := u.makePlan(nil, nil, nil).cursors[whole]
	if c.Next != 10 || len(c.Passed) != partCount || !slices.Equal(c.Open, []int64{20, 30}) {
		t.Errorf("the cursor stands at %d, with %d passed and %d open, want 10, and 20 and 30 open", c.Next, c.Passed, c.Open)
	}
}

// After a crash as many deliveries are claimed one by one as a busy owner can have begun beyond
// its cursor. So it begins no more.
func TestABusySubscriptionBeginsNoMoreThanItsSuccessorClaims(t *testing.T) {
	u := newTestUnit(t, 1, 2*mostUnstored+1)
	u.setBusy(true)
	u.parts[whole].busy = true
	waits := 0
	for seq := int64(1); seq <= 2*mostUnstored; seq++ {
		u.hold(true, seq)
		if u.claim(0, false, time.Now()) {
			waits++
		}
		u.succeed(seq)
	}
	if waits != mostUnstored {
		t.Errorf("%d handlers of %d wait until others are stored, want %d", waits, 2*mostUnstored, mostUnstored)
	}
}

// Many subscriptions that begin few handlers each would wait for a round trip for every one.
func TestSubscriptionsThatBeginManyHandlersTogetherAreBusy(t *testing.T) {
	l, now := newTestLog(t), time.Now()
	busy := 0
	for n := range 40 {
		s := l.sub(fmt.Sprint("orders-", n))
		u := l.unitOf(s)
		s.parts[whole] = part{cursor{N: 1, Owner: "me", Next: 1}, 1}
		u.running = true // nothing is stored
		u.acquire(whole, 0)
		for range burst / 2 {
			u.claim(0, false, now)
		}
		if u.busyMode {
			busy++
		}
	}
	if want := 40 - burstOfAll/(burst/2); busy != want {
		t.Errorf("%d subscriptions are busy, want %d", busy, want)
	}
}
