package systest

import (
	"context"
	"slices"
	"testing/synctest"

	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

// What the model test does with dead letters, beside a bus that runs.

// letters returns the dead letters, at a moment when everybody waits.
func (w *world) letters() (*inspect.File, []inspect.DeadLetter) {
	synctest.Wait()
	w.model.open(nil) // dispositions that time has given meanwhile
	inspector, err := inspect.Open(context.Background(), w.bus.Path)
	Must(w.T, err)
	letters, _, err := inspector.DeadLetters(context.Background(), inspect.Filter{}, inspect.Page{Limit: 100_000})
	Must(w.T, err)
	return inspector, letters
}

func (w *world) redrive() {
	inspector, letters := w.letters()
	defer inspector.Close()
	for _, l := range letters {
		if w.IntN(2) == 0 {
			w.model.redrive(w.model.pair(l.EventID, l.Subscription))
			counts, err := inspector.Retry(context.Background(), inspect.Only(l.Key))
			Must(w.T, err)
			if counts != (inspect.Counts{Matched: 1, Moved: 1}) {
				w.Errorf("retrying %s: %+v", l.Key, counts)
			}
		}
	}
}

func (w *world) purge() {
	inspector, letters := w.letters()
	defer inspector.Close()
	if len(letters) == 0 {
		return
	}
	cutoff := letters[w.IntN(len(letters))].DeadAt
	want := 0
	for _, l := range letters {
		if !l.DeadAt.After(cutoff) {
			want++
			w.model.purge(w.model.pair(l.EventID, l.Subscription))
		}
	}
	counts, err := inspector.Purge(context.Background(), inspect.Selection{Filter: inspect.Filter{Until: cutoff}})
	if counts != (inspect.Counts{Matched: want, Moved: want}) || err != nil {
		w.Errorf("purged %+v (%v), want %d", counts, err, want)
	}
}

// auditLetters compares the dead letters with the model, at any time.
func (w *world) auditLetters() {
	inspector, letters := w.letters()
	defer inspector.Close()
	dead := map[*pair]bool{}
	for _, l := range letters {
		p := w.model.pair(l.EventID, l.Subscription)
		dead[p] = true
		w.model.mu.Lock()
		if p.doomed() {
			p.state = pairDead
		}
		reason := "max_attempts"
		if p.crashed {
			reason = "crash"
		}
		if p.state != pairDead || l.Reason != reason || l.Type != p.event.typ {
			w.Errorf("%v is a dead letter (%s) after %v; want state %d, %s", p, l.Reason, p.attempts, p.state, reason)
		}
		var kinds []string
		for _, a := range l.Attempts {
			kinds = append(kinds, a.Kind)
			if a.Error == "" || a.Ended.IsZero() || a.Started.IsZero() != (a.Kind == "crash") || a.Stack == "" == (a.Kind == "panic" || a.Kind == "goexit") {
				w.Errorf("an attempt of %v is %+v", p, a)
			}
		}
		if !slices.Equal(kinds, p.attempts) {
			w.Errorf("the attempts of the dead %v are %v, want %v", p, kinds, p.attempts)
		}
		w.model.mu.Unlock()
	}
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	w.model.each(func(p *pair) {
		if p.state == pairDead && !dead[p] {
			w.Errorf("%v has failed by %v and is not a dead letter", p, p.attempts)
		}
	})
}
