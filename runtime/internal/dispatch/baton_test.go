package dispatch

import (
	"sync"
	"testing"
	"testing/synctest"
)

// If give woke nobody, the waiting goroutines would never end, and synctest would report a deadlock.
func TestWhoWaitsForTheTurnGetsItAndNobodyElseHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const goroutines, turns = 8, 2000
		s := &intake{core: newCore(nil, Config{}), turn: newBaton()}
		var all sync.WaitGroup
		taken := 0 // guarded by the turn
		for range goroutines {
			all.Go(func() {
				for range turns {
					if w := (&worker{}); !s.turn.take() && !s.awaitTurn(w) {
						t.Error("the subscription is not stopping")
					}
					taken++
					s.turn.give()
				}
			})
		}
		all.Wait()
		if taken != goroutines*turns || s.turn.waiting.Load() != 0 {
			t.Errorf("the turn was taken %d times, want %d; %d wait", taken, goroutines*turns, s.turn.waiting.Load())
		}
	})
}

// One that does not want the turn any more leaves it to the next one.
func TestWhoGivesUpWaitingForTheTurnKeepsNobodyFromIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &intake{core: newCore(nil, Config{}), turn: newBaton()}
		s.turn.take()
		ended := make(chan struct{})
		got := make(chan bool, 2)
		go func() { got <- s.awaitTurn(&worker{loan: ended}) }()
		synctest.Wait()
		close(ended)
		if <-got {
			t.Fatal("the guest of a loan that has ended has the turn")
		}
		go func() { got <- s.awaitTurn(&worker{}) }()
		synctest.Wait()
		s.turn.give()
		if !<-got {
			t.Error("the turn is free, and who waits for it does not get it")
		}
	})
}
