package dispatch

import "sync/atomic"

// baton is held by one goroutine at a time. Unlike a mutex, others can wait for it and for channels at once; unlike
// a channel, it costs next to nothing to take while nobody else wants it.
//
// Whoever gives it back wakes one of those that wait. Somebody else may be quicker, and then wakes the next one.
type baton struct {
	held    atomic.Bool
	waiting atomic.Int32  // goroutines between join and leave
	free    chan struct{} // has a token when it is free, or was
}

func newBaton() baton { return baton{free: make(chan struct{}, 1)} }

// take takes the baton if it is free.
func (b *baton) take() bool { return b.held.CompareAndSwap(false, true) }

// give gives it back.
func (b *baton) give() {
	b.held.Store(false)
	if b.waiting.Load() > 0 { // one that joins after this finds it free
		select {
		case b.free <- struct{}{}:
		default:
		}
	}
}

// join begins to wait: from now on a token comes when the baton is free. After that take it, or wait for the
// next token.
func (b *baton) join() { b.waiting.Add(1) }

// leave ends the waiting.
func (b *baton) leave() { b.waiting.Add(-1) }
