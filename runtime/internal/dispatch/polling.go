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
		s.woken()
	default:
	}
	s.asks = false
	if s.later != nil {
		if asked = true; !s.enqueue(nil) {
			return s.untilLoopEnds(), asked
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
	polled, more, due, err := s.poll(extra)
	if errors.Is(err, engine.ErrMoved) {
		s.giveBack(polled)
		if s.moves++; s.moves <= movesAtOnce {
			return nil, true
		}
		return s.pause(fmt.Errorf("%w, %d times in a row", err, s.moves)), true
	}
	s.moves = 0
	s.enqueue(polled)
	s.more = more || err != nil
	came := len(polled) > 0
	if polled != nil {
		clear(polled)
		s.polled = polled[:0]
	}
	if came && err == nil && s.cfg.Strict && s.more && s.later == nil && !s.hasRoom() {
		return s.fill(extra) // what has filled the window may wait for retries: who knows when these are due?
	}
	if s.later != nil {
		due = earlier(due, s.cfg.CrashLoop.Until())
	}
	if pause := s.pause(err); pause != nil || due.IsZero() {
		return pause, true
	}
	return time.After(time.Until(due)), true
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
		s.consumer.Settle(engine.Settled{Delivery: d, Disposition: engine.Disposition{Kind: engine.Release, Progress: d.Progress}}, nil)
	}
	s.later, s.ready, s.held = nil, false, 0
	s.more = true
	s.signal()
}

// enqueue puts deliveries into the queue, with their keys. It reports false if
// some are left for later, because suspects have to be alone or a crash loop is on.
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
	left, ok := s.withoutLooping(items)
	if !ok {
		s.later = slices.Clone(left)
	}
	for ok && len(left) > 0 {
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

// woken notes that there may be something to poll.
func (s *Scheduler) woken() { s.more, s.blocked.changed = true, true }

// room returns for how many deliveries there is room in the window, if that is enough to
// poll more.
func (s *Scheduler) room() (room int, enough bool) {
	room = s.window - s.queue.len()
	return room, room >= s.window/2
}

func (s *Scheduler) hasRoom() bool {
	_, enough := s.room()
	return enough
}

// pollsOn tells whether the worker with the turn, who has found nothing to begin, polls again
// at once: there may be more, there is room for it, and nothing says wait.
func (s *Scheduler) pollsOn() bool {
	return s.more && (s.ready || !s.cfg.Strict) && !s.failing && !s.asks && s.later == nil && !s.gate.paused.Load() &&
		s.hasRoom() && !s.keepsTooMuch()
}

// poll takes as many deliveries as the window has room for, and before them those that are
// polled by their numbers: the urgent ones, and those that hold up what is in a full window.
// It reports whether there may be more, and says when another of these is due.
func (s *Scheduler) poll(extra bool) (polled []*engine.Delivery, more bool, due time.Time, err error) {
	if s.cfg.Strict && !s.ready {
		if s.ready, err = s.holdFailing(); !s.ready {
			return nil, true, s.cfg.CrashLoop.Until(), err
		}
	}
	polled = s.polled[:0]
	if extra && s.more && s.cfg.Limits != nil {
		s.queue.pollCancelled(s.consumer.Cancelled)
	}
	if extra {
		if polled, due, err = s.pollAwaited(polled); err != nil {
			return polled, true, due, err
		}
	}
	if !s.more {
		return polled, false, due, nil
	}
	room, enough := s.room()
	if enough && !s.keepsTooMuch() {
		polled, more, err = s.consumer.Poll(polled, room)
		return polled, more, due, err
	}
	if s.cfg.Strict {
		var next time.Time
		polled, next, err = s.pollBlocking(polled)
		due = earlier(due, next)
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
		failing, err := s.consumer.Failing(s.held, s.window)
		if err != nil || len(failing) == 0 {
			return err == nil, err
		}
		items := make([]item, len(failing))
		for i, d := range failing {
			if items[i].Delivery = d; d.Unreadable != nil {
				items[i].fail(&DecodeError{Err: d.Unreadable})
			}
		}
		items = items[:suspectsApart(items)]
		if slices.ContainsFunc(items, s.keyLoops) || !s.setKeysApart(items) {
			return false, nil
		}
		for _, i := range items {
			// Without an attempt to come, or a key, there is nothing to wait for.
			if !running[i.Seq] && i.failure() == nil && s.mayRun(i.Delivery) {
				s.queue.hold(i.key, i.Seq, time.Time{})
			}
		}
		s.held = items[len(items)-1].Seq
	}
}
