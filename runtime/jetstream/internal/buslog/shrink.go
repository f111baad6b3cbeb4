package buslog

import (
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/fingerprint"
)

// shrink looks what to do when a plan is more than the servers accept at once. The next one
// has a single delivery. If that is still too much, the delivery is dead, and what its handler
// has published is dropped: otherwise nothing of the subscription could be stored any more.
// It reports false if there is nothing to drop.
func (u *unit) shrink(p *plan, refusal error) bool {
	l := u.log
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(p.flights) > 1:
		u.alone, u.plan = true, nil
		return true
	case len(p.flights) == 0 || len(p.flights[0].how.Staged) == 0 || p.flights[0].returns():
		return false
	}
	f := p.flights[0]
	l.logger.Error("an event is dead-lettered: what its handler has published is more than the servers accept at once, and is not stored",
		"subscription_id", u.sub.Name, "event_id", f.record.ID, "events", len(f.how.Staged), "error", refusal)
	failure := f.how.Attempt
	if failure == nil {
		failure = &engine.FailedAttempt{Kind: engine.KindError, Started: f.started.UTC(), Ended: time.Now().UTC(), Error: "publish: " + refusal.Error()}
	}
	f.how = engine.Disposition{
		Kind: engine.Dead, Attempt: failure, Reason: engine.ReasonPermanent, Progress: f.how.Progress,
		Fingerprint: fingerprint.Of(engine.ReasonPermanent, failure.ErrorType, failure.Error, failure.Stack),
	}
	u.plan = nil
	return true
}
