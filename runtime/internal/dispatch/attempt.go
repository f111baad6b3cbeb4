package dispatch

import (
	"cmp"
	"math"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/guard"
	"github.com/busgen/busgen/runtime/internal/lockorder"
)

// Grace is how long a worker waits for a handler whose deadline has passed
// before it is written off.
const Grace = time.Second

// Attempt is one execution of a handler, and the context that the handler is
// given.
type Attempt struct {
	*engine.Delivery
	Number int // 1 for the first execution

	run      *run
	handler  *Handler
	settings *Settings // of the handler
	started  time.Time
	limit    time.Duration // how long the handler may take; unlimited for as long as it likes
	permit   breaker.Permit
	handed   *Handed                // what the handler was given; nil as long as it was given nothing
	batch    *Batch                 // that it is part of, or stands for as a whole; nil outside of batches
	extra    atomic.Pointer[extras] // nil for most

	mu    lockorder.Mutex[lockorder.Attempt]
	stash *stash // nil while the handler has left nothing; guarded by mu until over is set, and then the worker's

	// There is one attempt for each delivery, so what is small is together.
	max    atomic.Int32 // the Number of the last attempt that the policy allows
	worker int32

	expires bool // the limit is because its event expires then
	first   bool // of its run
	warned  bool // that it is slow, or there is nothing to warn of; guarded by the mu of the deadlines
	delays  bool // its event, which was reported as slow while it ran; guarded by the mu of the deadlines

	// These are guarded by mu.
	lends    bool // has lent something, at some time
	ended    bool // the context is over
	over     bool // there is a disposition; whoever sets it makes it
	entered  bool // the handler was called by a middleware
	owes     owing
	returned bool // the handler is back, and what follows it is done
	left     bool // the worker is, by others
	handled  bool // well, and there are more handlers to come
	taken    bool // what is staged, by TakeStaged
	storing  bool // what was taken; its deadline does not end the attempt
	stored   bool // what was taken: the attempt succeeds, however late
	known    bool // stored before its batch began: the handler is not given its event
	counted  bool // as handled
	well     bool // it has succeeded, and is settled
}

// stash is what the handler of an attempt leaves to be done with its success. It is guarded by
// the attempt's mu.
type stash struct {
	staged   []engine.Record
	keys     engine.Keys                // of what is staged; nil until one has a key
	atomic   []func(tx engine.Tx) error // for Commit
	appended []engine.Record            // by Commit
}

// stashed returns the stash of the attempt, made if need be. The caller holds mu.
func (a *Attempt) stashed() *stash {
	if a.stash == nil {
		a.stash = &stash{}
	}
	return a.stash
}

// staged returns what the handler has staged. The caller holds mu.
func (a *Attempt) staged() []engine.Record {
	if a.stash == nil {
		return nil
	}
	return a.stash.staged
}

// Owner returns the bus whose handler this is.
func (a *Attempt) Owner() any { return a.run.site.cfg.Owner }

// Max returns the Number of the last attempt that the policy allows: that of the
// subscription, or after a failure that of the class of its error.
func (a *Attempt) Max() int { return int(a.max.Load()) }

// allow sets Max for a policy.
func (a *Attempt) allow(maxAttempts int) {
	_, uncounted := a.counts()
	a.max.Store(int32(maxAttempts + uncounted))
}

// Critical tells whether a dead letter of the delivery is an alert.
func (a *Attempt) Critical() bool { return a.run.Priority == queue.Critical }

// Started returns when the handler was called.
func (a *Attempt) Started() time.Time { return a.started }

// Retry reports whether the handler has failed at the delivery before. In a group
// that is the member with which the run begins.
func (a *Attempt) Retry() bool { return a.Failures > 0 && a.first }

// bound says how long the attempt may take from when it has started.
func (a *Attempt) bound() {
	a.limit, a.expires = cmp.Or(a.settings.Timeout, unlimited), false
	if after := a.run.settings.ExpiresAfter; after > 0 {
		// No longer than all of it: the clock may have been set back.
		if left := min(after, after-a.started.Sub(a.run.Since)); left < a.limit {
			a.limit, a.expires = max(0, left), true
		}
	}
}

// startAt says that the engine has let the attempt begin, at once or later.
func (a *Attempt) startAt(begun time.Time) {
	if begun != a.started {
		a.started = begun
		a.bound()
	}
}

// numberOf returns the Number of the next attempt at a delivery.
func numberOf(d *engine.Delivery) int { return d.Failures + d.Uncounted + 1 }

// unlimited is the limit of an attempt that may take as long as it likes.
const unlimited = time.Duration(math.MaxInt64)

// deadline returns when the handler has to be done, or the zero time.
func (a *Attempt) deadline() time.Time {
	limit, _ := a.bounds()
	if limit == unlimited {
		return time.Time{}
	}
	return a.started.Add(limit)
}

// late tells whether the deadline has passed.
func (a *Attempt) late(now time.Time) bool {
	limit, _ := a.bounds()
	return limit != unlimited && now.Sub(a.started) >= limit
}

// attempt calls a handler once. It reports handled when the run may go on to
// the next member of its group; otherwise there is a disposition. It does not keep
// its worker when that was written off meanwhile, or when the handler has ended
// the worker's goroutine.
func (s *site) attempt(w *worker, r *run, h *Handler, permit breaker.Permit) (handled, keep bool) {
	a := s.newAttempt(w.number, r, h, permit)
	r.tried = true
	slow := a.settings.SlowAfter
	for {
		n, begun, cancelled := w.begin(s.consumer, a)
		if n > 0 {
			a.startAt(begun)
			a.warned = slow == 0 || slow >= a.limit
			break
		}
		if a.refused(cancelled) {
			a.release()
			return false, true
		}
	}
	s.deadlines.watch(w, a)

	returned := false
	var err error
	defer func() {
		kind, stack := event.KindError, ""
		exit := false
		switch cause := recover(); {
		case cause != nil:
			kind, stack = event.KindPanic, string(debug.Stack())
			err = errs.NewPanicked(cause)
		case !returned:
			// Neither returned nor panicking: the handler has called Goexit,
			// and this goroutine is on its way out.
			kind, stack = event.KindExit, string(debug.Stack())
			err = a.exited(stack)
			exit = true
		}
		keep = a.finish(w, err, kind, stack)
		handled = a.handled
		if exit && keep {
			s.leaveGate(r)
			s.crew.replace(w.number, true)
		}
	}()
	if h.Watch != nil {
		h.Watch(a)
	}
	if err = r.Failure(); err == nil {
		if h.Started != nil {
			h.Started(a)
		}
		if !a.Undoing {
			err = h.Handle(a)
		} else {
			err = a.undo()
		}
	}
	returned = true
	return false, true // as the deferred function says
}

// finish takes what the handler did. It reports false when the worker was
// written off.
func (a *Attempt) finish(w *worker, err error, kind, stack string) (keep bool) {
	s := a.run.site
	var f failure
	if doom := a.doomed(); doom != nil && kind == event.KindError {
		err = doom
	}
	if err != nil {
		f = a.classify(err, kind, stack) // runs the program's code; not while mu is held
	}
	// Before anything is settled: from here on a crash is not this handler's.
	w.end(s.consumer, a)
	a.mu.Lock()
	late := a.over
	a.over = true
	a.run.site.places.recall(a)
	now := time.Now()
	if !late {
		a.judge(f, now)
	}
	a.end()
	if late || a.handler.Observed {
		owed := a.owes
		a.mu.Unlock()
		a.afterwards(late, owed, now, err)
		a.mu.Lock()
	}
	a.returned = true
	left := a.left
	a.mu.Unlock()
	if w.slot.Store(nil); left {
		s.crew.comeBack(w.number)
	}
	// Nothing that takes time comes before the next attempt. With several workers its event may be younger than this.
	if err == nil && !late && !a.handler.Observed && s.cfg.Concurrency <= 1 {
		w.ended = now
	}
	if left {
		a.handler.Count.Abandoned(a, -1)
	} else if a.well {
		a.run.left = a.leaveHanded()
	}
	return !left
}

// judge gives the disposition on what the handler did. The caller holds mu, as for
// every disposition: whoever finds the attempt over can rely on the engine having
// it, so that a shutdown does not close the log before.
func (a *Attempt) judge(f failure, now time.Time) {
	s := a.run.site
	interrupted := s.base.Err() != nil
	switch {
	case f.uncommitted:
		a.fail(f)
	case !interrupted && !a.stored && a.late(now):
		// It came back before expire had its turn, and too late all the same.
		a.fail(a.timeout())
	case a.isSuspended() && (f.kind == "" || f.kind == event.KindError && a.doomed() == nil):
		a.suspend(now)
	case f.kind == "" && a.Undoing:
		a.undone()
	case f.kind == "": // it has not failed
		a.succeed(now)
	case interrupted, f.stopped && s.stopped.Load():
		a.withdraw()
		a.settle(a.run.release())
	default:
		a.fail(f)
	}
}

// succeed records a success. In a group it is part of the disposition that the run
// comes to.
func (a *Attempt) succeed(now time.Time) {
	s := a.run.site
	a.permit.Success(now)
	if !a.counted {
		a.handler.Count.Succeeded(a, now)
	}
	a.handler.Count.Handled(a, a.staged()) // first, so that a caller that waits for the delivery finds it counted
	if s.cfg.Group {
		a.run.staged = append(a.run.staged, a.staged()...)
		a.goOn()
		return
	}
	a.well = true
	if j := a.judged(); j != nil && a.handler.Observed {
		j.reports = append(j.reports, report{of: a})
	} else if a.handler.Observed {
		a.owes = owesDone
		return
	}
	a.settle(engine.Disposition{Kind: engine.Done, Staged: a.staged()})
}

// expire ends an attempt whose deadline has passed.
func (a *Attempt) expire() {
	if a.batch != nil {
		a.batch.expire(a)
		return
	}
	f := a.classify(a.during(a.lateness()), event.KindTimeout, "")
	a.mu.Lock()
	switch {
	case a.over:
		a.leaveSoon(a.leave)
		a.mu.Unlock()
		return
	case a.storing || !a.late(time.Now()), a.storesStep(): // who stores it knows what becomes of the attempt
		a.mu.Unlock()
		return
	}
	a.over = true
	a.run.site.places.recall(a)
	a.fail(f)
	a.leaveSoon(a.leave)
	owed := a.owes
	a.mu.Unlock()
	a.tellApart(owed)
}

// leaveSoon makes the worker be left behind if it does not return within Grace. The caller holds mu.
func (a *Attempt) leaveSoon(leave func()) {
	if x := a.extras(); !a.returned && !x.leaving {
		x.leaving = true
		time.AfterFunc(Grace, leave)
	}
}

// isExpired tells whether there is nothing for expire to do.
func (a *Attempt) isExpired() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.extra.Load()
	return a.over && (a.returned || x != nil && x.leaving)
}

// leave writes the worker off if the handler, or the program's code that follows it, still has not returned.
func (a *Attempt) leave() {
	s := a.run.site
	a.mu.Lock()
	if a.returned || a.left {
		a.mu.Unlock()
		return
	}
	told := a.owes == owesNothing
	a.pay(true)
	a.left = true
	s.crew.runsOn(int(a.worker), 0) // before the handler can return, and the worker be another's
	a.mu.Unlock()
	s.sayLeft(told, a.logged())
	a.handler.Count.Abandoned(a, 1)
	s.leaveGate(a.run)
	s.freeLimits(a)
	s.crew.replace(int(a.worker), false)
}

// interrupt ends an attempt whose handler has ignored for so long that a shutdown
// cancelled its context. That counts, or else a handler that hangs would do so
// after every restart.
func (a *Attempt) interrupt(ignored time.Duration) {
	f := a.classify(&errs.InterruptedError{Ignored: ignored}, event.KindInterrupted, "")
	a.mu.Lock()
	over := a.over
	if over {
		a.pay(true) // an observer blocks
	} else {
		a.over = true
		a.run.site.places.recall(a)
		a.fail(f)
	}
	owed, returned := a.owes, a.returned
	a.mu.Unlock()
	if !over || !returned {
		a.run.site.freeLimits(a)
	}
	a.tellApart(owed)
}

// sayLeft says that a worker is left behind: in its handler, or in an observer that is told of it.
func (s *site) sayLeft(told bool, attributes []any) {
	logger := s.cfg.Logger
	if !told {
		logger.Warn("an observer that is told of a handler does not return; it is left behind", attributes...)
		return
	}
	logger.Warn("a handler ignores its context; it is left behind", attributes...)
}

// withdraw tells the breaker that the attempt says nothing about its handler.
// If it was the probe of an open breaker, another may be.
func (a *Attempt) withdraw() {
	a.permit.Release()
	a.run.site.signal()
}

// refused ends an attempt whose handler is not called, because the delivery was cancelled or
// is not this process's any more. It reports false if the cancel was undone meanwhile.
func (a *Attempt) refused(cancelled bool) (over bool) {
	if !cancelled {
		a.drop()
		return true
	}
	reason, cancelled := a.run.site.consumer.Cancelled(a.Seq)
	if !cancelled {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	a.withdraw()
	a.settle(a.run.disposition(engine.Disposition{Kind: engine.Discard, Reason: reason, Cancelled: true}))
	return true
}

// drop ends an attempt at a delivery of another process. Whoever has it now settles it.
func (a *Attempt) drop() {
	a.mu.Lock()
	a.over = true
	a.mu.Unlock()
	a.run.site.queue.Done(a.run.Key, a.run.Seq) // before the signal, which is for what waits for the key too
	a.withdraw()
}

// logged returns the attributes of a log line about the attempt.
func (a *Attempt) logged(more ...any) []any {
	attributes := []any{"event_id", a.ID, "event_type", a.Type, "subscription_id", a.handler.Name, "attempt", a.Number}
	if a.run.site.cfg.Group {
		attributes = append(attributes, "group", a.run.site.cfg.Name)
	}
	if a.run.site.cfg.Ephemeral {
		attributes = append(attributes, "ephemeral", true)
	}
	for i := 0; i+1 < len(more); i += 2 {
		if more[i] == "error" {
			more[i+1] = a.shown(more[i+1])
		}
	}
	if w := a.Watched(); w != nil {
		attributes = append(attributes, w.Logged...)
	}
	return append(attributes, more...)
}

// shown returns an error, or its text, without what nobody is to see.
func (a *Attempt) shown(failure any) any {
	cfg := &a.run.site.cfg
	if cfg.Shown == nil || failure == nil {
		return failure
	}
	text, isText := failure.(string)
	if err, isError := failure.(error); isError {
		text, _ = guard.Apart(func() string {
			text, _ := errs.TextOf(err)
			return text
		})
	} else if !isText {
		return failure
	}
	clean := text
	if a.batch != nil && a.Whole() {
		for _, one := range a.batch.begun {
			clean = cfg.Shown(one.Delivery, clean)
		}
	} else if a.Delivery != nil {
		clean = cfg.Shown(a.Delivery, clean)
	}
	if clean == text {
		return failure
	}
	return clean
}

// HandlerName returns the name of the subscription whose handler this is: in a group the
// name of the member.
func (a *Attempt) HandlerName() string { return a.handler.Name }

// HandlerAliases returns the names that it had before.
func (a *Attempt) HandlerAliases() []string { return a.handler.Aliases }
