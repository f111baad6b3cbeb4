package dispatch

import (
	"cmp"
	"context"
	"iter"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// BatchEnd says what became of a batch. Events that are neither done nor failed were
// snoozed, discarded or put back.
type BatchEnd struct {
	Size     int // events that the handler was given
	Done     int
	Failed   int // they are retried, or dead
	TimedOut bool
	Started  time.Time
	Took     time.Duration
	Whole    *Attempt // that stands for the batch
}

// Batch is one execution of a handler for several deliveries. Each of them has an [Attempt]
// of its own, with its claim and its disposition; the dispositions of a batch are settled
// together. The handler's context is an attempt, too, which stands for the batch as a whole:
// it has the deadline, and what is published with it is stored if all have succeeded.
type Batch struct {
	site      *site
	limits    *queue.Limited
	alone     bool // nothing runs beside it
	runs      []run
	handler   *Handler
	worker    int
	begun     []*Attempt              // in the order of the log
	handed    []*Attempt              // those of them that the handler was given
	unfit     map[*Attempt]error      // why the others were not
	preparing atomic.Pointer[Attempt] // code of the program is called for it, before the handler
	whole     Attempt                 // its mu is taken before those of the others, and guards all decisions
	expired   int                     // attempts that were over before the batch was; guarded by whole.mu
	judged    *judged                 // while it is judged: where dispositions are kept; guarded by whole.mu
	owed      *judged                 // what is to be settled when observers are told; nil for nothing; guarded by whole.mu
	settled   chan struct{}           // closed when it is; nil if nothing was owed; guarded by whole.mu
}

// spared is the kind of the failure of attempts that another one has kept from being made.
const spared = "spared"

// Context returns the context of the handler.
func (b *Batch) Context() context.Context { return b.whole.Given() }

// Prepare returns the attempts that are to be handed over, in the order of the log. What is
// called for one of them before the next is asked for is called for it alone: if that ends
// the goroutine or does not return, only this attempt has failed.
func (b *Batch) Prepare() iter.Seq[*Attempt] {
	return func(yield func(*Attempt) bool) {
		for _, a := range b.begun {
			if b.Over() {
				break
			}
			if b.unfit[a] != nil {
				continue
			}
			b.preparing.Store(a)
			if !yield(a) {
				break
			}
		}
		b.preparing.Store(nil)
	}
}

// Over tells whether the batch is decided, because it has outlived its deadline.
func (b *Batch) Over() bool {
	b.whole.mu.Lock()
	defer b.whole.mu.Unlock()
	return b.whole.over
}

// Reject says that an attempt cannot be handed over. It does nothing once the batch is
// decided.
func (b *Batch) Reject(a *Attempt, err error) {
	b.whole.mu.Lock()
	defer b.whole.mu.Unlock()
	if b.whole.over {
		return
	}
	if b.unfit == nil {
		b.unfit = map[*Attempt]error{}
	}
	b.unfit[a] = err
}

// Hand says that an attempt is handed over, as the next item of the batch. It does nothing
// once the batch is decided.
func (b *Batch) Hand(a *Attempt) {
	b.whole.mu.Lock()
	defer b.whole.mu.Unlock()
	if !b.whole.over {
		b.handed = append(b.handed, a)
	}
}

// Known takes items out of the batch that somebody else has stored as handled before. They succeed whatever becomes of
// the others, whose indexes are those of what is left. It does nothing once the batch is decided.
func (b *Batch) Known(known func(a *Attempt) bool) {
	b.whole.mu.Lock()
	defer b.whole.mu.Unlock()
	if b.whole.over {
		return
	}
	b.handed = slices.DeleteFunc(b.handed, func(a *Attempt) bool {
		if !known(a) {
			return false
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.stored, a.known = true, true
		return true
	})
}

// TakeStaged is that of an attempt for those items that have not failed: it returns what was staged for them and, if none has
// failed, for the batch. The caller calls HasStored for them.
func (b *Batch) TakeStaged(failed map[int]error) (staged []engine.Record, err error) {
	b.whole.mu.Lock()
	defer b.whole.mu.Unlock()
	if b.whole.over || b.whole.late(time.Now()) {
		return nil, errs.ErrOver
	}
	for i, a := range b.handed {
		a.mu.Lock()
		switch {
		case failed[i] != nil:
		case a.over: // its event has expired
			err = errs.ErrOver
		case a.stash != nil:
			staged = append(staged, a.stash.staged...)
			a.stash.staged = nil
		}
		a.mu.Unlock()
	}
	if err != nil {
		return nil, err
	}
	if whole := b.whole.staged(); len(failed) == 0 && b.expired == 0 {
		staged = append(staged, whole...)
	}
	b.whole.stash, b.whole.taken, b.whole.storing = nil, true, true
	return staged, nil
}

// HasStored says that what TakeStaged has returned is stored, and with it that these items are handled.
func (b *Batch) HasStored(failed map[int]error) {
	b.whole.mu.Lock()
	defer b.whole.mu.Unlock()
	b.whole.stored = true
	for i, a := range b.handed {
		a.mu.Lock()
		a.stored = failed[i] == nil
		a.mu.Unlock()
	}
}

// Size returns how many attempts there are, those that cannot be handed over included.
func (b *Batch) Size() int { return len(b.begun) }

// Items returns the attempts that were handed over.
func (b *Batch) Items() []*Attempt { return b.handed }

// Batch returns the batch that the attempt is part of or stands for; nil for others.
func (a *Attempt) Batch() *Batch { return a.batch }

// Whole tells whether the attempt stands for all of its batch.
func (a *Attempt) Whole() bool { return a.batch != nil && a == &a.batch.whole }

// itemContext is the context of a batch for one of its items.
type itemContext struct {
	context.Context
	attempt *Attempt
}

// Value implements [context.Context].
func (c itemContext) Value(key any) any {
	if key == (attemptKey{}) {
		return c.attempt
	}
	return c.Context.Value(key)
}

// ItemContext returns a context that is ctx, and belongs to one of the items of the batch.
func (b *Batch) ItemContext(ctx context.Context, i int) context.Context {
	return itemContext{ctx, b.handed[i]}
}

// runBatch calls the handler for a batch, as [site.attempt] does for one delivery.
func (s *site) runBatch(worker int, b *Batch) (keep bool) {
	slots := s.deadlines.takeSlots(len(b.runs))
	defer s.deadlines.freeSlots(slots) // after the handler has returned, however late
	b.begin(worker, slots)
	if len(b.begun) == 0 {
		return true
	}
	s.deadlines.watchBatch(b)
	defer b.whole.release()

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
			kind, stack = event.KindExit, string(debug.Stack())
			err = b.exited(stack)
			exit = true
		}
		keep = b.finish(err, kind, stack)
		if exit && keep {
			s.leaveBatch(b)
			s.crew.replace(worker, true)
		}
	}()
	if b.handler.Watch != nil {
		b.handler.Watch(&b.whole)
	}
	if b.handler.Started != nil {
		for _, a := range b.begun {
			if b.unfit[a] == nil {
				b.handler.Started(a)
			}
		}
	}
	err = b.handler.HandleBatch(b)
	returned = true
	return true // as the deferred function says
}

// begin makes the attempts. Those that may not be tried are settled.
func (b *Batch) begin(worker int, slots []int) {
	s := b.site
	b.worker, b.handler = worker, s.cfg.Handlers(b.runs[0].Type)[0]
	b.begun, b.handed = make([]*Attempt, 0, len(b.runs)), make([]*Attempt, 0, len(b.runs))
	for i := range b.runs {
		r := &b.runs[i]
		if s.refuse(slots[i], r) {
			continue
		}
		a := s.newAttempt(slots[i], r, b.handler, r.initial.permit)
		r.tried, a.batch, a.warned = true, b, true
		b.begun = append(b.begun, a)
	}
	b.claimAll()
	for _, a := range b.begun {
		if failure := a.run.Failure(); failure != nil {
			b.Reject(a, failure)
		}
	}
	if len(b.begun) == 0 {
		return
	}
	first := b.begun[0]
	b.whole = Attempt{
		Delivery: first.Delivery, Number: first.Number, run: first.run, handler: b.handler, worker: int32(worker),
		settings: first.settings, started: first.started, limit: unlimited, batch: b,
	}
	for _, a := range b.begun { // the shortest timeout holds for all
		b.whole.limit = min(b.whole.limit, cmp.Or(a.settings.Timeout, unlimited))
	}
	for _, a := range b.begun {
		if b.whole.limit < a.limit {
			a.limit, a.expires = b.whole.limit, false
		}
	}
	b.whole.limitByExpiry()
	b.whole.max.Store(first.max.Load())
	slow := first.settings.SlowAfter
	b.whole.warned = slow == 0 || slow >= b.whole.limit
}

// limitByExpiry ends the batch as a whole when the last of its events expires, if all of them
// do so before the timeout: nobody needs what the handler does after that.
func (whole *Attempt) limitByExpiry() {
	var last time.Duration
	for _, a := range whole.batch.begun {
		if !a.expires {
			return
		}
		last = max(last, a.limit)
	}
	whole.limit, whole.expires = last, true
}

// finish takes what the handler did. It reports false when the worker was written off.
func (b *Batch) finish(err error, kind, stack string) (keep bool) {
	s, whole := b.site, &b.whole
	failures := b.failures(err, kind, stack) // runs the program's code; not while mu is held
	deliveries := make([]*engine.Delivery, len(b.begun))
	for i, a := range b.begun {
		deliveries[i] = a.Delivery
	}
	s.consumer.End(deliveries)
	whole.mu.Lock()
	late := whole.over
	whole.over = true
	now := time.Now()
	if !late {
		b.judge(failures, now, false)
	}
	if late || b.handler.Observed {
		owed := b.owed
		whole.mu.Unlock()
		b.afterwards(late, owed, now, err)
		whole.mu.Lock()
	}
	whole.returned = true
	left := whole.left
	whole.mu.Unlock()
	if s.deadlines.unwatchBatch(b); left {
		s.crew.comeBack(b.worker)
	}
	if left {
		b.handler.Count.Abandoned(whole, -1)
	}
	return !left
}

// expire ends an attempt whose deadline has passed: one of an event that has expired, while
// the handler goes on with the others, or all of them.
func (b *Batch) expire(a *Attempt) {
	if a != &b.whole {
		b.expireItem(a)
		return
	}
	b.whole.mu.Lock()
	storing := b.whole.storing // who stores it knows what becomes of the batch
	b.whole.mu.Unlock()
	if storing {
		return
	}
	decided := b.force(func(a *Attempt) failure {
		if a.expires {
			return a.timeout()
		}
		return a.classify(a.during(&errs.TimeoutError{After: b.whole.limit, Attempt: a.Number}), event.KindTimeout, "")
	})
	b.whole.mu.Lock()
	b.whole.leaveSoon(b.leave)
	b.whole.mu.Unlock()
	if decided {
		b.tellApart()
	}
}

// expireItem ends the attempt of an event that has expired. If it is not even read, the batch
// goes no further.
func (b *Batch) expireItem(a *Attempt) {
	f := a.timeout()
	b.whole.mu.Lock()
	if b.whole.over || b.whole.storing {
		b.whole.mu.Unlock()
		return
	}
	owed := owesNothing
	a.mu.Lock()
	if !a.over && !a.known {
		a.over = true
		a.fail(f)
		b.expired++
		owed = a.owes
	}
	a.mu.Unlock()
	unread := b.preparing.Load() == a
	if unread {
		failures := make([]failure, len(b.begun))
		for i := range failures {
			failures[i].kind = spared
		}
		b.decide(failures)
		b.whole.leaveSoon(b.leave)
	}
	b.whole.mu.Unlock()
	a.tellApart(owed)
	if unread { // else somebody else decides, and tells
		b.tellApart()
	}
}

// interrupt is [Attempt.interrupt] for all of the batch.
func (b *Batch) interrupt(ignored time.Duration) {
	if b.force(func(a *Attempt) failure {
		return a.classify(&errs.InterruptedError{Ignored: ignored}, event.KindInterrupted, "")
	}) {
		b.site.freeLimits(&b.whole)
		b.tellApart()
		return
	}
	b.whole.mu.Lock()
	b.pay(true) // an observer blocks
	returned := b.whole.returned
	b.whole.mu.Unlock()
	if !returned {
		b.site.freeLimits(&b.whole)
	}
}

// force decides the attempts of a batch whose handler has not returned. If code of the
// program is called for one of them, the others are spared. It reports false if the batch was
// decided before.
func (b *Batch) force(failed func(a *Attempt) failure) bool {
	preparing := b.preparing.Load()
	failures := make([]failure, len(b.begun))
	for i, a := range b.begun {
		if failures[i].kind = spared; preparing == nil || preparing == a {
			failures[i] = failed(a) // runs the program's code; not while mu is held
		}
	}
	b.whole.mu.Lock()
	defer b.whole.mu.Unlock()
	if b.whole.over {
		return false
	}
	b.decide(failures)
	return true
}

// decide ends the batch before its handler has returned. The caller holds whole.mu.
func (b *Batch) decide(failures []failure) {
	b.whole.over = true
	b.judge(failures, time.Now(), true)
}

// leave writes the worker off if the handler still has not returned.
func (b *Batch) leave() {
	s, whole := b.site, &b.whole
	whole.mu.Lock()
	if whole.returned || whole.left {
		whole.mu.Unlock()
		return
	}
	told := b.owed == nil
	b.pay(true)
	whole.left = true
	s.crew.runsOn(b.worker, 0)
	whole.mu.Unlock()
	s.sayLeft(told, b.logged())
	b.handler.Count.Abandoned(whole, 1)
	s.leaveBatch(b)
	s.freeLimits(whole)
	s.crew.replace(b.worker, false)
}

// logged returns the attributes of a log line about the batch: those of its first event, and
// how many there are.
func (b *Batch) logged(more ...any) []any {
	return b.whole.logged(append([]any{"batch", len(b.begun)}, more...)...)
}

// claimAll begins the attempts, and removes attempts at deliveries that must not be tried.
func (b *Batch) claimAll() {
	left, kept := b.begun, b.begun[:0]
	deliveries, slots := make([]*engine.Delivery, len(left)), make([]int, len(left))
	for i, a := range left {
		deliveries[i], slots[i] = a.Delivery, int(a.worker)
	}
	for len(left) > 0 {
		n, begun, cancelled := b.site.consumer.Begin(deliveries, slots, left[0].started)
		for _, a := range left[:n] {
			a.startAt(begun)
		}
		kept = append(kept, left[:n]...)
		if n < len(left) && left[n].refused(cancelled) {
			n++
		}
		left, deliveries, slots = left[n:], deliveries[n:], slots[n:]
	}
	b.begun = kept
}
