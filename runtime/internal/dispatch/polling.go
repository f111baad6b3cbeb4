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
	s.enqueue(polled)
	s.more = full || err != nil
	if polled != nil {
		clear(polled)
		s.polled = polled[:0]
	}
	return s.pause(err)
}

// enqueue puts deliveries into the queue, with their keys.
func (s *Subscription) enqueue(polled []*engine.Delivery) {
	if s.cfg.Key == nil {
		for _, d := range polled {
			s.queue.push(item{Delivery: d, priority: s.cfg.Settings(d.Type).Priority})
		}
		return
	}
	items := s.items[:0]
	for _, d := range polled {
		items = append(items, item{Delivery: d, priority: s.cfg.Settings(d.Type).Priority})
	}
	s.setKeys(items)
	for _, i := range items {
		s.queue.push(i)
	}
	clear(items)
	s.items = items
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
	for {
		failing, err := s.consumer.Failing(s.held, window)
		if err != nil || len(failing) == 0 {
			return err
		}
		items := make([]item, len(failing))
		for i, d := range failing {
			items[i].Delivery = d
		}
		s.setKeys(items)
		for _, i := range items {
			// Without an attempt to come, or a key, there is nothing to wait for.
			if i.failure == nil && s.mayRun(i.Delivery) {
				s.queue.hold(i.key, i.Seq)
			}
		}
		s.held = failing[len(failing)-1].Seq
	}
}
