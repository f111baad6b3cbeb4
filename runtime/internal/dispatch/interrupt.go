package dispatch

import "github.com/google/uuid"

// An attempt can be interrupted, because nobody needs what its handler does any more: its
// context ends with a cause, and if the handler fails after that, the delivery is
// discarded. A handler that succeeds all the same has handled the event.

// Child is an event that a handler has stored before its attempt ended.
type Child struct {
	Seq int64
	ID  uuid.UUID
}

// Interrupt ends the contexts of the attempts that run at the event at seq, with a cause,
// whose text is the reason if they are discarded. It returns these attempts, and does not
// wait for their handlers. A context that was made while [Config].Interrupts was false has
// no cause but context.Canceled.
func (s *Scheduler) Interrupt(seq int64, cause error) (interrupted []*Attempt) {
	s.mu.Lock()
	var found []*Attempt
	for _, a := range s.running {
		if a != nil && a.Seq == seq {
			found = append(found, a)
		}
	}
	s.mu.Unlock()
	for _, a := range found {
		if a.interruptFor(cause) {
			interrupted = append(interrupted, a)
		}
	}
	return interrupted
}

// interruptFor ends the context of the attempt. It reports false if the attempt is over,
// or was interrupted before.
func (a *Attempt) interruptFor(cause error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || a.interrupted != nil {
		return false
	}
	a.interrupted = cause
	switch {
	case a.cut != nil:
		a.cut(cause)
	case a.cancel != nil:
		a.cancel()
	}
	return true
}

// Stored notes events that the handler has stored before its attempt ends, for [Attempt.Abandon].
// It does nothing unless [Config].Interrupts is true. It reports whether nobody needs them
// any more, because the attempt was interrupted or its children were abandoned.
func (a *Attempt) Stored(children ...Child) (needless bool) {
	if !a.run.scheduler.cfg.interruptible() {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.children = append(a.children, children...)
	return a.abandoned || a.interrupted != nil
}

// Abandon takes the events that the handler has stored. From now on [Attempt.Stored]
// reports that nobody needs what is stored.
func (a *Attempt) Abandon() (children []Child) {
	a.mu.Lock()
	defer a.mu.Unlock()
	children, a.children, a.abandoned = a.children, nil, true
	return children
}

// interruptible tells whether attempts keep what an interruption needs.
func (c *Config) interruptible() bool { return c.Interrupts != nil && c.Interrupts.Load() }
