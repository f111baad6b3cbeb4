package dispatch

import (
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// readPause is how long nothing is read after that has failed.
const readPause = time.Second

// fill polls when there is something to poll and room for it. For a while
// after an error it returns a channel that says when to try again.
func (s *Subscription) fill() (pause <-chan time.Time) {
	select {
	case <-s.wake:
		s.more = true
	default:
	}
	if s.failing {
		if left := time.Until(s.again); left > 0 {
			return time.After(left)
		}
	}
	polled, full, err := s.poll()
	for _, d := range polled {
		i := item{Delivery: d, priority: s.cfg.Settings(d.Type).Priority}
		if s.cfg.Key != nil {
			i.key = s.cfg.Key(d)
		}
		s.queue.push(i)
	}
	s.more = full || err != nil
	if polled != nil {
		clear(polled)
		s.polled = polled[:0]
	}
	return s.pause(err)
}

// pause tells the log when reading begins to fail and when it works again, and
// says when to try again.
func (s *Subscription) pause(err error) <-chan time.Time {
	switch {
	case err == nil && s.failing:
		s.failing = false
		s.cfg.Logger.Info("events can be read again", "subscription_id", s.cfg.Name)
	case err != nil && !s.failing:
		s.failing = true
		s.cfg.Logger.Error("events cannot be read; trying again every second", "subscription_id", s.cfg.Name, "error", err)
	}
	if err != nil {
		s.again = time.Now().Add(readPause)
		return time.After(readPause)
	}
	return nil
}

// strictRetries is how many retries are polled when the window is full of
// deliveries that wait for one of them.
const strictRetries = 16

// poll takes what there is room for. It reports full when there may be more.
func (s *Subscription) poll() (polled []*engine.Delivery, full bool, err error) {
	if s.cfg.Strict && !s.ready {
		if err := s.holdFailing(); err != nil {
			return nil, true, err
		}
		s.ready = true
	}
	room := window - s.queue.len()
	switch {
	case !s.more:
		return nil, false, nil
	case room >= window/2:
		polled, err = s.consumer.Poll(s.polled[:0], room)
		return polled, len(polled) == room, err
	case s.cfg.Strict:
		polled, err = s.consumer.PollRetries(s.polled[:0], strictRetries)
		return polled, true, err
	}
	return nil, true, nil
}

// holdFailing holds the keys of deliveries that failed in an earlier life. It
// runs before the first poll.
func (s *Subscription) holdFailing() error {
	return s.consumer.Failing(func(r engine.Record) {
		s.queue.hold(s.cfg.Key(&engine.Delivery{Record: &r}), r.Seq)
	})
}
