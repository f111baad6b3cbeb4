package dispatch

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
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
//  3. A suspect of a crash that has no room does not ask to run alone.

// limits asks the limits of the bus for the deliveries of a subscription. Its fields are guarded by the turn, but for
// the owner, and retuned.
type limits struct {
	*core
	owner   *limit.Owner // nil if there are no limits
	tried   bool         // everything was tried that may begin
	listens bool
	batch   *limit.Waiter      // of the batch that is gathered
	batchOf []declare.LimitUse // the settings that it has asked with
	retuned atomic.Bool        // the settings may have changed since they were asked
}

// listen is called before the turn waits for something to do.
func (lim *limits) listen() {
	if lim.owner != nil && lim.tried {
		lim.listens = true
		lim.owner.Listen()
	}
}

// unlisten is called before the turn is given away, or used for anything else.
func (lim *limits) unlisten() {
	if lim.listens {
		lim.listens = false
		lim.owner.Leave()
	}
}

// keyed tells whether deliveries of an event type have keys of limits or of breakers.
func (lim *limits) keyed(eventType string) bool { return lim.keyedBy(lim.cfg.Settings(eventType)) }

func (lim *limits) keyedBy(settings *Settings) bool {
	return settings.BreakerBy != "" || lim.cfg.Limits != nil && keyed(settings.Limits)
}

// mayPark tells whether limits can let deliveries overtake others: they have keys, or are
// not those of all.
func (lim *limits) mayPark(items []queue.Item) bool {
	return slices.ContainsFunc(items, func(i queue.Item) bool {
		settings := lim.cfg.Settings(i.Type)
		return settings.BreakerBy != "" || lim.cfg.Limits != nil && len(settings.Limits) > 0
	})
}

// usesOf returns the limits of a delivery with their keys, and the key of its breaker. It calls the program.
func (lim *limits) usesOf(d *engine.Delivery) (of *queue.Limited, err error) {
	settings := lim.cfg.Settings(d.Type)
	of = &queue.Limited{By: settings.BreakerBy}
	if of.By != "" {
		if of.Breaker, err = lim.keyOf(d, of.By); err != nil {
			return nil, err
		}
	}
	in := settings.Limits
	if lim.cfg.Limits == nil || !keyed(in) {
		return of, nil
	}
	of.Of = in
	for _, u := range in {
		key := ""
		if u.By != "" {
			if key, err = lim.keyOf(d, u.By); err != nil {
				return nil, err
			}
		}
		of.Uses = append(of.Uses, limit.Use{Limit: lim.cfg.Limits.Limit(u.Limit), Key: key})
	}
	return of, nil
}

func (lim *limits) keyOf(d *engine.Delivery, by string) (key string, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = errs.NewPanicked(cause)
		}
	}()
	return lim.cfg.LimitKey(d, by)
}

// ask makes the waiter of a delivery that everything else lets begin. It reports
// false if the delivery has no room; then it is parked. The caller has the turn.
func (lim *limits) ask(i *queue.Item, settings *Settings, now time.Time) bool {
	if i.Limits == nil {
		i.Limits = &queue.Limited{}
	}
	l := i.Limits
	if l.Waiter != nil { // it was parked, and is ready
		after := settings.ExpiresAfter
		if !l.Waiter.Expired() || after > 0 && now.Sub(i.Since) >= after {
			return true
		}
		i.Unwait() // its event may live on by now: it needs all that others need
	}
	if i.Failure() != nil || !lim.mayRun(i.Delivery) {
		return true
	}
	uses := l.Uses
	if uses == nil && !keyed(settings.Limits) {
		l.Of = settings.Limits
		uses = lim.shared(settings)
	}
	if len(uses) == 0 {
		return true
	}
	expires := time.Duration(0)
	if after := settings.ExpiresAfter; after > 0 {
		if expires = min(after, after-now.Sub(i.Since)); expires <= 0 {
			return true // it is dead-lettered
		}
	}
	r := queue.Rank(i.Priority)
	if i.Urgent {
		r = -1
	}
	if l.Waiter = lim.owner.NewWaiter(uses, r, expires); l.Waiter.MayBegin() {
		return true
	}
	lim.queue.Park(*i)
	return false
}

// take takes what ask has asked for. It reports false if somebody was quicker;
// then the delivery is parked.
func (lim *limits) take(i *queue.Item) bool {
	l := i.Limits
	if l.Waiter == nil {
		l.Grant = lim.cfg.Limits.NewGrant() // for what the handler needs
		return true
	}
	grant, ok := l.Waiter.Take()
	if !ok {
		lim.queue.Park(*i)
		return false
	}
	l.Waiter, l.Grant, l.Parked = nil, grant, false
	return true
}

// next removes the next delivery that may run from those that are parked, or from the
// queue.
func (lim *limits) next(guest bool) (i queue.Item, ok bool) {
	if lim.cfg.Limits == nil || lim.queue.Parked() == 0 {
		return lim.queue.Pop(guest)
	}
	for w := range lim.owner.Ready {
		if i, ok := lim.queue.Unpark(w, guest); ok {
			return i, true
		}
		w.Block()
	}
	return lim.queue.Pop(guest)
}

// putBack undoes next for a delivery that may not run yet.
func (lim *limits) putBack(i queue.Item) {
	if i.Limits != nil && i.Limits.Parked {
		lim.queue.Park(i)
		return
	}
	if i.Limits != nil {
		i.Limits.Waiter = nil
	}
	lim.queue.PutBack(i)
}

// askBatch is ask for the batch that is gathered. What has no room goes back
// into the queue, and the batch keeps its turn as long as nothing else holds it.
func (lim *limits) askBatch(settings *Settings) bool {
	if lim.batch != nil && !slices.Equal(lim.batchOf, settings.Limits) {
		lim.leaveLine()
	}
	w := lim.batch
	if w == nil {
		if len(settings.Limits) == 0 {
			return true
		}
		w = lim.owner.NewWaiter(lim.shared(settings), 0, 0)
		lim.batch, lim.batchOf = w, settings.Limits
	}
	if w.Retry() {
		return true
	}
	lim.tried = true
	return false
}

// takeBatch is take for a batch.
func (lim *limits) takeBatch() (*queue.Limited, bool) {
	w := lim.batch
	if w == nil {
		return &queue.Limited{Grant: lim.cfg.Limits.NewGrant()}, true
	}
	grant, ok := w.Take()
	if !ok {
		w.Park()
		lim.tried = true
		return nil, false
	}
	lim.batch = nil
	return &queue.Limited{Grant: grant}, true
}

// leaveLine forgets the turn of a batch that something else holds.
func (lim *limits) leaveLine() {
	if lim.batch != nil {
		lim.batch.Leave()
		lim.batch = nil
	}
}

// shared returns what is needed of limits without keys.
func (lim *limits) shared(settings *Settings) (uses []limit.Use) {
	for _, u := range settings.Limits {
		uses = append(uses, limit.Use{Limit: lim.cfg.Limits.Limit(u.Limit)})
	}
	return uses
}

// keyed tells whether uses have keys.
func keyed(uses []declare.LimitUse) bool {
	return slices.ContainsFunc(uses, func(u declare.LimitUse) bool { return u.By != "" })
}
