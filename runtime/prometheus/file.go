package busprom

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

var (
	backlog     = metric("busgen_backlog", "Events that are not settled.", "subscription")
	running     = metric("busgen_running", "Handlers that have been running for 5 ms or more.", "subscription")
	waiting     = metric("busgen_waiting", "Events that wait for a retry, a delay or a snooze.", "subscription")
	held        = metric("busgen_held", "Events that wait because their type is paused, or their version newer than the program.", "subscription")
	suspended   = metric("busgen_suspended", "Those of the waiting events whose handler waits in a step.", "subscription")
	deadLetters = metric("busgen_dead_letters", "Dead letters.", "subscription")
	oldest      = metric("busgen_oldest_seconds", "Age of the oldest event that is not settled.", "subscription")
	unhandled   = metric("busgen_unhandled", "1 if this program has no handler for the subscription.", "subscription")
	typePauses  = metric("busgen_type_pauses", "Pauses of event types.")
)

// figures is what was read from the file of a bus.
type figures struct {
	at      time.Time // zero if nothing was read
	lags    []event.Lag
	lagsErr error
	pauses  []event.Pause
	err     error // of the pauses
}

// file reads figures from the file, one reader at a time.
type file struct {
	mu      sync.Mutex
	last    figures       // that were read without an error
	reading chan struct{} // closed when the reader has ended; nil if there is none
}

// readLimit ends a reader: that of the next scrape may have more luck.
const readLimit = time.Minute

// read returns what is in the file, or what was read last if that takes longer than patience.
func (f *file) read(bus *runtime.Bus, patience time.Duration) figures {
	f.mu.Lock()
	done := f.reading
	if done == nil {
		done = make(chan struct{})
		f.reading = done
		go f.reader(bus, done)
	}
	f.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

func (f *file) reader(bus *runtime.Bus, done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), readLimit)
	defer cancel()
	var now figures
	now.lagsErr = guarded(func() (err error) { now.lags, err = bus.Lag(ctx); return err })
	now.err = guarded(func() (err error) { now.pauses, err = bus.Pauses(ctx); return err })
	now.at = time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.lagsErr != nil { // the last ones are better than none
		now.lags, now.at = f.last.lags, f.last.at
	}
	f.last, f.reading = now, nil
	close(done)
}

// errNothing says that nothing could be read yet.
var errNothing = errors.New("the file was not read yet")

func (c *Collector) collectLags(s *sink, read figures) error {
	if read.at.IsZero() {
		return errors.Join(errNothing, read.lagsErr)
	}
	now := time.Now()
	s.gauge(stale, now.Sub(read.at).Seconds())
	rest := event.Lag{Subscription: others, Here: true}
	any := false
	for _, l := range read.lags {
		if name := c.subscriptions.of(l.Subscription); name != others {
			l.Subscription = name
			collectLag(s, l, now)
			continue
		}
		any = true
		rest.Backlog, rest.Running, rest.Waiting = rest.Backlog+l.Backlog, rest.Running+l.Running, rest.Waiting+l.Waiting
		rest.Suspended += l.Suspended
		rest.Held, rest.Dead, rest.Here = rest.Held+l.Held, rest.Dead+l.Dead, rest.Here && l.Here
		if rest.Oldest.IsZero() || !l.Oldest.IsZero() && l.Oldest.Before(rest.Oldest) {
			rest.Oldest = l.Oldest
		}
	}
	if any {
		collectLag(s, rest, now)
	}
	return read.lagsErr
}

func collectLag(s *sink, l event.Lag, now time.Time) {
	age := 0.0
	if !l.Oldest.IsZero() {
		age = max(now.Sub(l.Oldest), 0).Seconds()
	}
	for _, one := range []struct {
		desc *prometheus.Desc
		v    float64
	}{
		{backlog, float64(l.Backlog)}, {running, float64(l.Running)}, {waiting, float64(l.Waiting)}, {suspended, float64(l.Suspended)}, {held, float64(l.Held)},
		{deadLetters, float64(l.Dead)}, {oldest, age}, {unhandled, bit(!l.Here)},
	} {
		s.gauge(one.desc, one.v, l.Subscription)
	}
}

func (c *Collector) collectPauses(s *sink, read figures) error {
	if read.err != nil || read.at.IsZero() {
		return errors.Join(errNothing, read.err)
	}
	n := 0
	for _, p := range read.pauses {
		if p.Types != "" {
			n++
		}
	}
	s.gauge(typePauses, float64(n))
	return nil
}
