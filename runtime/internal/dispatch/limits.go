package dispatch

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/limit"
)

// A delivery that needs limits asks for them last, when everything else would let it begin.
// If they have no room it is parked: out of the queue, with its partition key, so that later
// deliveries of the key wait behind it, and in line at the limits. It holds nothing, and has
// no place, no claim, no permit of the breaker. When it may be its turn the scheduler is
// signalled, and tries it like the next of the queue.
//
// What holds beside the rules of waiting.go:
//
//  1. Permits are taken when a delivery begins, all or none, by whoever has the turn. None
//     is reserved for a scheduler that cannot begin it now.
//  2. A handler that waits for another event lends its permits with its place and its key,
//     and comes back when it has all of them again, or by force.
//  3. An event that holds permits between its attempts is urgent: its next attempt is polled
//     out of turn, and begins beside parked deliveries of its key. So nothing that is parked
//     keeps those from ending whose permits it waits for. It gets a key or a place that is
//     lent only while somebody waits for its permits that a waiting handler may wait for.
//  4. A suspect of a crash that has no room does not ask to run alone.

// LimitUse is a limit that deliveries of an event type need.
type LimitUse struct {
	*limit.Limit
	By string // path of the field whose value is the key; empty for none
}

// limited is what a delivery has to do with limits.
type limited struct {
	uses    []limit.Use   // with keys, if some have any
	of      []LimitUse    // the settings that it has asked with
	waiter  *limit.Waiter // until it begins
	parked  bool          // the waiter is in line
	grant   *limit.Grant  // since it has begun
	failure error         // it has waited for too long
}

func (l *limited) tooLate() bool { return l != nil && l.failure != nil }

// limits is what a scheduler has to do with limits. It is guarded by the turn.
type limits struct {
	owner   *limit.Owner // nil if there are no limits
	tried   bool         // everything was tried that may begin
	listens bool
	batch   *limit.Waiter // of the batch that is gathered
	batchOf []LimitUse    // the settings that it has asked with
	retuned atomic.Bool   // the settings may have changed since anybody has asked
	full    bool          // so many events hold something that nothing further is read
}

// maxKept is for how many events a subscription keeps something between their attempts before
// it reads no further. It reads on when half of them are settled.
const maxKept = 1024

// keepsTooMuch tells whether nothing further is to be read. The caller has the turn.
func (s *Scheduler) keepsTooMuch() bool {
	kept := 0
	if s.cfg.Limits != nil {
		kept = s.queue.keeping()
	}
	switch {
	case kept < maxKept/2:
		s.limits.full = false
	case kept >= maxKept && !s.limits.full:
		s.limits.full = true
		s.cfg.Logger.Warn("many events hold limits while they wait for their retries; nothing further is read until half of them are settled",
			"subscription_id", s.cfg.Name, "events", kept)
	}
	return s.limits.full
}

// listen is called before the turn waits for something to do.
func (s *Scheduler) listen() {
	if s.limits.owner != nil && s.limits.tried {
		s.limits.listens = true
		s.limits.owner.Listen()
	}
}

// unlisten is called before the turn is given away, or used for anything else.
func (s *Scheduler) unlisten() {
	if s.limits.listens {
		s.limits.listens = false
		s.limits.owner.Leave()
	}
}

// keyedLimits tells whether deliveries of an event type have keys of limits.
func (s *Scheduler) keyedLimits(eventType string) bool {
	return s.cfg.Limits != nil && keyed(s.cfg.Settings(eventType).Limits)
}

// mayPark tells whether limits can let deliveries overtake others: they have keys, or are
// not those of all.
func (s *Scheduler) mayPark(items []item) bool {
	return s.cfg.Limits != nil && slices.ContainsFunc(items, func(i item) bool { return len(s.cfg.Settings(i.Type).Limits) > 0 })
}

// limitUses returns the limits of a delivery with their keys. It calls the program.
func (s *Scheduler) limitUses(d *engine.Delivery) (of *limited, err error) {
	in := s.cfg.Settings(d.Type).Limits
	if !keyed(in) {
		return nil, nil
	}
	of = &limited{of: in}
	for _, u := range in {
		key := ""
		if u.By != "" {
			if key, err = s.limitKey(d, u.By); err != nil {
				return nil, err
			}
		}
		of.uses = append(of.uses, limit.Use{Limit: u.Limit, Key: key})
	}
	return of, nil
}

func (s *Scheduler) limitKey(d *engine.Delivery, by string) (key string, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = newPanicked(cause)
		}
	}()
	return s.cfg.LimitKey(d, by)
}

// askLimits makes the waiter of a delivery that everything else lets begin. It reports
// false if the delivery has no room; then it is parked. The caller has the turn.
func (s *Scheduler) askLimits(i *item, settings *Settings, now time.Time) bool {
	if i.limits == nil {
		i.limits = &limited{}
	}
	l := i.limits
	if l.waiter != nil { // it was parked, and is ready
		after := settings.ExpiresAfter
		if !l.waiter.Expired() || after > 0 && now.Sub(i.Since) >= after {
			return true
		}
		i.unwait() // its event may live on by now: it needs all that others need
	}
	if i.failure() != nil || !s.mayRun(i.Delivery) {
		return true
	}
	uses := l.uses
	if uses == nil && !keyed(settings.Limits) {
		l.of = settings.Limits
		for _, u := range settings.Limits {
			uses = append(uses, limit.Use{Limit: u.Limit})
		}
	}
	if w := s.cfg.Limits.Workers; w != nil {
		uses = append(slices.Clip(uses), limit.Use{Limit: w})
	}
	kept := s.queue.kept(i.Seq)
	if len(uses) == 0 && kept == nil {
		return true
	}
	expires := time.Duration(0)
	if after := settings.ExpiresAfter; after > 0 {
		if expires = min(after, after-now.Sub(i.Since)); expires <= 0 {
			return true // it is dead-lettered
		}
	}
	r := rank(i.priority)
	if i.urgent {
		r = -1
	}
	if l.waiter = s.limits.owner.NewWaiter(uses, kept, r, expires); l.waiter == nil || l.waiter.MayBegin() {
		return true
	}
	s.queue.park(*i)
	return false
}

// takeLimits takes what askLimits has asked for. It reports false if somebody was quicker;
// then the delivery is parked.
func (s *Scheduler) takeLimits(i *item) bool {
	l := i.limits
	if l.waiter == nil {
		l.grant = s.cfg.Limits.NewGrant() // for what the handler needs
		return true
	}
	grant, late, ok := l.waiter.Take()
	if !ok {
		s.queue.park(*i)
		return false
	}
	l.waiter, l.grant, l.parked = nil, grant, false
	s.unkeep(i.Seq)
	if late != nil {
		l.failure = late
		i.fail(late)
	}
	return true
}

// settleLimits keeps what is held until the event is settled. It is called before the
// disposition of a delivery is settled, so before it can come again.
func (s *Scheduler) settleLimits(i *item, how engine.DispositionKind) {
	i.unwait()
	if how != engine.Retry && how != engine.Snooze {
		s.release(i.Seq)
		return
	}
	s.queue.goes(i.Seq)
	if i.limits == nil || s.cfg.Ephemeral || s.stopped.Load() {
		return // nobody could poll it out of turn
	}
	if kept := i.limits.grant.Keep(s.limits.owner); kept != nil {
		s.extra.Add(1)
		s.queue.keep(i.Seq, kept)
	}
}

// unkeep forgets what an event holds, and reports false if that is nothing.
func (s *Scheduler) unkeep(seq int64) bool {
	if !s.queue.unkeep(seq) {
		return false
	}
	s.extra.Add(-1)
	s.signal()
	return true
}

// release gives back what an event holds between its attempts.
func (s *Scheduler) release(seq int64) {
	kept := s.queue.kept(seq)
	if kept == nil {
		return
	}
	s.queue.unparkSeq(seq) // it needs them again
	if s.unkeep(seq) {
		kept.Release()
	}
}

// releaseAll is release for all events.
func (s *Scheduler) releaseAll() {
	for _, seq := range s.queue.keptSeqs() {
		s.release(seq)
	}
}

// freePaused frees what events hold if the subscription is paused. Nobody may have the turn: its
// workers can be busy for long. Whoever has it calls this when it has given the turn away.
func (s *Scheduler) freePaused() {
	if s.limits.owner == nil || !s.gate.paused.Load() || s.queue.keeping() == 0 {
		return
	}
	if s.turn.take() {
		s.releaseAll()
		s.turn.give()
	}
}

// nextItem removes the next delivery that may run from those that are parked, or from the
// queue.
func (s *Scheduler) nextItem(guest bool) (i item, ok bool) {
	if s.cfg.Limits == nil || s.queue.parked() == 0 {
		return s.queue.pop(guest)
	}
	for w := range s.limits.owner.Ready {
		if i, ok := s.queue.unpark(w, guest); ok {
			return i, true
		}
		w.Block()
	}
	return s.queue.pop(guest)
}

// dismissParked settles what is parked and was cancelled.
func (s *Scheduler) dismissParked() {
	for _, i := range s.queue.takeParked(func(i item) bool { _, cancelled := s.consumer.Cancelled(i.Seq); return cancelled }) {
		reason, _ := s.consumer.Cancelled(i.Seq)
		s.settle(&i, engine.Disposition{Kind: engine.Discard, Reason: reason, Cancelled: true, Progress: i.Progress})
	}
}

// putBack undoes nextItem for a delivery that may not run yet.
func (s *Scheduler) putBack(i item) {
	if i.limits != nil && i.limits.parked {
		s.queue.park(i)
		return
	}
	if i.limits != nil {
		i.limits.waiter = nil
	}
	s.queue.putBack(i)
}

// Limited returns how many deliveries wait for limits.
func (s *Scheduler) Limited() int { return s.queue.parked() }

// tendLimits looks after what is parked or held, before anything else is tried.
func (s *Scheduler) tendLimits() {
	s.relimitParked()
	if s.queue.parked() > 0 {
		s.dismissParked()
	}
	if s.gate.paused.Load() {
		s.releaseAll()
	}
}

// granted returns what the run has got of limits; nil for nothing.
func (r *run) granted() *limit.Grant {
	if r.limits == nil {
		return nil
	}
	return r.limits.grant
}

// Limits returns what the attempt has got of limits, and where its handler adds to that. It is
// nil if the bus has no limits.
func (a *Attempt) Limits() *limit.Grant { return a.run.granted() }

// freeLimits frees what a handler that is left behind has got of limits, so that others do not
// wait for one that may never return. What its calls of Limiter.Do use is theirs until they end.
func (s *Scheduler) freeLimits(a *Attempt) {
	g := a.Limits() // of a batch, that of all of it
	g.Release()
	if names := g.Called(); len(names) > 0 {
		s.cfg.Logger.Warn("a handler that is left behind is in a call of Limiter.Do; its room is not free until that ends", a.logged("limits", names)...)
	}
}

// askBatchLimits is askLimits for the batch that is gathered. What has no room goes back
// into the queue, and the batch keeps its turn as long as nothing else holds it.
func (s *Scheduler) askBatchLimits(settings *Settings) bool {
	if s.limits.batch != nil && !slices.Equal(s.limits.batchOf, settings.Limits) {
		s.leaveLine()
	}
	w := s.limits.batch
	if w == nil {
		var uses []limit.Use
		for _, u := range settings.Limits {
			uses = append(uses, limit.Use{Limit: u.Limit})
		}
		if workers := s.cfg.Limits.Workers; workers != nil {
			uses = append(uses, limit.Use{Limit: workers})
		}
		if w = s.limits.owner.NewWaiter(uses, nil, 0, 0); w == nil {
			return true
		}
		s.limits.batch, s.limits.batchOf = w, settings.Limits
	}
	if w.Retry() {
		return true
	}
	s.limits.tried = true
	return false
}

// takeBatchLimits is takeLimits for a batch.
func (s *Scheduler) takeBatchLimits() (*limited, bool) {
	w := s.limits.batch
	if w == nil {
		return &limited{grant: s.cfg.Limits.NewGrant()}, true
	}
	grant, late, ok := w.Take()
	if !ok {
		w.Park()
		s.limits.tried = true
		return nil, false
	}
	s.limits.batch = nil
	l := &limited{grant: grant}
	if late != nil {
		l.failure = late
	}
	return l, true
}

// leaveLine forgets the turn of a batch that something else holds.
func (s *Scheduler) leaveLine() {
	if s.limits.batch != nil {
		s.limits.batch.Leave()
		s.limits.batch = nil
	}
}
