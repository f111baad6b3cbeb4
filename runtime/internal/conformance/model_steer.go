package conformance

import (
	"cmp"
	"errors"
	"slices"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// What operators do in the model test, beside a bus that runs.

// letters returns the dead letters, at a moment when everybody waits.
func (w *world) letters() (*inspect.File, []event.DeadLetter) {
	file := w.file()
	letters, _, err := file.DeadLetters(w.Context(), event.Filter{}, event.Page{Limit: 100_000})
	Must(w.T, err)
	slices.SortFunc(letters, func(a, b event.DeadLetter) int { // so that the seed decides
		return cmp.Or(cmp.Compare(w.model.pair(a.EventID, a.Subscription).event.number, w.model.pair(b.EventID, b.Subscription).event.number),
			cmp.Compare(a.Subscription, b.Subscription))
	})
	return file, letters
}

// file opens the log at a moment when everybody waits.
func (w *world) file() *inspect.File {
	synctest.Wait()
	w.model.open(nil) // dispositions that time has given meanwhile
	file, err := w.env.OpenFile(w.Context(), w.bus.Path)
	Must(w.T, err)
	return file
}

func (w *world) redrive() {
	file, letters := w.letters()
	defer file.Close()
	for _, l := range letters {
		if w.IntN(2) == 0 {
			p := w.model.pair(l.EventID, l.Subscription)
			w.model.change(p, (*pair).anew)
			w.trace("retry %v", p)
			counts, err := file.Retry(w.Context(), inspect.Only(l.Key))
			Must(w.T, err)
			if counts != (inspect.Counts{Matched: 1, Moved: 1}) {
				w.Errorf("retrying %s: %+v", l.Key, counts)
			}
			time.Sleep(time.Microsecond) // the next one is due at another instant
		}
	}
}

func (w *world) purge() {
	file, letters := w.letters()
	defer file.Close()
	if len(letters) == 0 {
		return
	}
	cutoff := letters[w.IntN(len(letters))].DeadAt
	want := 0
	for _, l := range letters {
		if !l.DeadAt.After(cutoff) {
			want++
			w.model.change(w.model.pair(l.EventID, l.Subscription), (*pair).purge)
		}
	}
	counts, err := file.Purge(w.Context(), inspect.Selection{Filter: event.Filter{Until: cutoff}})
	if counts != (inspect.Counts{Matched: want, Moved: want}) || err != nil {
		w.Errorf("purged %+v (%v), want %d", counts, err, want)
	}
}

// discardLetters discards some dead letters.
func (w *world) discardLetters() {
	file, letters := w.letters()
	defer file.Close()
	for _, l := range letters {
		p := w.model.pair(l.EventID, l.Subscription)
		if p.event.deduped || w.IntN(3) > 0 { // the key would be free again
			continue
		}
		w.trace("discard the dead letter %v", p)
		w.model.change(p, func(p *pair) { p.state, p.wasDead, p.reason = pairDiscarded, p.reason, "not wanted" })
		counts, err := file.DiscardDeadLetters(w.Context(), inspect.Only(l.Key), "not wanted")
		if counts != (inspect.Counts{Matched: 1, Moved: 1}) || err != nil {
			w.Errorf("discarding %s: %+v, %v", l.Key, counts, err)
		}
	}
}

// chosen returns one event of the last ones for which the function is true, or nil: none with an idempotency key, which
// would be free again, and none of which a success is not on the disk yet, or was lost by a kill.
func (w *world) chosen(of func(p *pair) bool) *modelEvent {
	synctest.Wait()
	w.model.open(nil)
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	var all []*modelEvent
	for _, e := range w.model.events {
		unfit, any := false, false
		for _, p := range e.pairs {
			unsure := p.state == pairDone && (p.forgot || p.isPlain && !p.isFinal && time.Since(p.doneAt) <= w.env.Unwritten)
			unfit, any = unfit || p.doomed() || unsure, any || of(p)
		}
		if any && !unfit && !e.deduped {
			all = append(all, e)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b *modelEvent) int { return cmp.Compare(a.number, b.number) })
	return all[w.IntN(len(all))]
}

// takeOut notes that the open deliveries of an event are to be discarded, or those of one subscription. It returns those
// whose handlers run, and the others.
func (m *model) takeOut(e *modelEvent, name, reason string) (running, discarded []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range e.pairs {
		if reason != "cancelled" {
			p.unseen = time.Now().Add(modelLook)
		}
		switch {
		case p.state != pairOpen || name != "" && name != p.sub.name:
		case p.current != nil:
			running = append(running, p.sub.name)
			p.cancelled = cmp.Or(p.cancelled, reason)
		default:
			discarded = append(discarded, p.sub.name)
			p.state, p.reason, p.wasDead = pairDiscarded, reason, ""
			p.settle(time.Now())
		}
	}
	slices.Sort(running)
	slices.Sort(discarded)
	m.trace("take out %d of %q: %v run, %v do not", e.number, name, running, discarded)
	return running, discarded
}

// modelLook is longer than it takes until the owner has looked for discards.
const modelLook = 220 * time.Millisecond

func isOpen(p *pair) bool { return p.state == pairOpen }

// cancel cancels an event.
func (w *world) cancel() {
	e := w.chosen(func(p *pair) bool { return isOpen(p) && p.cancelled == "" })
	if e == nil {
		return
	}
	running, cancelled := w.model.takeOut(e, "", "cancelled")
	err := w.bus.Cancel(w.Context(), e.id)
	var begun *event.BegunError
	switch {
	case len(running) == 0 && err == nil:
	case len(running) > 0 && errors.As(err, &begun) && slices.Equal(sorted(begun.Running), running):
	default:
		w.Errorf("cancelling event %d: %v; want %v to run, and %v cancelled", e.number, err, running, cancelled)
	}
}

// discard discards the open deliveries of an event.
func (w *world) discard() {
	e := w.chosen(func(p *pair) bool { return isOpen(p) && p.cancelled == "" })
	if e == nil {
		return
	}
	file := w.file()
	defer file.Close()
	name := ""
	for _, s := range w.model.subscriptions {
		if p := e.pairs[s.name]; p != nil && isOpen(p) && w.IntN(2) == 0 {
			name = s.name
		}
	}
	running, waiting := w.model.takeOut(e, name, "by an operator")
	want := append(running, waiting...)
	slices.Sort(want)
	if discarded, err := file.DiscardEvent(w.Context(), e.id, name, "by an operator"); err != nil || !slices.Equal(sorted(discarded), want) {
		w.Errorf("discarding event %d of %q: %v, %v, want %v", e.number, name, discarded, err, want)
	}
}

// undo undoes what was discarded of an event. What a running handler still decides is left alone.
func (w *world) undo() {
	e := w.chosen(func(p *pair) bool { return p.state == pairDiscarded })
	if e == nil || slices.ContainsFunc(w.model.all(e), func(p *pair) bool { return p.cancelled != "" }) {
		return
	}
	file := w.file()
	defer file.Close()
	want := event.Undone{}
	for _, p := range w.model.all(e) {
		if p.state != pairDiscarded {
			continue
		}
		w.trace("undo %v, which is discarded: %s, was %q", p, p.reason, p.wasDead)
		if p.wasDead != "" {
			want.Dead++
			w.model.change(p, func(p *pair) { p.state, p.reason, p.wasDead = pairDead, p.wasDead, "" })
			continue
		}
		want.Due++
		before := *p
		w.model.change(p, (*pair).anew)
		p.before, p.undone = &before, time.Now().Add(modelLook)
	}
	undone, err := file.Undiscard(w.Context(), event.Undo{Event: e.id})
	if err != nil || undone != want {
		w.Errorf("the undo of the discards of event %d: %+v, %v, want %+v", e.number, undone, err, want)
	}
}

// all returns the deliveries of an event in the order of their subscriptions.
func (m *model) all(e *modelEvent) (all []*pair) {
	for _, s := range m.subscriptions {
		if p := e.pairs[s.name]; p != nil {
			all = append(all, p)
		}
	}
	return all
}

// change changes a delivery.
func (m *model) change(p *pair, how func(p *pair)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	how(p)
}

// anew makes a delivery due now, with a fresh count.
func (p *pair) anew() {
	if p.unclaimed != nil {
		p.unclaimed.anew()
	}
	p.others, p.failures, p.together, p.snoozes, p.doubt = p.others+p.failures, 0, 0, 0, false
	p.state, p.crashed, p.reason = pairOpen, false, ""
	p.due, p.exact, p.waits, p.held, p.unseen = time.Time{}, false, false, true, time.Time{}
}

// purge forgets a dead delivery.
func (p *pair) purge() { p.state, p.attempts = pairPurged, nil }
