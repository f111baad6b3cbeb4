package dispatch

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Window is how many deliveries a subscription holds in memory at most. Tests make it small
// before they make schedulers.
var Window = 256

// intake polls deliveries into the queue, with their keys. It belongs to who has the turn.
type intake struct {
	*core
	gate      *gate
	limits    *limits
	settler   *settler
	gathering *queue.Gathering
	parking   parking

	turn  baton         // whoever has it may use the intake, and take deliveries out of the queue
	claim chan struct{} // a worker takes the turn over from a guest that waits with it

	// Guarded by turn.
	ready   bool         // the queue knows what it has to hold
	window  int          // how many deliveries it holds in memory at most
	more    bool         // there may be more to poll, and nobody wakes the worker for that
	failing bool         // the last poll returned an error
	again   time.Time    // when to poll after that
	moves   int          // how many polls in a row have returned ErrMoved
	later   []queue.Item // polled, and waiting for their keys until no suspect runs, or they may run alone
	asks    bool         // the first of them, or of holdFailing, is a suspect
	keyed   bool         // what is in the queue has its keys
	held    int64        // up to here the queue knows
	blocked blocked
	polled  []*engine.Delivery // memory of poll
	items   []queue.Item       // memory of enqueue
}

// awaitTurn waits for the turn. It reports false when the subscription is stopping, or the loan of a guest has
// ended.
func (in *intake) awaitTurn(w *worker) bool {
	w.ended = time.Time{}
	claim := in.claim
	if w.loan != nil {
		claim = nil
	}
	in.turn.join()
	defer in.turn.leave()
	for !in.turn.take() {
		select {
		case <-in.turn.free:
		case claim <- struct{}{}: // a guest had it
			return true
		case <-w.loan:
			return false
		case <-in.stopping:
			return false
		}
	}
	return true
}

// readPause is how long nothing is read after that has failed.
const readPause = time.Second

// movesAtOnce is how often in a row deliveries may move before polling pauses.
const movesAtOnce = 3

// fill polls when there is something to poll and room for it. For a while
// after an error it returns a channel that says when to try again. It reports whether it has
// asked the engine.
func (in *intake) fill(extra bool) (pause <-chan time.Time, asked bool) {
	select {
	case <-in.wake:
		in.woken()
	default:
	}
	in.asks = false
	if in.later != nil {
		if asked = true; !in.enqueue(nil) {
			return in.untilLoopEnds(), asked
		}
	}
	if in.failing {
		if left := time.Until(in.again); left > 0 {
			return time.After(left), asked
		}
	}
	full, crowded := false, false
	if in.more {
		all, waiting := in.queue.Load()
		_, enough := in.roomBeside(all)
		full = !enough
		crowded = full && waiting > in.window/4
	}
	if in.parking.tend(crowded, in.window) {
		full = !in.hasRoom()
	}
	critical, high := in.expressRoom()
	if !extra && critical+high == 0 && (!in.more && (in.ready || !in.cfg.Strict) || !in.cfg.Strict && full) {
		return nil, asked // nearly always
	}
	polled, more, due, err := in.poll(extra, critical, high)
	if errors.Is(err, engine.ErrMoved) {
		in.giveBack(polled)
		if in.moves++; in.moves <= movesAtOnce {
			return nil, true
		}
		return in.pause(fmt.Errorf("%w, %d times in a row", err, in.moves)), true
	}
	in.moves = 0
	in.parking.logEnds = !more && err == nil
	in.enqueue(polled)
	in.more = more || err != nil
	came := len(polled) > 0
	if polled != nil {
		clear(polled)
		in.polled = polled[:0]
	}
	if came && err == nil && in.cfg.Strict && in.more && in.later == nil && !in.hasRoom() {
		return in.fill(extra) // what has filled the window may wait for retries: who knows when these are due?
	}
	if in.later != nil {
		due = queue.Earlier(due, in.cfg.CrashLoop.Until())
	}
	if pause := in.pause(err); pause != nil || due.IsZero() {
		return pause, true
	}
	return time.After(time.Until(due)), true
}

// giveBack settles all that was polled and has not begun with Release, because this
// process has other deliveries of the subscription than before. The next fill begins
// anew: with those that are failing, if the order is strict.
func (in *intake) giveBack(polled []*engine.Delivery) {
	in.gathering.PutBack()
	for _, i := range append(in.queue.Reset(), in.later...) {
		polled = append(polled, i.Delivery)
	}
	for _, d := range polled {
		in.consumer.Settle(engine.Settled{Delivery: d, Disposition: engine.Disposition{Kind: engine.Release, Progress: d.Progress}}, nil)
	}
	in.later, in.ready, in.held, in.parking.newest = nil, false, 0, 0
	in.more = true
	in.signal()
}

// enqueue puts deliveries into the queue, with their keys. It reports false if
// some are left for later, because suspects have to be alone or a crash loop is on.
func (in *intake) enqueue(polled []*engine.Delivery) bool {
	items := in.appendItems(append(in.items[:0], in.later...), polled)
	in.later = nil
	if in.cfg.Key == nil {
		in.queue.Push(items...)
		clear(items)
		in.items = items
		return true
	}
	if in.cfg.LateKeys && !in.keyed {
		if !slices.ContainsFunc(items, queue.Item.Overtakes) && !in.limits.mayPark(items) && !in.consumer.Parked() && !in.gate.byKey.pausing() {
			in.queue.Push(items...)
			clear(items)
			in.items = items
			return true
		}
		items = append(in.queue.Reset(), items...) // what is queued has no keys
	}
	in.keyed = true
	in.parking.inOrder(items)
	left, ok := in.withoutLooping(items)
	if !ok {
		in.later = slices.Clone(left)
	}
	for ok && len(left) > 0 {
		n := suspectsApart(left)
		if !in.setKeysApart(left[:n]) {
			in.later = slices.Clone(left)
			break
		}
		in.queue.Push(in.parking.divert(left[:n])...)
		left = left[n:]
	}
	clear(items)
	in.items = items
	return in.later == nil
}

// suspectsApart returns how many of the next items are none, or 1 if the first is a
// suspect.
func suspectsApart(items []queue.Item) int {
	if at := slices.IndexFunc(items, queue.Item.IsSuspect); at >= 0 {
		return max(at, 1)
	}
	return len(items)
}

// setKeysApart sets the keys of items, unless they have to wait: a suspect for all
// others, the others for a suspect.
func (in *intake) setKeysApart(items []queue.Item) bool {
	suspect := items[0].IsSuspect()
	if !suspect && in.cfg.Alone.closed.Load() || !in.gate.pass(suspect) {
		in.asks = suspect
		return false
	}
	in.setKeys(items)
	in.gate.leave(suspect)
	return true
}

// pause tells the log when reading begins to fail and when it works again, and
// says when to try again.
func (in *intake) pause(err error) <-chan time.Time {
	switch {
	case err == nil && in.failing:
		in.failing = false
		in.cfg.Logger.Info("events can be read again", "subscription_id", in.cfg.Name)
	case err != nil && !in.failing:
		in.failing = true
		in.cfg.Logger.Error("events cannot be read; trying again every second", "subscription_id", in.cfg.Name, "error", err)
	}
	if err != nil {
		in.again = time.Now().Add(readPause)
		return time.After(readPause)
	}
	return nil
}

// woken notes that there may be something to poll.
func (in *intake) woken() { in.more, in.blocked.changed = true, true }

// room returns for how many deliveries there is room in the window, if that is enough to
// poll more. While express deliveries come first little else leaves the window, and retries would wait for long: then less
// is enough.
func (in *intake) room() (room int, enough bool) { return in.roomBeside(in.queue.Len()) }

// roomBeside is room if so many are in the window.
func (in *intake) roomBeside(taken int) (room int, enough bool) {
	if room = in.window - taken; room >= in.window/2 {
		return room, true
	}
	if room < max(in.window/16, 1) {
		return room, false
	}
	critical, high := in.consumer.Express()
	return room, critical || high
}

// expressRoom returns how many express deliveries are to be polled. They have room beside the window, so that they do not
// wait for what is in it; and of each priority a few are enough, because what comes after them in the file is not ahead of
// them.
func (in *intake) expressRoom() (critical, high int) {
	anyCritical, anyHigh := in.consumer.Express()
	if !anyCritical && !anyHigh {
		return 0, 0 // nearly always
	}
	most := max(in.window/4, 1)
	left := max(in.window+2*most-in.queue.Len(), 0)
	ofCritical, ofHigh := in.queue.Express()
	if anyCritical && ofCritical <= most/2 {
		critical = min(most-ofCritical, left)
	}
	if anyHigh && ofHigh <= most/2 {
		high = min(most-ofHigh, left-critical)
	}
	return critical, high
}

func (in *intake) hasRoom() bool {
	_, enough := in.room()
	return enough
}

// pollsOn tells whether the worker with the turn, who has found nothing to begin, polls again
// at once: there may be more, there is room for it, and nothing says wait.
func (in *intake) pollsOn() bool {
	if !in.ready && in.cfg.Strict || in.failing || in.asks || in.later != nil || in.gate.paused.Load() {
		return false
	}
	critical, high := in.expressRoom()
	return critical+high > 0 || in.more && in.hasRoom()
}

// poll takes as many deliveries as the window has room for, and before them so many express ones, and those that are
// polled by their numbers: the urgent ones, and those that hold up what is in a full window.
// It reports whether there may be more, and says when another of these is due.
func (in *intake) poll(extra bool, critical, high int) (polled []*engine.Delivery, more bool, due time.Time, err error) {
	if in.cfg.Strict && !in.ready {
		if in.ready, err = in.holdFailing(); !in.ready {
			return nil, true, in.cfg.CrashLoop.Until(), err
		}
	}
	polled = in.polled[:0]
	if extra {
		if polled, due, err = in.pollAwaited(polled); err != nil {
			return polled, true, due, err
		}
	}
	if critical+high > 0 {
		if polled, err = in.consumer.PollExpress(polled, critical, high); err != nil {
			return polled, true, due, err
		}
	}
	if !in.more {
		return polled, false, due, nil
	}
	room, enough := in.room()
	if enough {
		polled, more, err = in.consumer.Poll(polled, room)
		return polled, more, due, err
	}
	if in.cfg.Strict {
		var next time.Time
		polled, next, err = in.pollBlocking(polled)
		due = queue.Earlier(due, next)
	}
	return polled, true, due, err
}

// holdFailing holds the keys of deliveries that failed in an earlier life. It
// runs before the first poll. It reports false if it has to go on later, because
// suspects have to be alone.
func (in *intake) holdFailing() (all bool, err error) {
	for {
		// What runs here now is held when it is settled, if it has to come again. The
		// answer of Failing may be older than that.
		running := in.queue.Busy()
		failing, err := in.consumer.Failing(in.held, in.window)
		if err != nil || len(failing) == 0 {
			return err == nil, err
		}
		items := make([]queue.Item, len(failing))
		for i, d := range failing {
			if items[i].Delivery = d; d.Unreadable != nil {
				items[i].Fail(&errs.DecodeError{Err: d.Unreadable})
			}
		}
		items = items[:suspectsApart(items)]
		if slices.ContainsFunc(items, in.keyLoops) || !in.setKeysApart(items) {
			return false, nil
		}
		for _, i := range items {
			// Without an attempt to come, or a key, there is nothing to wait for.
			if !running[i.Seq] && i.Failure() == nil && in.mayRun(i.Delivery) {
				in.queue.Hold(i.Key, i.Seq, time.Time{})
			}
		}
		in.held = items[len(items)-1].Seq
	}
}

// appendItems appends the items of deliveries, without their keys.
func (in *intake) appendItems(items []queue.Item, of []*engine.Delivery) []queue.Item {
	var settings *Settings // of the event type of the last one: many of the same come after each other
	eventType := ""
	for _, d := range of {
		i := queue.NewItem(d)
		if settings == nil || d.Type != eventType {
			settings, eventType = in.cfg.Settings(d.Type), d.Type
		}
		if d.Unreadable != nil {
			i.Fail(&errs.DecodeError{Err: d.Unreadable})
		}
		i.Priority = settings.with(i.Own()).Priority
		items = append(items, i)
	}
	return items
}

// untilLoopEnds says when a crash loop ends, if there is one.
func (in *intake) untilLoopEnds() <-chan time.Time {
	until := in.cfg.CrashLoop.Until()
	if until.IsZero() {
		return nil
	}
	return time.After(time.Until(until))
}

// pollAwaited polls urgent deliveries out of turn. It returns when another of them is due;
// zero if there is none.
func (in *intake) pollAwaited(dst []*engine.Delivery) (_ []*engine.Delivery, next time.Time, err error) {
	seqs := in.queue.ToPoll(time.Now())
	for i, seq := range seqs {
		d, again, err := in.consumer.PollEvent(seq)
		if err != nil {
			for _, left := range seqs[i:] {
				in.queue.PollAgain(left, time.Now())
			}
			return dst, time.Time{}, err
		}
		if d != nil {
			dst = append(dst, d)
		}
		if !again.IsZero() {
			in.queue.PollAgain(seq, again)
		}
	}
	return dst, in.queue.NextPoll(time.Now()), nil
}

// pollBlocking polls what holds up deliveries in memory and is due. It returns when another of them may be due; zero if
// there is none.
func (in *intake) pollBlocking(dst []*engine.Delivery) (_ []*engine.Delivery, next time.Time, err error) {
	b, now := &in.blocked, time.Now()
	all := b.changed && now.Sub(b.looked) >= blockedPause
	if all {
		b.changed, b.looked = false, now
	}
	seqs, next := in.queue.Blocking(now, all)
	for _, seq := range seqs {
		d, again, err := in.consumer.PollEvent(seq)
		if err != nil {
			return dst, time.Time{}, err
		}
		if d != nil {
			dst = append(dst, d)
			continue
		}
		if !again.After(now) { // it is held, or on its way: there will be a signal
			again = now.Add(blockedPause)
		}
		in.queue.DueAgain(seq, again)
		next = queue.Earlier(next, again)
	}
	if b.changed {
		next = queue.Earlier(next, b.looked.Add(blockedPause))
	}
	return dst, next, nil
}

// blocked is when deliveries that hold up others are looked for.
type blocked struct {
	changed bool      // something may have become due earlier than was known
	looked  time.Time // when that was taken into account last
}

// blockedPause is how often what may have changed is looked at: each time that means to ask for each of them.
const blockedPause = time.Second

// lookAgain makes the worker that waits with the turn look. It reports false if it has not waited for long, or there is
// a reason to look, by a signal or a time that has come: then what it finds says nothing.
func (in *intake) lookAgain(times ...<-chan time.Time) (looked bool) {
	looked = in.stalls.waited()
	in.stalls.looked = in.stalls.signals.Load()
	select {
	case <-in.wake:
		looked = false
	default:
	}
	for _, c := range times {
		select {
		case <-c:
			looked = false
		default:
		}
	}
	soon := in.consumer.Reread()
	in.woken()
	return looked && !soon
}
