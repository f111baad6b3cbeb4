package runtime

import (
	"cmp"
	"slices"
	"sync"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/background"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
)

type busState int

const (
	opened busState = iota
	starting
	running
	stopping
)

// roster is who is subscribed to a bus, and where the bus stands, which decides who can be. Its mu guards all of it, and
// those fields of a [feed] that say so. Nothing waits, and nothing calls the log or code of the program, with mu held. What
// is taken before mu is [life].changing; what is taken while it is held are the locks of dispatch (package lockorder),
// and that of the [exchanges]. Methods that do not take mu are called with it held.
type roster struct {
	mu            sync.Mutex
	state         busState
	renewing      bool // the log was restored; nothing is started until the feeds are those of the log as it is
	subscriptions []*innerSubscription
	feeds         []*feed // of durable names; replaced, never changed
	ephemeral     map[*feed]struct{}
	fleetings     uint64        // ephemeral subscriptions ever made
	changed       chan struct{} // closed when feeds is replaced
}

// changeState goes from one state to another, or says why it cannot.
func (r *roster) changeState(from, to busState) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.state {
	case from:
		r.state = to
		return nil
	case stopping:
		return ErrShutdown
	}
	return ErrStarted
}

// accepts returns ErrShutdown once Shutdown was called.
func (r *roster) accepts() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == stopping {
		return ErrShutdown
	}
	return nil
}

// dispatches tells whether the bus was started, and not shut down.
func (r *roster) dispatches() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state == running
}

// mayRemove returns the feed of a subscription that may be removed now, which was never started; nil if there is none.
func (r *roster) mayRemove(name string) (*feed, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.feedNamed(name)
	switch {
	case r.state == stopping:
		return nil, ErrShutdown
	case r.renewing:
		return nil, event.ErrRestored
	case f != nil && f.scheduler != nil:
		return nil, &RemoveError{name, "somebody has subscribed with the name again"}
	}
	return f, nil
}

// setFeeds replaces the feeds.
func (r *roster) setFeeds(feeds []*feed) {
	r.feeds = feeds
	close(r.changed)
	r.changed = make(chan struct{})
}

// feedNamed returns the feed of a durable name, or nil.
func (r *roster) feedNamed(name string) *feed {
	for _, f := range r.feeds {
		if f.name == name {
			return f
		}
	}
	return nil
}

// feedOf returns the feed of a name, or nil.
func (r *roster) feedOf(name string) *feed {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.feedNamed(name)
}

// reporter returns the subscription that counts a crash; nil if this program does
// not have it. In a group it is unknown which member it was: the first one for the
// type counts it.
func (r *roster) reporter(crash *engine.Crash) *innerSubscription {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.subscriptions {
		if s.feed.name == crash.Subscription && s.covers(crash.Type) {
			return s
		}
	}
	return nil
}

// ephemeralFeeds returns the feeds of ephemeral subscriptions, in the order in which they
// were made.
func (r *roster) ephemeralFeeds() []*feed {
	feeds := make([]*feed, 0, len(r.ephemeral))
	for f := range r.ephemeral {
		feeds = append(feeds, f)
	}
	slices.SortFunc(feeds, func(a, b *feed) int { return cmp.Compare(a.fleeting.number, b.fleeting.number) })
	return feeds
}

// onWorker reports whether the caller is on a goroutine that runs handlers of c, or with
// nil of any subscription of this bus.
func (r *roster) onWorker(f *feed) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	on := func(one *feed) bool {
		return (f == nil || one == f) && one.scheduler != nil && one.scheduler.OnWorker()
	}
	if f != nil {
		return on(f)
	}
	for one := range r.ephemeral {
		if on(one) {
			return true
		}
	}
	return slices.ContainsFunc(r.feeds, on)
}

// interruptAttempts ends the contexts of the handlers of this bus that run for the event at
// seq, with a cause: of one subscription (a group by its own name) or, for an empty name,
// of all. If they fail after that, their deliveries are discarded, with the text of the
// cause as the reason. It does not wait for handlers; call it without locks that they need.
func (r *roster) interruptAttempts(seq int64, subscription string, cause error) (interrupted []*dispatch.Attempt) {
	var schedulers []*dispatch.Scheduler
	r.mu.Lock()
	for _, f := range r.feeds {
		if f.scheduler != nil && (subscription == "" || f.name == subscription) {
			schedulers = append(schedulers, f.scheduler)
		}
	}
	r.mu.Unlock()
	for _, s := range schedulers {
		interrupted = append(interrupted, s.Interrupt(seq, cause)...)
	}
	return interrupted
}

// redriveRules returns which dead letters are redriven, of all subscriptions.
func (r *roster) redriveRules() (rules []background.RedriveRule) {
	r.mu.Lock()
	feeds := r.feeds
	r.mu.Unlock()
	for _, f := range feeds {
		for eventType, r := range f.redrives() {
			rules = append(rules, background.RedriveRule{Subscription: f.name, Type: eventType, Reasons: r.Reasons, Every: r.Every, Max: r.Max})
		}
	}
	return rules
}

// holds returns how often the bus has held an event for its version.
func (r *roster) holds() (n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.feeds {
		if f.scheduler != nil {
			n += f.scheduler.Holds()
		}
	}
	return n
}
