package dispatch

import (
	"fmt"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/guard"
)

// failures returns how each attempt has failed, if it has; nil if none has.
func (b *Batch) failures(err error, kind, stack string) []failure {
	if err == nil && b.unfit == nil {
		return nil
	}
	var named *errs.BatchError
	if kind == event.KindError && err != nil {
		named, err = b.named(err)
	}
	preparing := b.preparing.Load()
	failures := make([]failure, len(b.begun))
	at := 0 // of the next item
	for i, a := range b.begun {
		unfit := b.unfit[a]
		index := at
		if unfit == nil && !a.known {
			at++
		}
		switch {
		case a.known:
		case unfit != nil:
			failures[i] = a.classify(unfit, event.KindError, "")
		case err == nil:
		case named != nil:
			if failed := named.Items[index]; failed != nil {
				failures[i] = a.classify(failed, event.KindError, "")
			}
		case preparing != nil && preparing != a:
			failures[i].kind = spared
		default:
			failures[i] = a.classify(err, kind, stack)
		}
	}
	return failures
}

// named returns the items that the error of a handler names, if it does. If there are no such items, the
// error is another one.
func (b *Batch) named(err error) (*errs.BatchError, error) {
	var found *errs.BatchError
	problem, returned := guard.Apart(func() error {
		if found, _ = errs.Find[*errs.BatchError](err); found != nil {
			return b.outOfRange(found)
		}
		return nil
	})
	switch {
	case !returned:
		return nil, err
	case problem != nil:
		return nil, problem
	}
	return found, err
}

// outOfRange returns the error of a handler that names an item that the batch does not
// have. It does not wrap what the handler has returned.
func (b *Batch) outOfRange(named *errs.BatchError) error {
	wrong, found := 0, false
	for i := range named.Items {
		if (i < 0 || i >= len(b.handed)) && (!found || i < wrong) {
			wrong, found = i, true
		}
	}
	if !found {
		return nil
	}
	return fmt.Errorf("the handler's BatchError names item %d of a batch of %d events, whose items are 0 to %d: "+
		"nobody knows which events have failed, so all of them have; the error was: %s", wrong, len(b.handed), len(b.handed)-1, named.Error())
}

// judge gives the dispositions, and settles all of them together, at once if nobody is to be told. The failures are those of
// the attempts that have begun; nil if none has failed. With forced they are decided: the
// batch has outlived its deadline or a shutdown. The caller holds whole.mu.
func (b *Batch) judge(failures []failure, now time.Time, forced bool) {
	s, whole := b.site, &b.whole
	if len(whole.staged()) > 0 && b.allSucceed(failures, now) {
		last := b.handed[len(b.handed)-1]
		last.mu.Lock()
		stash := last.stashed()
		stash.staged = append(stash.staged, whole.staged()...)
		last.mu.Unlock()
	}
	timedOut := !forced && s.base.Err() == nil && whole.late(now) && !whole.expires && !whole.stored
	b.judged = judgedPool.Get().(*judged)
	for i, a := range b.begun {
		a.mu.Lock()
		if !a.over {
			a.over, a.returned = true, true
			switch {
			case failures == nil, a.known:
				a.judge(failure{}, now)
			case failures[i].kind == spared:
				a.withdraw()
				a.spare(now)
			case forced:
				timedOut = timedOut || failures[i].kind == event.KindTimeout && !whole.expires
				a.fail(failures[i])
			default:
				a.judge(failures[i], now)
			}
		}
		a.mu.Unlock()
	}
	all := b.judged
	b.judged = nil
	end := BatchEnd{Size: len(b.handed), Failed: b.expired, TimedOut: timedOut, Started: whole.started, Took: now.Sub(whole.started), Whole: whole}
	for i := range all.settled {
		one := &all.settled[i]
		if one.Kind == engine.Done {
			end.Done++
		} else if (one.Kind == engine.Retry || one.Kind == engine.Dead) && !b.isUnfit(one.Seq) {
			end.Failed++
		}
	}
	if b.handler.BatchEnded != nil && end.Size > 0 {
		all.ended = b.handler.BatchEnded(end) // first, so that a caller that waits for an event finds it counted
	}
	if all.ended != nil || len(all.reports) > 0 {
		b.owed, b.settled = all, make(chan struct{})
		return
	}
	s.settler.settleAll(all)
	all.free()
}

func (b *Batch) isUnfit(seq int64) bool {
	for a := range b.unfit {
		if a.Seq == seq {
			return true
		}
	}
	return false
}

// spare settles an attempt that another one has kept from being made.
func (a *Attempt) spare(now time.Time) {
	if a.run.site.base.Err() != nil {
		a.settle(a.run.release())
	} else {
		a.settle(a.run.disposition(engine.Disposition{Kind: engine.Snooze, Due: now, NotCalled: true}))
	}
}

// allSucceed tells whether every event that was handed over is about to be done.
func (b *Batch) allSucceed(failures []failure, now time.Time) bool {
	for i, a := range b.begun {
		if b.unfit[a] != nil || a.known {
			continue
		}
		a.mu.Lock()
		failed := a.over || failures != nil && failures[i].kind != "" || b.site.base.Err() == nil && a.late(now)
		a.mu.Unlock()
		if failed {
			return false
		}
	}
	return len(b.handed) > 0
}

// exited is that of a batch.
func (b *Batch) exited(stack string) error {
	if a := b.preparing.Load(); a != nil {
		return a.exited(stack)
	}
	return b.whole.exited(stack)
}

// judged is what becomes of the deliveries of a batch, until it is settled. Only the slices
// are used again.
type judged struct {
	runs    []*run
	settled []engine.Settled // one for each
	reports []report         // to observers
	ended   func()           // tells them of the batch; nil for nothing
}

// report is what observers are told of an attempt. If tell is nil, it has succeeded.
type report struct {
	of   *Attempt
	tell func()
}

var judgedPool = sync.Pool{New: func() any { return new(judged) }}

func (j *judged) add(r *run, v engine.Disposition) {
	j.runs = append(j.runs, r)
	j.settled = append(j.settled, engine.Settled{Delivery: r.Delivery, Disposition: v})
}

// free makes the slices usable for another batch.
func (j *judged) free() {
	clear(j.runs)
	clear(j.settled)
	clear(j.reports)
	j.runs, j.settled, j.reports, j.ended = j.runs[:0], j.settled[:0], j.reports[:0], nil
	judgedPool.Put(j)
}

// settleAll is settle for the deliveries of a batch: they are settled together.
func (s *settler) settleAll(all *judged) {
	for i, r := range all.runs {
		s.beforeSettling(&r.Item, &all.settled[i].Disposition)
	}
	if len(all.settled) > 0 {
		s.consumer.Settle(all.settled[0], all.settled[1:])
	}
	more := false
	for i, r := range all.runs {
		more = s.settled(r.Key, r.Seq, all.settled[i].Kind) || more
	}
	if more {
		s.signal()
	}
}
