package runtime

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/internal/engine"
)

const (
	// longRunning is how long an attempt runs before the file says so.
	longRunning = time.Second
	// activityDelay is how often that is looked at.
	activityDelay = time.Second
	// activityPause is the shortest time between two writes.
	activityPause = 100 * time.Millisecond
)

// activity shows in the file what only this process knows: circuit breakers that
// are not closed, and attempts that have been running for long. It closes the
// breakers that operators want closed. Nothing that is delivered waits for it.
type activity struct {
	bus   *Bus
	wake  chan struct{}
	end   chan struct{}
	ended chan struct{}

	mu    sync.Mutex
	asked []engine.BreakerRequest

	shown   engine.Activity
	failing bool // the last write has
}

func newActivity(b *Bus) *activity {
	return &activity{bus: b, wake: make(chan struct{}, 1), end: make(chan struct{}), ended: make(chan struct{})}
}

// signal says that a breaker has changed. It never blocks.
func (a *activity) signal() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// ask takes the requests that are not yet answered.
func (a *activity) ask(requests []engine.BreakerRequest) {
	a.mu.Lock()
	a.asked = requests
	a.mu.Unlock()
	a.signal()
}

// watch shows what changes until stop is called.
func (a *activity) watch() {
	defer close(a.ended)
	tick := time.NewTicker(activityDelay)
	defer tick.Stop()
	for {
		select {
		case <-a.wake:
		case <-tick.C:
		case <-a.end:
			return
		}
		if a.show() {
			select {
			case <-time.After(activityPause):
			case <-a.end:
				return
			}
		}
	}
}

// stop returns when nothing is written any more.
func (a *activity) stop() {
	close(a.end)
	<-a.ended
}

// show answers requests and writes what has changed. It reports false if there
// was nothing to write.
func (a *activity) show() bool {
	a.mu.Lock()
	asked := a.asked
	a.asked = nil
	a.mu.Unlock()
	for _, r := range asked {
		a.bus.closeBreaker(r)
	}
	now := a.bus.activity()
	if len(asked) == 0 && reflect.DeepEqual(now, a.shown) {
		return false
	}
	err := a.bus.log.Show(context.Background(), now, asked)
	log := a.bus.config.logger
	switch {
	case err == nil:
		a.shown = now
		if a.failing {
			log.Info("the state of breakers and running handlers can be written again")
		}
	case !a.failing:
		log.Warn("the state of breakers and running handlers cannot be written for other processes; trying again every second", "error", err)
	}
	a.failing = err != nil
	return true
}

// activity is what there is to show.
func (b *Bus) activity() (now engine.Activity) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.subscriptions {
		status := s.notClosed.Load()
		if status == nil {
			continue
		}
		one := engine.Breaker{
			Subscription: s.name, Group: s.config.group, State: status.State.String(), Since: status.Since.UTC(),
			Failures: status.Failures, Deliveries: status.Samples, LastError: status.LastFailure,
		}
		if status.State == breaker.Open {
			one.Until = status.Until.UTC()
		}
		now.Breakers = append(now.Breakers, one)
	}
	for _, f := range b.feeds {
		if f.scheduler != nil {
			now.Attempts = f.scheduler.Running(now.Attempts, time.Now(), longRunning)
		}
	}
	now.Unhandled = b.health.withoutHandler()
	slices.SortStableFunc(now.Attempts, func(a, b engine.Running) int { return a.Started.Compare(b.Started) })
	return now
}

// closeBreaker does what an operator has asked for.
func (b *Bus) closeBreaker(r engine.BreakerRequest) {
	b.mu.Lock()
	subscriptions := slices.Clone(b.subscriptions)
	b.mu.Unlock()
	for _, s := range subscriptions {
		if s.name == r.Subscription && s.breaker.Reset() {
			b.config.logger.Info("circuit breaker is closed on request", "subscription_id", s.name, "actor", r.Actor)
		}
	}
}

// CloseBreaker closes the circuit breaker of the subscription, because what its
// handler needs works again. Deliveries go on at once; in a group, those that the
// member was passed over for come back when the next one would have been tried. It
// reports false if the breaker is closed already. "busgen breakers close" does it
// from another process.
func (s *Subscription) CloseBreaker() bool { return s.breaker.Reset() }
