package limit

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/declare"
)

// A place has become free after the owner has looked at those that wait.
func TestWhatHasJustComeDoesNotOvertakeAnotherOfItsOwner(t *testing.T) {
	set := newSet(newFile(), declare.Limit{Name: "a", AtOnce: 1})
	use := []Use{{set.Limit("a"), ""}}
	busy, _ := set.NewOwner(func() {}).NewWaiter(use, 0, 0).Take()
	o := set.NewOwner(func() {})
	first := o.NewWaiter(use, 1, 0)
	first.Park()
	busy.Release()
	second := o.NewWaiter(use, 1, 0)
	if second.MayBegin() {
		t.Error("the second overtakes the first")
	}
	if urgent := o.NewWaiter(use, 0, 0); !urgent.MayBegin() {
		t.Error("one of a better rank does not overtake")
	}
	first.Block()
	if !second.MayBegin() {
		t.Error("one that its owner cannot begin holds up others")
	}
}

func TestASweepDoesNotPartThoseWhoWantTheSameKey(t *testing.T) {
	set := newSet(newFile(), declare.Limit{Name: "a", AtOnce: 1})
	l := set.Limit("a")
	o, other := set.NewOwner(func() {}), set.NewOwner(func() {})
	use := []Use{{l, "key"}}
	early := o.NewWaiter(use, 0, 0)
	for n := range 1000 { // many keys, each idle: the first is swept
		o.NewWaiter([]Use{{l, fmt.Sprint(n)}}, 0, 0)
	}
	late := other.NewWaiter(use, 0, 0)
	_, one := early.Take()
	_, two := late.Take()
	if !one || two {
		t.Errorf("the early one began: %v, the late one: %v", one, two)
	}
}

func TestTwoUsesOfTheSameKeyNeedOnePlace(t *testing.T) {
	set := newSet(newFile(), declare.Limit{Name: "a", AtOnce: 2})
	use := Use{set.Limit("a"), ""}
	o := set.NewOwner(func() {})
	if _, ok := o.NewWaiter([]Use{use, use}, 0, 0).Take(); !ok {
		t.Fatal("there is no room")
	}
	if next := o.NewWaiter([]Use{use}, 0, 0); !next.MayBegin() {
		t.Error("one delivery has taken both places")
	}
}

// A rate of one key that was not used for a while is forgotten. The attempt that has used it goes on.
func TestACallJoinsWhatItsGrantHoldsAlsoAfterASweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := newSet(newFile(), declare.Limit{Name: "a", Rate: 1, Per: time.Millisecond})
		l := set.Limit("a")
		o := set.NewOwner(func() {})
		use := Use{l, "key"}
		w := o.NewWaiter([]Use{use}, 0, 0)
		w.MayBegin()
		synctest.Wait() // until that is stored
		g, ok := w.Take()
		if !ok {
			t.Fatal("there is no room")
		}
		time.Sleep(time.Hour)
		for n := range 1000 {
			o.NewWaiter([]Use{{l, fmt.Sprint(n)}}, 0, 0)
		}
		o.NewWaiter([]Use{use}, 0, 0)
		if g.Join(use) == nil {
			t.Error("the call would use up the rate again")
		}
	})
}

// Two goroutines of a handler are in a call each, and a third one waits.
func TestAHandlerComesBackWhenThereIsRoomForAllItsCalls(t *testing.T) {
	set := newSet(newFile(), declare.Limit{Name: "a", AtOnce: 2})
	use := Use{set.Limit("a"), ""}
	g, o := set.NewGrant(), set.NewOwner(func() {})
	for range 2 {
		if _, err := set.Acquire(t.Context(), use, g); err != nil {
			t.Fatal(err)
		}
	}
	g.Lend()
	other, ok := set.NewOwner(func() {}).NewWaiter([]Use{use}, 0, 0).Take()
	if !ok {
		t.Fatal("what is lent is not free")
	}
	if g.MayReturn(o) || g.TakeBack() {
		t.Error("three are at work at once")
	}
	other.Release()
	if !g.MayReturn(o) || !g.TakeBack() {
		t.Error("there is room for both calls")
	}
}

// A bucket without users stays as long as somebody has lent a place in it.
func TestASweepDoesNotForgetWhatIsLent(t *testing.T) {
	set := newSet(newFile(), declare.Limit{Name: "a", AtOnce: 1})
	l := set.Limit("a")
	o := set.NewOwner(func() {})
	use := []Use{{l, "key"}}
	lender, _ := o.NewWaiter(use, 0, 0).Take()
	lender.Lend()
	for n := range 1000 {
		o.NewWaiter([]Use{{l, fmt.Sprint(n)}}, 0, 0)
	}
	lender.Force()
	if o.NewWaiter(use, 0, 0).MayBegin() {
		t.Error("there is room beside what came back")
	}
	lender.Release()
	if !o.NewWaiter(use, 0, 0).MayBegin() {
		t.Error("there is no room after the end")
	}
}

// A scheduler that has ended may still be about to park something.
func TestAnOwnerThatIsClosedHasNobodyInLine(t *testing.T) {
	set := newSet(newFile(), declare.Limit{Name: "a", AtOnce: 1})
	use := Use{set.Limit("a"), ""}
	call, err := set.Acquire(t.Context(), use, set.NewGrant())
	if err != nil {
		t.Fatal(err)
	}
	o := set.NewOwner(func() {})
	before, after := o.NewWaiter([]Use{use}, 0, 0), o.NewWaiter([]Use{use}, 0, 0)
	before.Park()
	o.Close()
	after.Park()
	if len(set.line) > 0 || o.Len() > 0 {
		t.Errorf("%d are in line", len(set.line))
	}
	call.End()
	if !set.NewOwner(func() {}).NewWaiter([]Use{use}, 0, 0).MayBegin() {
		t.Error("the place is not free")
	}
}
