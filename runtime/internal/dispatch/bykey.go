package dispatch

import (
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// A breaker by key opens for the deliveries of one key, and a pause can be for one key. What has to wait for that is
// parked in a waitlist of the file, and nothing waits for it.
//
//   - The first that finds the breaker open, since it opened or opened again, starts a timer: when the breaker is tried
//     again, the first one of the waitlist is freed, and is the probe. Nothing in the file is due, so a breaker that is
//     closed by hand leaves nothing behind that goes before others and is due later.
//   - When the breaker closes, the first few of the waitlist become due. From then on each that is settled frees the
//     next one, as in any waitlist. If the probe fails it frees one too, which starts the next timer.
//   - When a pause ends, the first few of its waitlist become due in the same way: if all were, others would wait for
//     them.
//   - Until its waitlist is empty, what comes of the key goes behind what is parked, and so does what has its partition
//     key.
//
// A process begins with closed breakers. What is parked then is freed by the patrol of the waitlists.

// byKey parks deliveries by their keys. It is safe for concurrent use.
type byKey struct {
	*core
	keys atomic.Pointer[[]string] // that are paused; nil for none

	some      atomic.Bool // waitlists is not empty: most deliveries ask for no more than that
	mu        sync.Mutex
	waitlists map[string]time.Time // in which this process has parked something; for when the last timer, zero for none
}

// breakerWaitlist returns the waitlist of the deliveries that wait for the same breaker; empty for a breaker without
// keys.
func breakerWaitlist(i *queue.Item) string {
	if i.Limits == nil || i.Limits.By == "" {
		return ""
	}
	return engine.WaitlistOf("breaker", i.Limits.Breaker)
}

func (b *byKey) keyWaitlist(key string) string { return waitlists{b.core}.keyWaitlist(key) }

// pause replaces the keys that are paused.
func (b *byKey) pause(keys []string) {
	var before *[]string
	if len(keys) == 0 {
		before = b.keys.Swap(nil)
	} else {
		before = b.keys.Swap(&keys)
	}
	if before == nil {
		return
	}
	for _, key := range *before {
		if !slices.Contains(keys, key) { // the log has freed what was written by then
			b.consumer.Free(engine.PauseWaitlist(key), engine.FreedAtOnce)
		}
	}
}

// pausing tells whether a key is paused.
func (b *byKey) pausing() bool { return b.keys.Load() != nil }

// pausedKey returns the first key of a delivery that is paused.
func (b *byKey) pausedKey(i *queue.Item) (key string, ok bool) {
	keys := b.keys.Load()
	if keys == nil {
		return "", false
	}
	for key := range b.keysOf(i) {
		if slices.Contains(*keys, key) {
			return key, true
		}
	}
	return "", false
}

// keysOf yields the keys of a delivery: its partition key, those of its limits and that of its breaker.
func (b *byKey) keysOf(i *queue.Item) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if key := strings.TrimPrefix(i.Key, b.cfg.Keyless); key != "" && !yield(key) {
			return
		}
		if i.Limits == nil {
			return
		}
		if i.Limits.Breaker != "" && !yield(i.Limits.Breaker) {
			return
		}
		for _, u := range i.Limits.Uses {
			if u.Key != "" && !yield(u.Key) {
				return
			}
		}
	}
}

// paused returns how to settle a delivery that has a paused key; nil for others.
func (b *byKey) paused(i *queue.Item) *engine.Disposition {
	key, ok := b.pausedKey(i)
	if !ok {
		return nil
	}
	return b.park(i, engine.PauseWaitlist(key))
}

// behind returns how to settle a delivery whose breaker is open, or that has to go behind others of its key; nil for
// others.
func (b *byKey) behind(i *queue.Item, now time.Time) *engine.Disposition {
	waitlist := breakerWaitlist(i)
	if waitlist != "" {
		if until, refuses := b.cfg.Breakers.Refuses(now, i.Limits.Breaker); refuses {
			b.mu.Lock()
			defer b.mu.Unlock()
			if !until.IsZero() && !until.Equal(b.waitlists[waitlist]) {
				b.note(waitlist, until)
				time.AfterFunc(until.Sub(now), func() { b.consumer.Free(waitlist, 1) })
			}
			return b.parkIn(i, waitlist)
		}
	}
	if i.Limits != nil && i.Limits.Parked {
		return nil // it has been looked at before it went into the line of its limit
	}
	return b.follow(i, waitlist)
}

// follow returns how to settle a delivery that has to go behind others which this process has parked; nil for others.
func (b *byKey) follow(i *queue.Item, breaker string) *engine.Disposition {
	b.mu.Lock()
	defer b.mu.Unlock()
	waitlists := []string{b.keyWaitlist(i.Key), breaker}
	for key := range b.keysOf(i) {
		waitlists = append(waitlists, engine.PauseWaitlist(key))
	}
	for _, waitlist := range waitlists {
		if _, known := b.waitlists[waitlist]; !known {
			continue
		}
		at, err := b.consumer.Behind([]string{waitlist}, i.Seq)
		switch {
		case err == nil && at < 0:
			if at, err = b.consumer.Behind([]string{waitlist}, math.MaxInt64); err == nil && at < 0 {
				delete(b.waitlists, waitlist)
				b.some.Store(len(b.waitlists) > 0)
			}
		case i.Waitlist == "" && !comesAgain(i):
			return b.parkIn(i, waitlist)
		}
	}
	return nil
}

func (b *byKey) park(i *queue.Item, waitlist string) *engine.Disposition {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.parkIn(i, waitlist)
}

// parkIn is park for who holds mu.
func (b *byKey) parkIn(i *queue.Item, waitlist string) *engine.Disposition {
	b.note(waitlist, b.waitlists[waitlist])
	v := &engine.Disposition{Kind: engine.Hold, Waitlist: waitlist, Progress: i.Progress}
	if key := b.keyWaitlist(i.Key); key != "" && key != waitlist && (b.cfg.Strict && !i.Exempt || !comesAgain(i)) {
		v.Key = key // else it is put off, which holds up nothing
		b.note(key, b.waitlists[key])
	}
	return v
}

func (b *byKey) note(waitlist string, timer time.Time) {
	if b.waitlists == nil {
		b.waitlists = map[string]time.Time{}
	}
	b.waitlists[waitlist] = timer
	b.some.Store(true)
}

// parked is called when a delivery has been settled. If what it waits for has ended meanwhile, or there is no timer for
// it, the first one of its waitlist is freed: whoever would have done that may have found none.
func (b *byKey) parked(i *queue.Item, v *engine.Disposition) {
	if v.Waitlist == "" {
		return
	}
	if v.Waitlist == breakerWaitlist(i) {
		until, refuses := b.cfg.Breakers.Refuses(time.Now(), i.Limits.Breaker)
		b.mu.Lock()
		timed := until.IsZero() || until.Equal(b.waitlists[v.Waitlist])
		b.mu.Unlock()
		if refuses && timed {
			return
		}
	} else if key, ok := b.pausedKey(i); ok && v.Waitlist == engine.PauseWaitlist(key) {
		return
	}
	b.consumer.Free(v.Waitlist, 1)
}

// acquire asks the breaker of a delivery for a permit.
func (b *byKey) acquire(i *queue.Item, now time.Time) (breaker.Permit, bool) {
	if i.Limits == nil || i.Limits.By == "" { // its key cannot be computed
		return breaker.Permit{}, true
	}
	return b.cfg.Breakers.Acquire(now, i.Limits.Breaker, i.Seq)
}

// changed is told that the breaker of a key has changed.
func (b *byKey) changed(key string, now breaker.Status) {
	if now.State == breaker.Closed {
		b.consumer.Free(engine.WaitlistOf("breaker", key), engine.FreedAtOnce)
	}
	b.signal()
}

// failPermit ends the permit of an attempt that has failed.
func (a *Attempt) failPermit(now time.Time, why string) {
	l := a.run.Limits
	if a.permit == (breaker.Permit{}) && l != nil && l.By != "" && !a.run.site.cfg.Group {
		a.run.site.cfg.Breakers.Failure(now, l.Breaker, a.Seq, why)
		return
	}
	a.permit.Failure(now, why)
}
