package dispatch

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// readPause is how long nothing is read after that has failed.
const readPause = time.Second

// movesAtOnce is how often in a row deliveries may move before polling pauses.
const movesAtOnce = 3

// fill polls when there is something to poll and room for it. For a while
// after an error it returns a channel that says when to try again. It reports whether it has
// asked the engine.
func (s *Scheduler) fill(extra bool) (pause <-chan time.Time, asked bool) {
	select {
	case <-s.wake:
		s.more = true
	default:
	}
	s.asks = false
	if s.later != nil {
		if asked = true; !s.enqueue(nil) {
			return nil, asked
		}
	}
	if s.failing {
		if left := time.Until(s.again); left > 0 {
			return time.After(left), asked
		}
	}
	if !extra && (!s.more && (s.ready || !s.cfg.Strict) || !s.cfg.Strict && !s.hasRoom()) {
		return nil, asked // nearly always
	}
	polled, full, due, err := s.poll(extra)
	if errors.Is(err, engine.ErrMoved) {
		s.giveBack(polled)
		if s.moves++; s.moves <= movesAtOnce {
			return nil, true
		}
		return s.pause(fmt.Errorf("%w, %d times in a row", err, s.moves)), true
	}
	s.moves = 0
	s.enqueue(polled)
	s.more = full || err != nil
	if polled != nil {
		clear(polled)
		s.polled = polled[:0]
	}
	if pause := s.pause(err); pause != nil {
		return pause, true
	}
	return due, true
}

// giveBack settles all that was polled and has not begun with Release, because this
// process has other deliveries of the subscription than before. The next fill begins
// anew: with those that are failing, if the order is strict.
func (s *Scheduler) giveBack(polled []*engine.Delivery) {
	s.putBackGathered()
	for _, i := range append(s.queue.reset(), s.later...) {
		polled = append(polled, i.Delivery)
	}
	for _, d := range polled {
		s.consumer.Settle(d, engine.Disposition{Kind: engine.Release, Progress: d.Progress})
	}
	s.later, s.ready, s.held = nil, false, 0
	s.more = true
	s.signal()
}

// enqueue puts deliveries into the queue, with their keys. It reports false if
// some are left for later, because suspects have to be alone.
func (s *Scheduler) enqueue(polled []*engine.Delivery) bool {
	items := s.appendItems(append(s.items[:0], s.later...), polled)
	s.later = nil
	if s.cfg.Key == nil {
		s.queue.push(items...)
		clear(items)
		s.items = items
		return true
	}
	if s.cfg.LateKeys && !s.keyed {
		if !slices.ContainsFunc(items, item.overtakes) && !s.mayPark(items) {
			s.queue.push(items...)
			clear(items)
			s.items = items
			return true
		}
		items = append(s.queue.reset(), items...) // what is queued has no keys
	}
	s.keyed = true
	for left := items; len(left) > 0; {
		n := suspectsApart(left)
		if !s.setKeysApart(left[:n]) {
			s.later = slices.Clone(left)
			break
		}
		s.queue.push(left[:n]...)
		left = left[n:]
	}
	clear(items)
	s.items = items
	return s.later == nil
}

// suspectsApart returns how many of the next items are none, or 1 if the first is a
// suspect.
func suspectsApart(items []item) int {
	if at := slices.IndexFunc(items, item.suspect); at >= 0 {
		return max(at, 1)
	}
	return len(items)
}

// setKeysApart sets the keys of items, unless they have to wait: a suspect for all
// others, the others for a suspect.
func (s *Scheduler) setKeysApart(items []item) bool {
	suspect := items[0].suspect()
	if !suspect && s.cfg.Alone.closed.Load() || !s.pass(suspect) {
		s.asks = suspect
		return false
	}
	s.setKeys(items)
	s.leave(suspect)
	return true
}

// pause tells the log when reading begins to fail and when it works again, and
// says when to try again.
func (s *Scheduler) pause(err error) <-chan time.Time {
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

// enoughRoom is for how many deliveries there is room in the window when more are polled.
const enoughRoom = window / 2

func (s *Scheduler) hasRoom() bool { return window-s.queue.len() >= enoughRoom }

// strictRetries is how many retries are polled at once when the window is full of
// deliveries that wait for one of them. They are another window at most.
const strictRetries = 16

// poll takes as many deliveries as the window has room for, and before them the urgent
// ones. It reports full when there may be more, and says when another urgent one is due.
func (s *Scheduler) poll(extra bool) (polled []*engine.Delivery, full bool, due <-chan time.Time, err error) {
	if s.cfg.Strict && !s.ready {
		if s.ready, err = s.holdFailing(); !s.ready {
			return nil, true, nil, err
		}
	}
	polled = s.polled[:0]
	if extra && s.more && s.cfg.Limits != nil {
		s.queue.pollCancelled(s.consumer.Cancelled)
	}
	if extra {
		if polled, due, err = s.pollAwaited(polled); err != nil {
			return polled, true, nil, err
		}
	}
	if !s.more {
		return polled, false, due, nil
	}
	room, urgent := window-s.queue.len(), len(polled)
	switch {
	case room >= enoughRoom && !s.keepsTooMuch():
		polled, err = s.consumer.Poll(polled, room)
		return polled, len(polled) == urgent+room, due, err
	case s.cfg.Strict && room > -window: // what is in memory of them goes on sooner or later
		polled, err = s.consumer.PollRetries(polled, strictRetries)
	}
	return polled, true, due, err
}

// holdFailing holds the keys of deliveries that failed in an earlier life. It
// runs before the first poll. It reports false if it has to go on later, because
// suspects have to be alone.
func (s *Scheduler) holdFailing() (all bool, err error) {
	for {
		// What runs here now is held when it is settled, if it has to come again. The
		// answer of Failing may be older than that.
		running := s.queue.busy()
		failing, err := s.consumer.Failing(s.held, window)
		if err != nil || len(failing) == 0 {
			return err == nil, err
		}
		items := make([]item, len(failing))
		for i, d := range failing {
			items[i].Delivery = d
		}
		items = items[:suspectsApart(items)]
		if !s.setKeysApart(items) {
			return false, nil
		}
		for _, i := range items {
			// Without an attempt to come, or a key, there is nothing to wait for.
			if !running[i.Seq] && i.failure() == nil && s.mayRun(i.Delivery) {
				s.queue.hold(i.key, i.Seq)
			}
		}
		s.held = items[len(items)-1].Seq
	}
}
