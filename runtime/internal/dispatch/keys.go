package dispatch

import (
	"errors"
	"fmt"
	"sync"
	"time"

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
	scheduler *Scheduler
	done      chan struct{} // closed when the goroutine ends

	mu       sync.Mutex
	items    []item
	at       int        // the one at hand; all of them if the goroutine is through
	since    time.Time  // when that one was begun
	claiming bool       // the one at hand is being claimed, without mu: an engine may ask its servers
	claimed  *sync.Cond // of mu: that has ended
	over     bool       // nobody waits for it any more; then the items are not touched
	known    bool       // the key of the item at hand is known
	what     string     // is computed for it
}

// setKeys sets the key of each item, or why it has none. The caller has the turn.
func (s *Scheduler) setKeys(items []item) {
	for len(items) > 0 {
		k := &keying{scheduler: s, done: make(chan struct{}), items: items, since: time.Now()}
		k.claimed = sync.NewCond(&k.mu)
		go k.run()
		items = items[k.wait():]
	}
	s.consumer.Prepare(nil)
}

func (k *keying) run() {
	defer close(k.done)
	for d := k.begin(); d != nil; d = k.begin() {
		key, err := k.scheduler.key(d)
		var of *limited
		if err == nil && k.scheduler.cfg.Limits != nil && !k.scheduler.cfg.Settings(d.Type).newer(d) {
			k.is(limitKey)
			of, err = k.scheduler.limitUses(d)
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
		if i.key, k.known = k.scheduler.queue.awaitedKey(i.Seq); !k.known {
			i.key = k.scheduler.cfg.Keyless
		}
		if k.scheduler.callsForKeys(*i, k.known) {
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
	k.scheduler.consumer.Prepare(d)
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
func (s *Scheduler) key(d *engine.Delivery) (key string, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = newPanicked(cause)
		}
	}()
	return s.cfg.Key(d)
}

func (k *keying) end(key string, of *limited, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		return
	}
	i := &k.items[k.at]
	if err != nil {
		i.failKey(k.what, err)
	} else if !k.known {
		i.key = key
	}
	if of != nil {
		i.limits = of
	}
	k.at++
}

// failKey makes the attempt at a delivery fail.
func (i *item) failKey(what string, err error) {
	if decode, _ := find[*DecodeError](err); decode == nil {
		err = &DecodeError{Err: fmt.Errorf("the %s of this %s event cannot be computed: %w", what, i.Type, err)}
	}
	i.fail(err)
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
		case <-k.scheduler.stopping:
			k.stop(ErrShutdown)
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
	k.items[k.at].failKey(k.what, problem)
	return k.at + 1
}

// callsForKeys tells whether the program has to compute a key of a delivery, whose partition key is known or not.
func (s *Scheduler) callsForKeys(i item, known bool) bool {
	return (!known || s.keyedLimits(i.Type)) && s.mayRun(i.Delivery)
}

// mayRun tells whether there will be an attempt at a delivery, because nobody has
// discarded it, and the last one did not end with its process or was not the last that
// its policy allows.
func (s *Scheduler) mayRun(d *engine.Delivery) bool {
	if _, cancelled := s.consumer.Cancelled(d.Seq); cancelled {
		return false
	}
	return !d.Crashed || !s.cfg.Settings(d.Type).Retry.Exhausted(d.Failures)
}
