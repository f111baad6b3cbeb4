package dispatch

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/limit"
)

// run is a delivery on its way through its handlers: one, or the members of a
// group. It belongs to its worker; a disposition that somebody else gives reads it
// while the worker is in a handler.
type run struct {
	queue.Item
	site     *site
	settings *Settings
	tried    bool           // a handler was called
	alone    bool           // nothing runs beside it, unless it waits; changed under the mu of the places
	guest    bool           // it runs in a place that was lent
	left     bool           // its attempt is the worker's alone, who may use all of this memory again
	uncalled bool           // it has failed before the handler, of a group the first member, was called; guarded by its attempt's mu
	decoding bool           // code of the program decodes the payload, before the handler; guarded by its attempt's mu
	ending   *engine.Ending // why its steps are undone; nil if they are not
	initial  Attempt        // the memory of the first attempt, outside of groups the only one
	*members                // nil outside of groups
}

// members has the progress of a run of a group.
type members struct {
	done    []string        // that have handled the event, in this run or before
	staged  []engine.Record // published by them in this run
	reopens time.Time       // when to come back for those that were passed over; zero if none was
}

// run takes a delivery through its handlers. It reports false when the worker was
// written off meanwhile, or when a handler has ended the worker's goroutine.
func (s *site) run(w *worker, r *run) (keep bool) {
	if s.refuse(w.number, r) {
		return true
	}
	handlers := s.cfg.Handlers(r.Type)
	if r.Undoing {
		return s.undo(w, r, handlers)
	}
	if !s.cfg.Group {
		_, keep := s.attempt(w, r, handlers[0], r.initial.permit)
		return keep
	}
	r.members = &members{done: decodeProgress(r.Progress)}
	for _, h := range handlers {
		if h.isAmong(r.done) {
			continue
		}
		if s.stopped.Load() {
			v := r.release()
			s.settler.settle(&r.Item, &v)
			return true
		}
		now := time.Now()
		if r.tried && r.expired(now) {
			s.giveUp(w.number, r, h, breaker.Permit{}, event.ReasonExpired, nil)
			return true
		}
		permit, ok := h.Breaker.Acquire(now, r.Seq)
		if !ok {
			r.passOver(h)
			continue
		}
		handled, keep := s.attempt(w, r, h, permit)
		if !handled || !keep {
			return keep
		}
	}
	if r.reopens.IsZero() {
		s.settler.settle(&r.Item, &engine.Disposition{Kind: engine.Done, Staged: r.staged})
	} else {
		v := r.disposition(engine.Disposition{Kind: engine.Snooze, Due: r.reopens})
		s.settler.settle(&r.Item, &v)
	}
	return true
}

// isAmong tells whether a member, by the name that it has or had, is one of these.
func (h *Handler) isAmong(names []string) bool {
	return slices.Contains(names, h.Name) || slices.ContainsFunc(h.Aliases, func(alias string) bool { return slices.Contains(names, alias) })
}

// refuse dead-letters a delivery that may not be tried again: its last attempt ended
// with the process, or it has expired.
func (s *site) refuse(worker int, r *run) bool {
	reason := ""
	h := s.cfg.Handlers(r.Type)[0]
	failure := r.cannotUndo(h)
	switch {
	case failure != nil:
		reason = event.ReasonUndo
	case r.Crashed && r.settings.Retry.Exhausted(r.Failures):
		reason = event.ReasonCrash
	case r.expired(r.initial.started):
		reason = event.ReasonExpired
	default:
		return false
	}
	s.giveUp(worker, r, h, r.initial.permit, reason, failure)
	return true
}

// giveUp makes the delivery a dead letter without calling the handler. failure is nil if nothing was tried.
func (s *site) giveUp(worker int, r *run, h *Handler, permit breaker.Permit, reason string, failure *event.FailedAttempt) {
	a := s.newAttempt(worker, r, h, permit)
	if !r.tried {
		a.Number = max(a.Number-1, 1) // there is no further one
	}
	a.mu.Lock()
	a.over = true
	a.withdraw()
	a.deadLetter(reason, failure)
	owed := a.owes
	a.mu.Unlock()
	a.tellApart(owed)
}

// expired tells whether the delivery may not be tried at the given time.
func (r *run) expired(at time.Time) bool {
	return r.settings.ExpiresAfter > 0 && at.Sub(r.Since) >= r.settings.ExpiresAfter
}

// passOver leaves a member out whose breaker is open. The event comes back for
// it.
func (r *run) passOver(h *Handler) {
	now := time.Now()
	status := h.Breaker.Status(now)
	until := status.Until
	if status.State != breaker.Open || until.Before(now) {
		until = now.Add(probing) // a probe is on its way
	}
	if r.reopens.IsZero() || until.Before(r.reopens) {
		r.reopens = until
	}
}

// probing is how long an event waits for a member that is being probed with
// another.
const probing = 100 * time.Millisecond

// disposition adds to v what the run has achieved so far, so that it goes on from
// there the next time.
func (r *run) disposition(v engine.Disposition) engine.Disposition {
	v.Progress = r.Progress
	if r.members != nil {
		v.Progress = encodeProgress(r.done, r.Progress)
		v.Staged = append(v.Staged, r.staged...)
	}
	return v
}

// release is the disposition of a run that is interrupted, which does not count as
// a failed attempt.
func (r *run) release() engine.Disposition {
	return r.disposition(engine.Disposition{Kind: engine.Release})
}

// decodeProgress reads what encodeProgress wrote.
func decodeProgress(progress string) (done []string) {
	if progress != "" {
		json.Unmarshal([]byte(progress), &done) // else nobody is done
	}
	return done
}

func encodeProgress(done []string, before string) string {
	if len(done) == 0 {
		return before
	}
	encoded, err := json.Marshal(done)
	if err != nil { // texts cannot fail
		return before
	}
	return string(encoded)
}

// inForce returns what applies to the delivery of a run at this moment.
func (r *run) inForce() *Settings { return r.site.cfg.Settings(r.Type).with(r.Own()) }

// Limits returns what the attempt has got of limits, and where its handler adds to that. It is
// nil if the bus has no limits.
func (a *Attempt) Limits() *limit.Grant { return a.run.granted() }

// granted returns what the run has got of limits; nil for nothing.
func (r *run) granted() *limit.Grant {
	if r.Limits == nil {
		return nil
	}
	return r.Limits.Grant
}
