package buslog

import (
	"cmp"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/fingerprint"
)

// shrink looks what to do when a plan is more than the servers accept at once. The next one
// has a single delivery. If that is still too much, the delivery is dead, and what its handler
// has published is dropped: otherwise nothing of the subscription could be stored any more.
// It reports false if there is nothing to drop.
func (u *unit) shrink(p *plan, refusal error) bool {
	h := u.in
	h.mu.Lock()
	switch {
	case !u.alone:
		u.alone, u.plan = true, nil
		h.mu.Unlock()
		return true
	case len(p.flights) == 0 || len(p.flights[0].how.Staged) == 0 || p.flights[0].returns:
		h.mu.Unlock()
		return false
	}
	f := p.flights[0]
	how, consumer := *f.how, f.consumer
	h.mu.Unlock()
	dead := u.oversized(f, how, refusal)
	if how.Kind != engine.Dead && consumer != nil && consumer.note != nil { // else the notice is what is too much
		dead.Staged = consumer.note(&f.delivery, dead)
	}
	for i := range how.Staged {
		if r := &how.Staged[i]; r.Dedupe != nil && r.Dedupe.Settled != nil && !r.Duplicate {
			r.Dedupe.Settled(r.ID, refusal)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.how, u.plan = &dead, nil; f.known { // else another process has it
		u.touch(f.slot(), true)
	}
	return true
}

// oversized returns the disposition of a delivery whose handler has published too much.
func (st *storing) oversized(f *flight, how engine.Disposition, refusal error) engine.Disposition {
	st.in.logger.Error("an event is dead-lettered: what its handler has published is more than the servers accept at once, and is not stored",
		"subscription_id", st.in.nameOf(st.sub), "event_id", f.record.ID, "events", len(how.Staged), "error", refusal)
	failure := how.Attempt
	if failure == nil {
		failure = &engine.FailedAttempt{Kind: engine.KindError, Started: f.began().UTC(), Ended: time.Now().UTC(), Error: "publish: " + refusal.Error()}
	}
	return engine.Disposition{
		Kind: engine.Dead, Attempt: failure, Reason: engine.ReasonPermanent, Progress: how.Progress,
		// That of a dead letter was made from what everybody may see of its error.
		Fingerprint: cmp.Or(how.Fingerprint, fingerprint.Of(engine.ReasonPermanent, failure.ErrorType, failure.Error, failure.Stack)),
	}
}
