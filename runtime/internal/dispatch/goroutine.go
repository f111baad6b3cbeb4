package dispatch

import (
	"slices"

	"github.com/busgen/busgen/runtime/internal/goroutine"
)

// A handler that waits for its own subscription to stop waits for itself. Its
// context need not be at hand there, so it is found by its goroutine.

// runsOn notes on which goroutine a worker is; 0 for one that was left behind.
func (s *Scheduler) runsOn(worker int, number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on[worker] = number
}

// OnWorker reports whether the calling goroutine is one of a worker, so that Stop would
// wait for it: that of a handler, or of an observer that it is reported to.
func (s *Scheduler) OnWorker() bool {
	number := goroutine.Number()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.on, number)
}
