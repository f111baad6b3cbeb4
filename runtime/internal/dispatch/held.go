package dispatch

import (
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// A delivery is held while nothing can be done with it: its event type is paused, or a newer
// program has published it, in a version that this one cannot read. That counts as no
// attempt, and a strict order waits for it. Of a paused type the engine finds out when the
// pause ends. For its version a delivery is held until a process takes over, which may be a
// program that knows the version, or for HoldUnknown. After that it becomes a dead letter,
// as any payload that does not decode. An ephemeral subscription ends with its process, so
// nobody could take over: there nothing is held for its version.

// dismissal returns how to settle a delivery that must not be tried now: somebody has
// cancelled it, or it is held. It returns nil for all others. The caller has the turn.
func (s *Scheduler) dismissal(i *item, settings *Settings) *engine.Disposition {
	if reason, cancelled := s.consumer.Cancelled(i.Seq); cancelled {
		return &engine.Disposition{Kind: engine.Discard, Reason: reason, Cancelled: true, Progress: i.Progress}
	}
	if held := s.gate.held.Load(); held != nil && (*held)(i.Type) {
		return &engine.Disposition{Kind: engine.Hold, Progress: i.Progress}
	}
	if settings.newer(i.Delivery) && !s.cfg.Ephemeral {
		return s.holdNewer(i, settings)
	}
	return nil
}

// holdNewer is dismissal for an event of a version that the program does not know.
func (s *Scheduler) holdNewer(i *item, settings *Settings) *engine.Disposition {
	v, now := &engine.Disposition{Kind: engine.Hold, Progress: i.Progress}, time.Now()
	if v.Held = i.Held; v.Held == nil {
		v.Held = &now
	}
	v.Due = v.Held.Add(settings.HoldUnknown)
	if expires := i.Since.Add(settings.ExpiresAfter); settings.ExpiresAfter > 0 && expires.Before(v.Due) {
		v.Due = expires
	}
	if left := v.Due.Sub(now); left <= time.Microsecond { // a log may keep times to the microsecond only
		return nil
	}
	s.gate.holds.Add(1)
	if s.gate.newer[i.Type] < i.Version {
		if s.gate.newer == nil {
			s.gate.newer = map[string]int{}
		}
		s.gate.newer[i.Type] = i.Version
		s.cfg.Logger.Warn("events of a version that is newer than this program are held until a program takes over that knows it",
			"subscription_id", s.cfg.Name, "event_type", i.Type, "version", i.Version, "known", settings.Version, "event_id", i.ID,
			"since", *v.Held, "dead_letters_from", v.Due)
	}
	return v
}

// newer tells whether the handlers cannot read a delivery, because a newer program has published it.
func (s *Settings) newer(d *engine.Delivery) bool { return s.Version > 0 && d.Version > s.Version }

// Holds returns how often a delivery was held for its version.
func (s *Scheduler) Holds() int64 { return s.gate.holds.Load() }
