package background

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

const (
	// activityEvery is how often the attempts that have been running for long are collected.
	activityEvery = time.Second
	// activityPause is the shortest time between two writes.
	activityPause = 100 * time.Millisecond
)

// Activity writes into the file what only this process knows, for other processes to
// read: circuit breakers that are not closed, attempts that have been running for long,
// and subscriptions without a handler. It also closes the breakers that operators want
// closed.
type Activity struct {
	log          engine.Reporter
	collect      func() engine.Activity
	closeBreaker func(engine.BreakerRequest)
	logger       *slog.Logger

	wake  chan struct{}
	end   chan struct{}
	ended chan struct{}

	mu       sync.Mutex
	requests []engine.BreakerRequest

	written engine.Activity
	failing bool // the last write has failed
}

// NewActivity returns an Activity that writes nothing before Start. It gets what there is
// to write from collect.
func NewActivity(collect func() engine.Activity, closeBreaker func(engine.BreakerRequest), logger *slog.Logger) *Activity {
	return &Activity{
		collect: collect, closeBreaker: closeBreaker, logger: logger,
		wake: make(chan struct{}, 1), end: make(chan struct{}), ended: make(chan struct{}),
	}
}

// Start begins to write to log.
func (a *Activity) Start(log engine.Reporter) {
	a.log = log
	log.WatchRequests(a.request)
	go a.run()
}

// Stop returns when nothing is written any more.
func (a *Activity) Stop() {
	close(a.end)
	<-a.ended
}

// Changed says that there may be something to write. It never blocks.
func (a *Activity) Changed() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// request takes the requests that are not yet answered.
func (a *Activity) request(requests []engine.BreakerRequest) {
	a.mu.Lock()
	a.requests = requests
	a.mu.Unlock()
	a.Changed()
}

func (a *Activity) run() {
	defer close(a.ended)
	tick := time.NewTicker(activityEvery)
	defer tick.Stop()
	for {
		select {
		case <-a.wake:
		case <-tick.C:
		case <-a.end:
			return
		}
		if a.write() {
			select {
			case <-time.After(activityPause):
			case <-a.end:
				return
			}
		}
	}
}

// write answers requests and writes what has changed. It reports false if there was
// nothing to write.
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
	err := a.log.Show(context.Background(), now, requests)
	switch {
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
