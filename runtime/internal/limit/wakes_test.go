package limit

import (
	"testing"

	"github.com/busgen/busgen/runtime/declare"
)

// Who is told what, and how often. An owner that is told for nothing looks, finds nothing,
// listens, and is told again: its goroutine never rests.

// lender returns a grant of a bucket that is lent and wanted back, and free.
func lender(t *testing.T, set *Set, o *Owner, uses ...Use) *Grant {
	t.Helper()
	g, ok := o.NewWaiter(uses, 0, 0).Take()
	if !ok {
		t.Fatal("there is no room")
	}
	g.Lend()
	other, ok := set.NewOwner(func() {}).NewWaiter(uses, 0, 0).Take()
	if !ok {
		t.Fatal("what is lent is not free")
	}
	if g.MayReturn(o) {
		t.Fatal("it may return while another has the place")
	}
	other.Release()
	return g
}

func TestWhoCannotTakeBackIsNotToldThatThereIsRoom(t *testing.T) {
	set := newSet(newFile(), declare.Limit{Name: "a", AtOnce: 1})
	signals := 0
	o := set.NewOwner(func() { signals++ })
	g := lender(t, set, o, Use{set.Limit("a"), ""})
	if signals == 0 {
		t.Fatal("the owner does not learn that there is room")
	}
	if !g.MayReturn(o) {
		t.Fatal("it may not return although there is room")
	}
	g.Blocked() // its key is in use, or a suspect runs alone
	signals = 0
	o.Listen()
	o.Leave()
	o.Listen()
	if signals != 0 {
		t.Errorf("the owner was told %d times of a place that it cannot take", signals)
	}
	if !g.MayReturn(o) || !g.TakeBack() {
		t.Error("it cannot take back what it can take now")
	}
}

func TestAWishToTakeBackEndsWhenItsHandlerWaitsAgain(t *testing.T) {
	set := newSet(newFile(), declare.Limit{Name: "a", AtOnce: 1})
	signals := 0
	o := set.NewOwner(func() { signals++ })
	g := lender(t, set, o, Use{set.Limit("a"), ""})
	g.Lend() // another goroutine of the handler waits
	signals = 0
	o.Listen()
	if signals != 0 {
		t.Errorf("the owner was told %d times of a place that nobody wants back", signals)
	}
	if next := set.NewOwner(func() {}).NewWaiter([]Use{{set.Limit("a"), ""}}, 0, 0); !next.MayBegin() {
		t.Error("the place is kept for a handler that waits")
	}
	if !g.MayReturn(o) || !g.TakeBack() {
		t.Error("it cannot be taken back in the end")
	}
}

// One that needs two limits comes first; others, that need one of them, come after it.
func TestWhatIsFreedTogetherGoesToTheFirstThatNeedsAllOfIt(t *testing.T) {
	for name, free := range map[string]func(g *Grant){
		"released": (*Grant).Release,
		"lent":     (*Grant).Lend,
	} {
		set := newSet(newFile(), declare.Limit{Name: "a", AtOnce: 1}, declare.Limit{Name: "b", AtOnce: 1})
		a, b := Use{set.Limit("a"), ""}, Use{set.Limit("b"), ""}
		g, _ := set.NewOwner(func() {}).NewWaiter([]Use{a, b}, 0, 0).Take()
		var got []string
		listening := func(what string, uses ...Use) {
			var w *Waiter
			o := set.NewOwner(func() { got = append(got, what) })
			w = o.NewWaiter(uses, 0, 0)
			w.Park()
			o.Listen()
		}
		listening("both", b, a)
		listening("a", a)
		listening("b", b)
		free(g)
		if len(got) != 1 || got[0] != "both" {
			t.Errorf("%s: %v were told that it is their turn, want both alone", name, got)
		}
	}
}

// A subscription without limits changes nothing for those that have some.
func TestAnOwnerWithoutWaitersDoesNotLookAtThoseOfOthers(t *testing.T) {
	set := newSet(newFile(), declare.Limit{Name: "a", AtOnce: 1})
	use := []Use{{set.Limit("a"), ""}}
	busy := set.NewOwner(func() {})
	g, _ := busy.NewWaiter(use, 0, 0).Take()
	defer g.Release()
	busy.NewWaiter(use, 0, 0).Park()
	without, before := set.NewOwner(func() {}), looksOf(set)
	without.Listen()
	without.Leave()
	if looks := looksOf(set) - before; looks != 0 {
		t.Errorf("it has looked %d times", looks)
	}
}
