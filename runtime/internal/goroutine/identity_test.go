package goroutine

import (
	"sync"
	"testing"
)

func TestGoroutinesThatLiveAtTheSameTimeHaveDifferentIdentities(t *testing.T) {
	const goroutines = 100
	found := make(chan uint64, goroutines)
	release := make(chan struct{})
	var running sync.WaitGroup
	for range goroutines {
		running.Go(func() {
			mine := Identity()
			found <- mine
			<-release
			for range 100 {
				if again := deep(200); again != mine {
					t.Errorf("an identity was %#x, and is %#x with a larger stack", mine, again)
					return
				}
			}
		})
	}
	seen := map[uint64]bool{0: true, Identity(): true}
	for range goroutines {
		one := <-found
		if seen[one] {
			t.Errorf("two goroutines have the identity %#x, or none at all", one)
		}
		seen[one] = true
	}
	close(release)
	running.Wait()
}

// deep calls Identity with so many frames on the stack, so that the stack moves.
func deep(frames int) uint64 {
	var room [256]byte
	room[frames%len(room)] = 1
	if frames == 0 {
		return Identity()
	}
	found := deep(frames - 1)
	room[0]++
	return found
}

func TestAnIdentityAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Identity() }); n != 0 {
		t.Errorf("it makes %v allocations", n)
	}
}
