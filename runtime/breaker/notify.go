package breaker

// Notify has f called on each change of state from now on, in their order and
// never twice at once. It replaces the function of an earlier call; nil is for
// none. Both statuses are of the moment of the change.
//
// No lock is held while f runs, so f may call any method. It is called by the
// goroutine whose call has changed the state, before that call returns; while
// another goroutine is in f, by that one, and then the call does not wait.
// Changes that f does not keep up with are kept for it: it should return soon.
func (b *Breaker) Notify(f func(old, new Status)) {
	b.mu.Lock()
	defer b.unlock()
	b.changes.notify = f
}

// changes are those of which nobody has been told yet.
type changes struct {
	notify  func(old, new Status)
	waiting []change
	telling bool // a goroutine is telling them
}

type change struct {
	notify   func(old, new Status)
	old, new Status
}

func (c *changes) add(old, new Status) {
	if c.notify != nil {
		c.waiting = append(c.waiting, change{c.notify, old, new})
	}
}

// unlock releases mu and tells of the changes that were made under it, or under
// an earlier lock whose teller has panicked.
func (b *Breaker) unlock() {
	if len(b.changes.waiting) == 0 || b.changes.telling {
		b.mu.Unlock()
		return
	}
	defer b.mu.Unlock()
	b.tell()
}

// tell is called, and returns or panics, with mu held.
func (b *Breaker) tell() {
	b.changes.telling = true
	defer func() { b.changes.telling = false }()
	for len(b.changes.waiting) > 0 {
		next := b.changes.waiting[0]
		b.changes.waiting = b.changes.waiting[1:]
		b.unlocked(func() { next.notify(next.old, next.new) })
	}
}

func (b *Breaker) unlocked(f func()) {
	b.mu.Unlock()
	defer b.mu.Lock()
	f()
}
