package conformance

import (
	"testing/synctest"
	"time"
)

// What the model test does with pauses. They outlive restarts and kills; who
// waits for something resumes everything first.

// modelTypes are the patterns of event types that are paused.
var modelTypes = []string{"order.*", "order.paid", "user.created"}

// A handler that has passed the gate may still be on its way when Pause returns.
func (w *world) pauseSome() {
	if w.IntN(2) == 0 {
		types := modelTypes[w.IntN(len(modelTypes))]
		Must(w.T, w.bus.PauseTypes(w.Context(), types, ""))
		synctest.Wait()
		w.model.pause("", types)
		return
	}
	s := w.model.subscriptions[w.IntN(len(w.model.subscriptions))]
	if s.exists {
		Must(w.T, w.bus.PauseSubscription(w.Context(), s.name, ""))
		synctest.Wait()
		w.model.pause(s.name, "")
	}
}

func (w *world) resumeSome() { w.resume(func() bool { return w.IntN(2) == 0 }) }

func (w *world) resumeAll() { w.resume(func() bool { return true }) }

// resume resumes those pauses that are chosen.
func (w *world) resume(chosen func() bool) {
	for _, s := range w.model.subscriptions {
		if w.model.paused[s.name] && chosen() {
			w.model.resume(s.name, "")
			Must(w.T, w.bus.ResumeSubscription(w.Context(), s.name))
		}
	}
	for _, types := range modelTypes {
		if w.model.pausedTypes[types] && chosen() {
			w.model.resume("", types)
			Must(w.T, w.bus.ResumeTypes(w.Context(), types))
		}
	}
}

func (m *model) pause(name, types string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trace("pause %s%s", name, types)
	if name != "" {
		m.paused[name] = true
		return
	}
	m.pausedTypes[types] = true
	m.each(m.noteHeld)
}

// resume notes when there was a pause last: until then nothing had to happen
// when it was due.
func (m *model) resume(name, types string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trace("resume %s%s", name, types)
	delete(m.paused, name)
	delete(m.pausedTypes, types)
	m.resumed = time.Now()
}

// isPaused says whether an execution must not begin.
func (m *model) isPaused(p *pair) bool { return m.paused[p.sub.name] || m.typePaused(p.event.typ) }

func (m *model) typePaused(typ string) bool {
	for types := range m.pausedTypes {
		if (&modelSubscription{pattern: types}).wants(typ) {
			return true
		}
	}
	return false
}

// noteHeld marks an open delivery of a paused type: it may come after later
// ones.
func (m *model) noteHeld(p *pair) {
	p.held = p.held || p.state == pairOpen && m.typePaused(p.event.typ)
}
