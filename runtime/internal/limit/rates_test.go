package limit

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime/internal/engine"

	"github.com/busgen/busgen/runtime/declare"
)

// machine has one file and one wall clock, for several processes.
type machine struct {
	*file
	mu     sync.Mutex
	offset time.Duration // of the wall clock
	began  []time.Time

	ticked time.Time // guarded by the file, like leaps
	leaps  []leap
}

func (m *machine) wall() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Round(0).Add(m.offset)
}

func (m *machine) step(by time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.offset += by
}

// live is one life of a process, with so many that want to begin. It returns how many have.
func (m *machine) live(random *rand.Rand, rules declare.Limit, wanting int, life, pause time.Duration) (count int) {
	set := m.open(rules)
	ctx, cancel := context.WithTimeout(context.Background(), life)
	defer cancel()
	var all sync.WaitGroup
	for range wanting {
		all.Go(func() {
			for {
				call, err := set.Acquire(ctx, Use{set.Limit(rules.Name), ""}, set.NewGrant())
				if err != nil {
					return
				}
				m.mu.Lock()
				m.began = append(m.began, time.Now())
				count++
				m.mu.Unlock()
				call.End()
				time.Sleep(pause)
			}
		})
	}
	all.Wait()
	unused := set.Close(errors.New("over"))
	if random.IntN(2) == 0 { // else it was killed
		m.giveBack(unused)
	}
	return count
}

// anyRate returns a rate of 1 to 30 within a time, in bursts of 1 to 6.
func anyRate(r *rapid.T, within time.Duration) declare.Limit {
	burst, rate := rapid.IntRange(1, 6).Draw(r, "burst"), rapid.IntRange(1, 30).Draw(r, "rate")
	return declare.Limit{Name: "a", Rate: burst, Per: time.Duration(burst) * within / time.Duration(rate)}
}

func TestSeveralProcessesNeverExceedARate(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		seed := rapid.Uint64().Draw(r, "seed")
		rules := anyRate(r, rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(r, "per"))
		processes := rapid.IntRange(1, 8).Draw(r, "processes")
		stalls, steps := rapid.Bool().Draw(r, "stalls"), rapid.Bool().Draw(r, "steps of the clock")
		synctest.Test(t, func(t *testing.T) {
			step := rules.Per / time.Duration(rules.Rate)
			upTo := func(random *rand.Rand, d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
			m := &machine{file: newFile()}
			if stalls {
				random, mu := rand.New(rand.NewPCG(seed, 1000)), sync.Mutex{}
				m.stall = func() {
					mu.Lock()
					n, d := random.IntN(4), upTo(random, 3*step)
					mu.Unlock()
					if n == 0 {
						time.Sleep(d)
					}
				}
			}
			end := time.Now().Add(60 * step)
			var all sync.WaitGroup
			for n := range processes {
				random := rand.New(rand.NewPCG(seed, uint64(n)))
				all.Go(func() {
					for time.Now().Before(end) {
						m.live(random, rules, 1+random.IntN(3), upTo(random, 30*step), upTo(random, step))
						time.Sleep(upTo(random, 3*step))
					}
				})
			}
			forward, leased := 0, 0
			if steps {
				// Each process may begin what it had leased when the clock was set.
				leased = processes * max(int(engine.LimitLead/step), 1)
				random := rand.New(rand.NewPCG(seed, 2000))
				for time.Now().Before(end) {
					time.Sleep(upTo(random, 20*step))
					by := upTo(random, 100*step) - 50*step
					if by > 0 {
						forward++
					}
					m.step(by)
				}
			}
			all.Wait()
			m.check(t, rules, forward, leased)
			time.Sleep(100 * step) // what was stalled ends
		})
		if t.Failed() {
			r.FailNow()
		}
	})
}

// check fails the test if more have begun than the rate allows. A wall clock that was set
// forward while nobody looked is like a pause: it fills the bucket by as much, once.
func (m *machine) check(t *testing.T, rules declare.Limit, forward, leased int) {
	t.Helper()
	if len(m.leaps) > forward {
		t.Errorf("the clock of the file has leapt %d times, and the wall clock was set forward %d times", len(m.leaps), forward)
	}
	slices.SortFunc(m.began, time.Time.Compare)
	step := rules.Per / time.Duration(rules.Rate)
	for i := range m.began {
		for j := i; j < len(m.began); j++ {
			window := m.began[j].Sub(m.began[i])
			most := rules.Rate + leased + int(int64(rules.Rate)*int64(window)/int64(rules.Per))
			for _, l := range m.leaps {
				if !l.at.Before(m.began[i]) && !l.at.After(m.began[j]) {
					most += min(int(l.by/step)+1, rules.Rate)
				}
			}
			if n := j - i + 1; n > most {
				t.Errorf("%d have begun within %v, and %d may, of %+v", n, window, most, rules)
				return
			}
		}
	}
}

// leap is when the clock of the file has gone faster than time.
type leap struct {
	at time.Time
	by time.Duration
}

func (m *machine) open(rules ...declare.Limit) *Set {
	lease := func(ctx context.Context, tick func(Time) Time, leases []Lease) error {
		return m.lease(ctx, func(stored Time) Time {
			next := tick(stored)
			by := next.Now.Sub(stored.Now) - time.Since(m.ticked)
			if !stored.Now.IsZero() && by > 0 {
				m.leaps = append(m.leaps, leap{time.Now(), by})
			}
			m.ticked = time.Now()
			return next
		}, leases)
	}
	return New(Config{Wall: m.wall, Lease: lease, Logger: slog.New(slog.DiscardHandler)}, rules...)
}

// A rate is not lost between the processes that share it, and none of them goes without.
func TestSeveralProcessesUseUpARateAndEachHasItsShare(t *testing.T) {
	for _, rules := range []declare.Limit{
		{Name: "a", Rate: 1, Per: time.Minute},
		{Name: "a", Rate: 3, Per: 300 * time.Millisecond},
		{Name: "a", Rate: 1, Per: 2 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &machine{file: newFile()}
			m.delay = 100 * time.Microsecond
			step := rules.Per / time.Duration(rules.Rate)
			const processes, due = 6, 600
			var counts [processes]int
			var all sync.WaitGroup
			for n := range processes {
				random := rand.New(rand.NewPCG(1, uint64(n)))
				all.Go(func() { counts[n] = m.live(random, rules, 3, due*step, time.Microsecond) })
			}
			all.Wait()
			if got := len(m.began); got < due*9/10 || slices.Min(counts[:]) < due/processes/2 {
				t.Errorf("of %+v %d have begun, %v in each process; %d were due", rules, got, counts, due)
			}
			m.check(t, rules, 0, 0)
		})
	}
}

// A process that dies loses what it had leased, and no more.
func TestAProcessThatDiesLosesOneLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{file: newFile()}
		rules := declare.Limit{Name: "a", Rate: 1000, Per: time.Second}
		killed := m.open(rules)
		acquire(t, killed, Use{killed.Limit("a"), ""})
		killed.Close(errors.New("killed"))
		set := m.open(rules)
		began := time.Now()
		for range 1000 - 106 { // 100 ms, and 5 ms more
			acquire(t, set, Use{set.Limit("a"), ""})
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the rest of the burst has taken %v", took)
		}
		set.Close(errors.New("over"))
	})
}

// What waits for a place would lease again and again, and use up nothing.
func TestAProcessThatWaitsForAPlaceLeavesTheRateToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{file: newFile()}
		rules := declare.Limit{Name: "a", AtOnce: 1, Rate: 1, Per: time.Second}
		waits, works := m.open(rules, declare.Limit{Name: "b", AtOnce: 1}), m.open(rules)
		ctx, cancel := context.WithCancel(t.Context())
		holds := waits.NewGrant()
		if _, err := waits.Acquire(ctx, Use{waits.Limit("a"), ""}, holds); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			go waits.Acquire(ctx, Use{waits.Limit("a"), ""}, waits.NewGrant())
		}
		go func() {
			for ctx.Err() == nil { // everybody looks whether he may begin
				time.Sleep(100 * time.Millisecond)
				if call, err := waits.Acquire(ctx, Use{waits.Limit("b"), ""}, waits.NewGrant()); err == nil {
					call.End()
				}
			}
		}()
		began := time.Now()
		for range 60 {
			acquire(t, works, Use{works.Limit("a"), ""})
		}
		if took := time.Since(began); took > 61*time.Second {
			t.Errorf("60 have taken %v", took)
		}
		cancel()
		synctest.Wait()
		waits.Close(errors.New("over"))
		works.Close(errors.New("over"))
		time.Sleep(time.Minute)
	})
}

// The process knows from its monotonic clock that the wall clock was set forward. It still knows when a
// transaction has failed that it has told the time to, whether that was undone or not.
func TestATransactionThatFailsDoesNotMakeTimeOfAStepOfTheClock(t *testing.T) {
	for _, stored := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := &machine{file: newFile()}
			rules := declare.Limit{Name: "a", Rate: 4, Per: 4 * time.Minute}
			one, other := m.open(rules), m.open(rules)
			for range 2 {
				acquire(t, one, Use{one.Limit("a"), ""})
				time.Sleep(time.Second)
				acquire(t, other, Use{other.Limit("a"), ""})
			}
			m.step(time.Hour)
			began := time.Now()
			m.file.mu.Lock()
			m.undo, m.keep = errors.New("the disk is full"), stored
			m.file.mu.Unlock()
			time.AfterFunc(500*time.Millisecond, func() {
				m.file.mu.Lock()
				m.undo = nil
				m.file.mu.Unlock()
			})
			acquire(t, one, Use{one.Limit("a"), ""})
			want := time.Minute
			if stored {
				want = 2 * time.Minute // nobody knows what it has leased
			}
			if took := time.Since(began); took < want-5*time.Second || took > want+5*time.Second {
				t.Errorf("the next one began after %v, want %v", took, want)
			}
			one.Close(errors.New("over"))
			other.Close(errors.New("over"))
		})
	}
}

// Processes come and go with numbers of their own. Whenever they lease they go by those of one of them, so that no
// more begin than the fastest of all allows, and between two arrivals no more than the newest.
func TestProcessesWithDifferentNumbersShareTheRateOfTheNewest(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		seed := rapid.Uint64().Draw(r, "seed")
		arrivals := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) declare.Limit {
			return anyRate(r, time.Second)
		}), 2, 5).Draw(r, "processes")
		synctest.Test(t, func(t *testing.T) {
			m := &machine{file: newFile()}
			m.delay = 100 * time.Microsecond
			var all sync.WaitGroup
			const life = 20 * time.Second
			for n, rules := range arrivals {
				m.mu.Lock()
				m.began = nil
				m.mu.Unlock()
				random := rand.New(rand.NewPCG(seed, uint64(n)))
				all.Go(func() {
					m.live(random, rules, 2, time.Duration(len(arrivals)-n)*life-time.Millisecond, time.Microsecond)
				})
				// The others learn of it when they lease next. They may have to wait for what they have leased.
				const learn = 8 * time.Second
				time.Sleep(learn)
				m.mu.Lock()
				m.began = nil
				m.mu.Unlock()
				time.Sleep(life - learn - 2*time.Millisecond)
				m.mu.Lock()
				m.check(t, rules, 0, 0)
				if due := rules.Rate * int(12*time.Second) / int(rules.Per); len(m.began) < due*6/10 {
					t.Errorf("%d have begun with %+v, and %d were due", len(m.began), rules, due)
				}
				m.mu.Unlock()
				time.Sleep(2 * time.Millisecond)
			}
			all.Wait()
		})
		if t.Failed() {
			r.FailNow()
		}
	})
}
