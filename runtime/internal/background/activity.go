package background

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/internal/beat"
	"github.com/busgen/busgen/runtime/internal/engine"
)

const (
	// activityEvery is how often attempts that have been running for long are collected.
	activityEvery = time.Second
	// activityPause is the shortest time between two writes.
	activityPause = 100 * time.Millisecond
)

// Activity writes state that only this process knows into the file, where other
// processes can read it: circuit breakers that are not closed, attempts that have been
// running for long, and subscriptions without a handler. It also closes breakers when
// operators request it.
type Activity struct {
	log          engine.Reporter
	collect      func() engine.Activity
	closeBreaker func(engine.BreakerRequest)
	logger       *slog.Logger

	wake  chan struct{}
	ctx   context.Context // ends with Stop
	end   context.CancelFunc
	ended chan struct{}

	mu       sync.Mutex
	requests []engine.BreakerRequest

	written engine.Activity
	failing bool // the last write has failed
}

// NewActivity returns an Activity that writes nothing before Start. It calls collect
// for the state to write, and closeBreaker for each request of an operator.
func NewActivity(collect func() engine.Activity, closeBreaker func(engine.BreakerRequest), logger *slog.Logger) *Activity {
	ctx, end := context.WithCancel(context.Background())
	return &Activity{
		collect: collect, closeBreaker: closeBreaker, logger: logger,
		wake: make(chan struct{}, 1), ctx: ctx, end: end, ended: make(chan struct{}),
	}
}

// Start begins to write to log.
func (a *Activity) Start(log engine.Reporter) {
	a.log = log
	log.WatchRequests(a.request)
	go a.run()
}

// Stop ends writing. It waits for a write that has begun.
func (a *Activity) Stop() {
	a.end()
	<-a.ended
}

// Changed makes the Activity collect and write soon. It never blocks.
func (a *Activity) Changed() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// request replaces the unanswered requests.
func (a *Activity) request(requests []engine.BreakerRequest) {
	a.mu.Lock()
	a.requests = requests
	a.mu.Unlock()
	a.Changed()
}

func (a *Activity) run() {
	defer close(a.ended)
	tick := time.NewTimer(beat.Until(activityEvery))
	defer tick.Stop()
	for {
		select {
		case <-a.wake:
		case <-tick.C:
			tick.Reset(beat.Until(activityEvery))
		case <-a.ctx.Done():
			return
		}
		if a.write() {
			select {
			case <-time.After(activityPause):
			case <-a.ctx.Done():
				return
			}
		}
	}
}

// write answers requests and writes the state if it has changed. It returns false if
// there was nothing to write.
func (a *Activity) write() bool {
	a.mu.Lock()
	requests := a.requests
	a.requests = nil
	a.mu.Unlock()
	for _, r := range requests {
		a.closeBreaker(r)
	}
	now := a.collect()
	if len(requests) == 0 && reflect.DeepEqual(now, a.written) {
		return false
	}
	err := a.log.Show(a.ctx, now, requests)
	switch {
	case a.ctx.Err() != nil: // about to end
	case err == nil:
		a.written = now
		if a.failing {
			a.logger.Info("the state of breakers and running handlers can be written again")
		}
	case !a.failing:
		a.logger.Warn("the state of breakers and running handlers cannot be written for other processes; trying again every second", "error", err)
	}
	a.failing = err != nil
	return true
}
