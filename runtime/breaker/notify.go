package breaker

// Notify makes the breaker call f on each change of state from now on, in order
// and one call at a time. It replaces the function of an earlier call; nil removes
// it. Both statuses describe the moment of the change.
//
// No lock is held while f runs, so f may call any method. The goroutine whose call
// changed the state calls f before that call returns. If another goroutine is
// executing f at that moment, that goroutine makes the call afterwards, and the
// changing call does not wait. Changes queue up while f runs, so f should return
// soon.
func (b *Breaker) Notify(f func(old, new Status)) {
	b.mu.Lock()
	defer b.unlock()
	b.changes.notify = f
}

// changes is the queue of changes that f has not been called for yet.
type changes struct {
	notify  func(old, new Status)
	waiting []change
	telling bool // a goroutine is calling f
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

// unlock releases mu and calls f for the queued changes: those made under this
// lock, and those left over because an earlier call of f has panicked.
func (b *Breaker) unlock() {
	if len(b.changes.waiting) == 0 || b.changes.telling {
		b.mu.Unlock()
		return
	}
	defer b.mu.Unlock()
	b.tell()
}

// tell calls f for each queued change. mu is held when tell begins and when it
// returns or panics.
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
