package jetstream_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// count returns how many events are handled.
func (x *sharing) count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.handled
}

func (x *sharing) wantDivided(want bool) {
	x.t.Helper()
	if _, _, divided := x.owners(); divided != want {
		x.t.Errorf("the subscription is divided: %v, want %v", divided, want)
	}
}

func TestAConcurrencyThatChangesFromOneToManyAndBackTakesTheSubscriptionAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSharing(t)
		publish, end := x.publisher()
		more := func(n int) {
			for i := range n {
				publish(fmt.Sprint("key ", i%40))
			}
		}
		more(400)
		one := x.start(1)
		time.Sleep(time.Second)
		x.wantDivided(false)

		many := x.start(4) // of the new version
		time.Sleep(time.Second)
		x.wantDivided(false) // while one of the old version has it
		if many.handled > 0 {
			t.Error("it handles what another has whole")
		}
		one.shutdown()
		time.Sleep(100 * time.Millisecond)
		x.wantOwners(16)
		other := x.start(4)
		time.Sleep(5 * time.Second)
		x.wantOwners(8, 8)
		x.wait(time.Second)

		back := x.start(1) // back to the old version
		more(400)
		many.shutdown()
		time.Sleep(100 * time.Millisecond)
		x.wantOwners(16)
		other.shutdown()
		time.Sleep(100 * time.Millisecond)
		x.wantDivided(false)
		x.wait(10 * time.Second)
		if back.handled == 0 {
			t.Error("it has handled nothing")
		}
		back.shutdown()
		end()
		x.report()
		if x.repeats > 0 {
			t.Error(x.repeats, "events were handled twice")
		}
	})
}

// The parts are at different places when they become one whole, and it is divided again before
// it has come to the last of them.
func TestPartsAtDifferentPlacesBecomeOneWholeAndAreDividedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSharing(t)
		publish, end := x.publisher()
		fast, slow := x.start(8), x.start(8)
		time.Sleep(5 * time.Second)
		x.wantOwners(8, 8)
		stuck := true
		x.takes = func(int) time.Duration { return time.Millisecond }
		x.stuck = func(p *sharer) bool { return stuck && p == slow }
		for n := range 2000 {
			publish(fmt.Sprint("key ", n))
		}
		time.Sleep(10 * time.Second)
		handled := x.count()
		if handled < 800 || handled > 1200 {
			t.Errorf("%d events are handled, want about half of 2000", handled)
		}
		fast.line.Freeze() // nobody hears that the other one ends
		slow.kill()
		fast.kill()
		stuck = false
		one := x.start(1)
		time.Sleep(100 * time.Millisecond)
		x.wantDivided(false)
		time.Sleep(200 * time.Millisecond)
		one.shutdown()
		if now := x.count(); now == handled || now > 1900 {
			t.Errorf("%d events are handled, and %d before: want some more", now, handled)
		}
		many := x.start(4)
		time.Sleep(100 * time.Millisecond)
		x.wantOwners(16)
		x.wait(10 * time.Second)
		many.shutdown()
		end()
		x.report()
		if x.repeats > 20 { // those that were handled and not stored
			t.Error(x.repeats, "events were handled twice")
		}
	})
}
