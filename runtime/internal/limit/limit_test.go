package limit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime/internal/engine"

	"github.com/busgen/busgen/runtime/declare"
)

// file stands in for that of an engine.
type file struct {
	mu     sync.Mutex
	time   Time
	full   map[string]engine.LimitBucket
	leases int
	delay  time.Duration
	stall  func() // before and after a transaction; nil for nothing
	err    error
	undo   error // of transactions that have told their time
	keep   bool  // and have stored all of it
}

func (f *file) lease(_ context.Context, tick func(Time) Time, leases []Lease) error {
	time.Sleep(f.delay)
	if f.stall != nil {
		f.stall()
		defer f.stall()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	next := tick(f.time)
	if f.undo != nil && !f.keep {
		return f.undo
	}
	f.time = next
	for i := range leases {
		l := &leases[i]
		f.leases++
		f.full[l.Limit+" "+l.Key] = l.Move(f.time.Now, f.full[l.Limit+" "+l.Key])
	}
	return f.undo
}

func (f *file) giveBack(unused []Lease) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, u := range unused {
		at := u.Limit + " " + u.Key
		if b := f.full[at]; b.Full.Equal(u.Until) {
			b.Full = u.Full
			f.full[at] = b
		}
	}
}

func newFile() *file { return &file{full: map[string]engine.LimitBucket{}} }

func newSet(f *file, rules ...declare.Limit) *Set {
	return New(Config{Wall: time.Now, Lease: f.lease, Logger: slog.New(slog.DiscardHandler)}, rules...)
}

// scheduler is an owner that works off what it is given, some of it at once.
type scheduler struct {
	owner *Owner
	wake  chan struct{}
	ended chan struct{} // holds a token for each that has ended
}

// serve handles so many waiters, at most places of them at once.
func (s *scheduler) serve(n, places int, work func(w *Waiter, g *Grant)) {
	free := places
	for n > 0 {
		for w := range s.owner.Ready {
			if free == 0 {
				break
			}
			g, ok := w.Take()
			if !ok {
				continue
			}
			free--
			n--
			go func() {
				work(w, g)
				g.Release()
				s.ended <- struct{}{}
			}()
		}
		if n == 0 {
			return
		}
		if free > 0 {
			s.owner.Listen()
		}
		select {
		case <-s.wake:
		case <-s.ended:
			free++
		}
		s.owner.Leave()
	}
}

// Whatever needs which limits, in owners and goroutines, everything has its turn, and no
// limit is exceeded.
func TestEverybodyHasATurnAndNoLimitIsExceeded(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		seed := rapid.Uint64().Draw(r, "seed")
		var rules []declare.Limit
		for i := range rapid.IntRange(1, 3).Draw(r, "limits") {
			rule := declare.Limit{Name: fmt.Sprint("limit ", i), AtOnce: rapid.IntRange(0, 3).Draw(r, "at once")}
			if rule.AtOnce == 0 || rapid.Bool().Draw(r, "rate too") {
				rule.Rate = rapid.IntRange(1, 5).Draw(r, "rate")
				rule.Per = time.Duration(rule.Rate) * time.Second / time.Duration(rapid.IntRange(1, 50).Draw(r, "per second"))
			}
			rules = append(rules, rule)
		}
		owners, each := rapid.IntRange(1, 3).Draw(r, "owners"), rapid.IntRange(1, 12).Draw(r, "each")
		delay := time.Duration(rapid.IntRange(0, 1).Draw(r, "delay")) * time.Millisecond
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			f := newFile()
			f.delay = delay
			set := newSet(f, rules...)
			check := newAudit()
			var all sync.WaitGroup
			needs := func(n int) (uses []Use) {
				for i, at := range random.Perm(len(rules)) {
					if i < n {
						uses = append(uses, Use{set.Limit(rules[at].Name), []string{"", "x"}[random.IntN(2)]})
					}
				}
				return uses
			}
			for range owners {
				s := &scheduler{wake: make(chan struct{}, 1), ended: make(chan struct{}, each)}
				s.owner = set.NewOwner(func() {
					select {
					case s.wake <- struct{}{}:
					default:
					}
				})
				uses := map[*Waiter][]Use{}
				hold := map[*Waiter]time.Duration{}
				for range each {
					u := needs(1 + random.IntN(len(rules)))
					w := s.owner.NewWaiter(u, random.IntN(3), 0)
					uses[w], hold[w] = u, time.Duration(random.IntN(5))*time.Millisecond
					w.Park()
				}
				places := 1 + random.IntN(3)
				all.Go(func() {
					s.serve(each, places, func(w *Waiter, g *Grant) {
						check.begin(uses[w])
						time.Sleep(hold[w])
						check.end(uses[w])
					})
				})
			}
			for range 5 {
				u, hold := needs(1), time.Duration(random.IntN(5))*time.Millisecond
				all.Go(func() {
					g := set.NewGrant()
					call, err := set.Acquire(t.Context(), u[0], g)
					if err != nil {
						t.Error(err)
					}
					check.begin(u)
					time.Sleep(hold)
					check.end(u)
					call.End()
				})
			}
			all.Wait()
			time.Sleep(time.Second)
			for _, problem := range check.problems(rules) {
				t.Error(problem)
			}
			set.Close(errors.New("over"))
		})
		if t.Failed() {
			r.FailNow()
		}
	})
}

// audit knows what was at work and when it began.
type audit struct {
	mu    sync.Mutex
	now   map[Use]int
	over  []string
	began map[Use][]time.Time
}

func newAudit() *audit { return &audit{now: map[Use]int{}, began: map[Use][]time.Time{}} }

func (a *audit) begin(uses []Use) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, u := range uses {
		a.now[u]++
		a.began[u] = append(a.began[u], time.Now())
		if u.AtOnce > 0 && a.now[u] > u.AtOnce {
			a.over = append(a.over, fmt.Sprintf("%d at once of %+v", a.now[u], u.Limit.Limit))
		}
	}
}

func (a *audit) end(uses []Use) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, u := range uses {
		a.now[u]--
	}
}

func (a *audit) problems(rules []declare.Limit) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for u, began := range a.began {
		if u.Rate == 0 {
			continue
		}
		for i := range began {
			for j := i; j < len(began); j++ {
				if most := u.Rate + int(int64(u.Rate)*int64(began[j].Sub(began[i]))/int64(u.Per)); j-i+1 > most {
					a.over = append(a.over, fmt.Sprintf("%d within %v of %+v", j-i+1, began[j].Sub(began[i]), u.Limit.Limit))
				}
			}
		}
	}
	return a.over
}

func TestWhatIsNotUsedOfALeaseIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFile()
		rules := declare.Limit{Name: "a", Rate: 500, Per: 500 * time.Millisecond}
		began := 0
		first := time.Now()
		for range 10 { // restarts
			set := newSet(f, rules)
			for range 50 { // of the 100 that are stored at once
				acquire(t, set, Use{set.Limit("a"), ""})
				began++
			}
			time.Sleep(time.Millisecond)
			f.giveBack(set.Close(errors.New("over")))
		}
		// 500 at once, and then one each millisecond: nothing was lost.
		if took := time.Since(first); began != 500 || took > 20*time.Millisecond {
			t.Errorf("%d have begun in %v", began, took)
		}
		if f.leases > 20 {
			t.Errorf("%d were stored, for 500 that began", f.leases)
		}
	})
}

func acquire(t *testing.T, s *Set, u Use) {
	t.Helper()
	call, err := s.Acquire(t.Context(), u, s.NewGrant())
	if err != nil {
		t.Fatal(err)
	}
	call.End()
}

func TestNothingBeginsThatCannotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFile()
		f.err = errors.New("disk full")
		set := newSet(f, declare.Limit{Name: "a", Rate: 1, Per: time.Second})
		began := time.Now()
		go func() {
			time.Sleep(10500 * time.Millisecond)
			f.mu.Lock()
			f.err = nil
			f.mu.Unlock()
		}()
		acquire(t, set, Use{set.Limit("a"), ""})
		if took := time.Since(began); took != 11*time.Second {
			t.Errorf("it has begun after %v, want 11s", took)
		}
	})
}

func TestASlowFileSlowsALimitDownAndDoesNotStopIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFile()
		f.delay = 300 * time.Millisecond
		set := newSet(f, declare.Limit{Name: "a", Rate: 1, Per: 100 * time.Millisecond})
		began := time.Now()
		for range 20 {
			acquire(t, set, Use{set.Limit("a"), ""})
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("20 took %v", took)
		}
		set.Close(errors.New("over"))
	})
}

func TestKeysThatAreNotUsedAnyMoreAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := newSet(newFile(), declare.Limit{Name: "a", AtOnce: 1, Rate: 1, Per: 100 * time.Millisecond})
		for n := range 10_000 {
			acquire(t, set, Use{set.Limit("a"), fmt.Sprint(n)})
			time.Sleep(10 * time.Millisecond)
		}
		if n := set.Buckets(); n > 1000 {
			t.Errorf("%d buckets are in memory", n)
		}
	})
}

// An owner that does not listen is passed over, and keeps its turn.
func TestTurnsAreFirstComeFirstServedAmongThoseWhoListen(t *testing.T) {
	set := newSet(newFile(), declare.Limit{Name: "a", AtOnce: 1})
	use := []Use{{set.Limit("a"), ""}}
	signals := map[string]int{}
	busy := set.NewOwner(func() { signals["busy"]++ })
	idle := set.NewOwner(func() { signals["idle"]++ })
	other := set.NewOwner(func() {})
	taken := other.NewWaiter(use, 0, 0)
	g, ok := taken.Take()
	first, second := busy.NewWaiter(use, 0, 0), idle.NewWaiter(use, 0, 0)
	first.Park()
	second.Park()
	idle.Listen()
	g.Release()
	if !ok || signals["busy"] != 0 || signals["idle"] != 1 {
		t.Fatalf("the signals are %v", signals)
	}
	if late := other.NewWaiter(use, 0, 0); late.MayBegin() {
		t.Error("one that came later goes first")
	}
	if !second.MayBegin() {
		t.Error("one whose owner listens waits for one whose owner does not")
	}
	busy.Listen() // and finds that it is its turn
	if second.MayBegin() || !first.MayBegin() || signals["busy"] != 1 {
		t.Errorf("the first is not first: %v", signals)
	}
	if g, ok = first.Take(); !ok {
		t.Fatal("the first cannot take its turn")
	}
	g.Release()
	if _, ok := second.Take(); !ok {
		t.Error("the second cannot take its turn")
	}
}

func TestWaitersOfAnOwnerOvertakeByRankSoOften(t *testing.T) {
	set := newSet(newFile(), declare.Limit{Name: "a", AtOnce: 1})
	use := []Use{{set.Limit("a"), ""}}
	o := set.NewOwner(func() {})
	low := o.NewWaiter(use, 3, 0)
	low.Park()
	var high []*Waiter
	for range patience + 2 {
		w := o.NewWaiter(use, 1, 0)
		w.Park()
		high = append(high, w)
	}
	var order []*Waiter
	for w := range o.Ready {
		order = append(order, w)
	}
	if len(order) != patience+3 || order[patience] != low || order[0] != high[0] {
		t.Errorf("the low one is at the wrong place in line")
	}
}
