package dispatch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// A partition key is computed before its delivery is queued, and with code of the
// program: the payload is decoded for it. What that code does must harm no other
// delivery. So it runs on a goroutine of its own, which may panic, end or hang, and
// under a claim, so that an event that kills its process is found. A delivery whose
// key cannot be computed is queued without one, and its attempt fails.

// keyTimeout is how long the computing of one key may take.
const keyTimeout = 30 * time.Second

// keying computes the keys of some items, one after the other.
type keying struct {
	intake *intake
	done   chan struct{} // closed when the goroutine ends

	mu       sync.Mutex
	items    []queue.Item
	at       int        // the one at hand; all of them if the goroutine is through
	since    time.Time  // when that one was begun
	claiming bool       // the one at hand is being claimed, without mu: an engine may ask its servers
	claimed  *sync.Cond // of mu: that has ended
	over     bool       // nobody waits for it any more; then the items are not touched
	known    bool       // the key of the item at hand is known
	what     string     // is computed for it
}

// setKeys sets the key of each item, or why it has none. The caller has the turn.
func (in *intake) setKeys(items []queue.Item) {
	for len(items) > 0 {
		k := &keying{intake: in, done: make(chan struct{}), items: items, since: time.Now()}
		k.claimed = sync.NewCond(&k.mu)
		go k.run()
		items = items[k.wait():]
	}
	in.consumer.Prepare(nil)
}

func (k *keying) run() {
	defer close(k.done)
	for d := k.begin(); d != nil; d = k.begin() {
		key, err := k.intake.key(d)
		var of *queue.Limited
		if err == nil && k.intake.limits.keyed(d.Type) && !k.intake.cfg.Settings(d.Type).newer(d) {
			k.is(limitKey)
			of, err = k.intake.limits.usesOf(d)
		}
		k.end(key, of, err)
	}
}

// What is computed.
const (
	partitionKey = "partition key"
	limitKey     = "limit key"
)

// is says what is computed next for the item at hand.
func (k *keying) is(what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.what = what
}

// begin claims the next delivery that needs a key. It returns nil when there is
// none, or nobody waits.
func (k *keying) begin() *engine.Delivery {
	k.mu.Lock()
	defer k.mu.Unlock()
	for ; !k.over && k.at < len(k.items); k.at++ {
		i := &k.items[k.at]
		if i.Key, k.known = k.intake.queue.AwaitedKey(i.Seq); !k.known {
			i.Key = k.intake.cfg.Keyless
		}
		if k.intake.callsForKeys(*i, k.known) {
			k.claim(i.Delivery)
			k.since, k.what = time.Now(), partitionKey
			return i.Delivery
		}
	}
	return nil
}

// claim claims the delivery at hand. The caller holds mu, which is free meanwhile.
func (k *keying) claim(d *engine.Delivery) {
	k.claiming = true
	k.mu.Unlock()
	k.intake.consumer.Prepare(d)
	k.mu.Lock()
	k.claiming = false
	k.claimed.Broadcast()
}

// lock takes mu while nothing is being claimed. So no claim is left behind: the one of a keying that is over would be
// taken for one of the next.
func (k *keying) lock() {
	k.mu.Lock()
	for k.claiming {
		k.claimed.Wait()
	}
}

// key calls the program.
func (in *intake) key(d *engine.Delivery) (key string, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = errs.NewPanicked(cause)
		}
	}()
	return in.cfg.Key(d)
}

func (k *keying) end(key string, of *queue.Limited, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		return
	}
	i := &k.items[k.at]
	if err != nil {
		failKey(i, k.what, err)
	} else if !k.known {
		i.Key = key
	}
	if of != nil {
		i.Limits = of
	}
	k.at++
}

// failKey makes the attempt at a delivery fail.
func failKey(i *queue.Item, what string, err error) {
	if decode, _ := errs.Find[*errs.DecodeError](err); decode == nil {
		err = &errs.DecodeError{Err: fmt.Errorf("the %s of this %s event cannot be computed: %w", what, i.Type, err)}
	}
	i.Fail(err)
}

// wait returns how many items are through.
func (k *keying) wait() (through int) {
	timer := time.NewTimer(keyTimeout)
	defer timer.Stop()
	for {
		select {
		case <-k.done:
			return k.stop(errors.New("its code has ended the goroutine (runtime.Goexit)"))
		case <-timer.C:
			if left := k.left(); left > 0 {
				timer.Reset(left)
				continue
			}
			return k.stop(fmt.Errorf("its code was not through within %v", keyTimeout))
		case <-k.intake.stopping:
			k.stop(errs.ErrShutdown)
			return len(k.items) // they are given back
		}
	}
}

// left returns how long the item at hand may still take.
func (k *keying) left() time.Duration {
	k.lock()
	defer k.mu.Unlock()
	return keyTimeout - time.Since(k.since)
}

// stop ends the waiting. The item at hand, if there is one, has no key because of the
// problem.
func (k *keying) stop(problem error) (through int) {
	k.lock()
	defer k.mu.Unlock()
	k.over = true
	if k.at == len(k.items) {
		return k.at
	}
	failKey(&k.items[k.at], k.what, problem)
	return k.at + 1
}

// callsForKeys tells whether the program has to compute a key of a delivery, whose partition key is known or not.
func (in *intake) callsForKeys(i queue.Item, known bool) bool {
	return (!known || in.limits.keyed(i.Type)) && in.mayRun(i.Delivery)
}

// keyLoops tells whether the key of a delivery must not be computed yet: that calls the program, and a crash meanwhile
// would be its last attempt.
func (in *intake) keyLoops(i queue.Item) bool {
	if in.loops(i).IsZero() {
		return false
	}
	_, known := in.queue.AwaitedKey(i.Seq)
	return in.callsForKeys(i, known)
}

// withoutLooping returns the deliveries whose keys may be computed, in their order: those that have to wait for the end
// of a crash loop, and were tried before, are put off. If others have to wait it returns all, and false: in a strict
// order nobody knows for which keys the delivery holds up what comes, and of those that were never tried all wait.
func (in *intake) withoutLooping(items []queue.Item) (rest []queue.Item, ok bool) {
	until := in.cfg.CrashLoop.Until()
	if until.IsZero() {
		return items, true
	}
	waits := func(i queue.Item) bool { return in.keyLoops(i) && (in.cfg.Strict || !queue.TriedBefore(i)) }
	if slices.ContainsFunc(items, waits) {
		return items, false
	}
	return slices.DeleteFunc(items, func(i queue.Item) bool { return in.keyLoops(i) && in.settler.putOff(i, until) }), true
}

// The limits of an event type can be tuned while its deliveries wait in memory. What has not
// begun then needs the new ones: it asks for them when it is about to begin, and its keys
// are computed once more. What is parked for the old ones goes back into the queue.

// outdated tells whether a delivery has asked for others than the limits of its settings, or has no keys
// for them or for its breaker.
func (in *intake) outdated(i queue.Item, settings *Settings) bool {
	l, uses := i.Limits, settings.Limits
	if in.cfg.Limits == nil {
		uses = nil
	}
	switch {
	case in.cfg.Key == nil:
		return false
	case in.lacksKeys() && (len(uses) > 0 || settings.BreakerBy != ""):
		return true
	case settings.BreakerBy != "" && i.Failure() == nil && (l == nil || l.By != settings.BreakerBy):
		return true
	case l == nil || l.Uses == nil && l.Waiter == nil:
		return keyed(uses)
	}
	return !slices.Equal(l.Of, uses)
}

// relimit brings a delivery that was popped up to date. It reports false if the delivery is back in the
// queue: the scheduler stops, all that is queued needs keys first, or the keys have to wait because suspects
// are to be alone.
func (in *intake) relimit(i *queue.Item, settings *Settings) bool {
	i.Unwait()
	i.Limits = nil
	if in.lacksKeys() {
		in.queue.PutBack(*i)
		in.takeBack()
		return false
	}
	if !in.limits.keyedBy(settings) || i.Failure() != nil {
		return true
	}
	with := []queue.Item{*i}
	if !in.setKeysApart(with) || in.stopped.Load() { // keys may be missing
		in.queue.PutBack(*i)
		return false
	}
	i.Rekey(with[0])
	return true
}

// lacksKeys tells whether what is queued has no keys.
func (in *intake) lacksKeys() bool { return in.cfg.LateKeys && !in.keyed }

// takeBack empties the queue: all of it needs keys first.
func (in *intake) takeBack() {
	in.later = append(in.queue.Reset(), in.later...)
	in.signal()
}

// relimitParked puts what is parked for limits that it does not need any more back into the queue.
func (in *intake) relimitParked() {
	if !in.limits.retuned.Load() || !in.limits.retuned.Swap(false) {
		return
	}
	old := in.queue.TakeParked(func(i queue.Item) bool { return in.outdated(i, in.cfg.Settings(i.Type)) })
	slices.SortFunc(old, func(a, b queue.Item) int { return cmp.Compare(b.Seq, a.Seq) }) // the last one goes first to the front
	for _, i := range old {
		i.Unwait()
		in.queue.PutBack(i)
	}
}
