package dispatch

import (
	"bytes"
	"runtime"
	"slices"
	"strconv"
)

// A handler that waits for its own subscription to stop waits for itself. Its
// context need not be at hand there, so it is found by its goroutine.

// goroutine returns the number of the calling goroutine. Numbers are never given
// again.
func goroutine() uint64 {
	var buffer [32]byte // "goroutine 18 [running]:"
	text := buffer[:runtime.Stack(buffer[:], false)]
	number, _, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("goroutine ")), []byte(" "))
	n, _ := strconv.ParseUint(string(number), 10, 64)
	return n
}

// runsOn notes on which goroutine a worker is; 0 for one that was left behind.
func (s *Scheduler) runsOn(worker int, goroutine uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on[worker] = goroutine
}

// OnWorker reports whether the calling goroutine is one of a worker, so that Stop would
// wait for it: that of a handler, or of an observer that it is reported to.
func (s *Scheduler) OnWorker() bool {
	number := goroutine()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.on, number)
}
