package conformance

import (
	"slices"
	"time"

	"github.com/busgen/busgen/runtime"
)

// What the model knows of engines that call handlers before their claims are stored, when many begin at once, and may not
// have taken them back when handlers have just ended.

// A subscription is busy from the time when more handlers than these have begun within modelBurstTime, in it or in all,
// until longer after the last one than it takes until the engine does not take it for busy.
const (
	modelBurst      = 16
	modelBurstOfAll = 8 * modelBurst
	modelBurstTime  = 100 * time.Millisecond
	modelBusyTime   = 250 * time.Millisecond
)

// noteBusy notes that a handler begins.
func (m *model) noteBusy(s *modelSubscription, now time.Time) {
	if m.env.Unclaimed == 0 {
		return
	}
	add := func(begins []time.Time) []time.Time {
		return append(slices.DeleteFunc(begins, func(at time.Time) bool { return now.Sub(at) > modelBurstTime }), now)
	}
	s.begins, m.begins = add(s.begins), add(m.begins)
	if len(s.begins) > modelBurst || len(m.begins) > modelBurstOfAll || now.Before(s.busy) {
		s.busy = now.Add(modelBusyTime)
	}
}

// mayBeUnclaimed says that the claim of an execution may not be stored yet.
func (m *model) mayBeUnclaimed(r *run, now time.Time) bool {
	return now.Before(r.sub.busy) && now.Sub(r.began) <= m.env.Unclaimed
}

// mayBeUnwritten says that the success of a delivery may not be stored yet.
func (m *model) mayBeUnwritten(p *pair, now time.Time) bool {
	return p.state == pairDone && p.isPlain && !p.isFinal && now.Sub(p.doneAt) <= m.env.Unwritten
}

// isUnclear says that the model cannot tell what a kill means now to an engine that stores claims late: the claims of all
// handlers that run may be missing, or one runs alone and the engine may not know that it does.
func (m *model) isUnclear(bus *runtime.Bus) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.env.Unclaimed == 0 {
		return false
	}
	now, unsure, claimed := time.Now(), false, false
	m.each(func(p *pair) {
		unsure = unsure || m.mayBeUnwritten(p, now) || now.Before(p.sub.busy)
	})
	ran := m.ran(bus)
	for p := range ran {
		claimed = claimed || p.current == nil || !m.mayBeUnclaimed(p.current, now)
	}
	return unsure && len(ran) < 2 || len(ran) > 0 && !claimed
}

// takeUnclaimed finds out by the number of an attempt that the claim of the one before was not stored: the crash says nothing
// about it.
func (p *pair) takeUnclaimed(e seen) {
	if old := p.unclaimed; old != nil && e.attempt == old.failures+old.others+1 {
		p.failures, p.others, p.together, p.crashed, p.suspect = old.failures, old.others, old.together, old.crashed, old.suspect
	}
	p.unclaimed = nil
}
