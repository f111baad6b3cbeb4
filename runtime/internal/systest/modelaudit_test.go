package systest

import (
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

// auditFile compares everything in the file with the model, once all is settled.
func (w *world) auditFile() {
	if got := queryFile(w.T, w.bus.Path, "PRAGMA integrity_check"); got != "ok" {
		w.Errorf("integrity_check says %s", got)
	}
	place := w.auditLog()
	w.auditAttempts()
	for _, s := range w.model.subscriptions {
		w.auditOrder(s, place)
	}
}

// auditLog compares the log, and the view of it, and returns the place of each
// event in the order of the log.
func (w *world) auditLog() map[*modelEvent]int {
	status := map[string]string{}
	for _, row := range w.rows("SELECT id, status FROM events") {
		status[row[0]] = row[1]
	}
	byID := map[uuid.UUID]*modelEvent{}
	for _, e := range w.model.events {
		byID[e.id] = e
	}
	place := map[*modelEvent]int{}
	for i, row := range w.rows("SELECT lower(hex(id)), payload FROM busgen_log ORDER BY seq") {
		id := uuid.MustParse(row[0])
		e := byID[id]
		if e == nil || e.number != numberOf(runtime.Raw(row[1])) {
			w.Errorf("event %v with %s is stored, and it was not published", id, row[1])
			continue
		}
		delete(byID, id)
		place[e] = i
		want := "done"
		for _, p := range e.pairs {
			if p.state == pairDead {
				want = "dlq"
			}
		}
		if got := status[id.String()]; got != want {
			w.Errorf("event %d is %s, want %s", e.number, got, want)
		}
	}
	for id, e := range byID {
		w.Errorf("event %d (%v) was published, and it is not stored", e.number, id)
	}
	w.counts["events"] += len(place)
	return place
}

// auditAttempts compares the failed attempts on record.
func (w *world) auditAttempts() {
	recorded := map[string][]string{}
	for _, row := range w.rows(`
		SELECT lower(hex(l.id)), s.name, a.kind FROM busgen_attempts a
		JOIN busgen_log l ON l.seq = a.seq JOIN busgen_subscriptions s ON s.id = a.subscription
		ORDER BY a.seq, a.subscription, a.n`) {
		key := row[0] + " " + row[1]
		recorded[key] = append(recorded[key], row[2])
	}
	for _, e := range w.model.events {
		for _, p := range e.pairs {
			key := strings.ReplaceAll(e.id.String(), "-", "") + " " + p.sub.name
			if got := recorded[key]; !slices.Equal(got, p.attempts) {
				w.Errorf("the attempts of %v are %v, want %v", p, got, p.attempts)
			}
			delete(recorded, key)
			w.counts["executions"] += p.runs
			if p.state == pairOpen {
				w.Errorf("%v is open", p)
			}
		}
	}
	if len(recorded) > 0 {
		w.Errorf("these have failed, and nothing is known of them: %v", recorded)
	}
}

// auditOrder checks the order of first executions: all of them with a concurrency of 1,
// else those of each key. Delayed events, and events whose type was paused, are exempt
// from this order. In strict order, an event is settled before the next of its key begins.
func (w *world) auditOrder(s *modelSubscription, place map[*modelEvent]int) {
	last := map[string][]*pair{}
	for _, p := range s.firsts {
		key := p.event.key
		if !p.event.due.IsZero() || p.held || s.concurrency > 1 && (key == "" || !s.keyed) {
			continue
		}
		if s.concurrency == 1 {
			key = ""
		}
		for _, earlier := range last[key] {
			if place[earlier.event] > place[p.event] {
				w.Errorf("%v ran before %v, which is earlier in the log", earlier, p)
			}
			if s.strict && (earlier.settled.IsZero() || earlier.settled.After(p.ran)) {
				w.Errorf("%v began at %v, before the earlier %v was settled at %v", p, p.ran, earlier, earlier.settled)
			}
		}
		last[key] = append(last[key], p)
	}
}

// rows returns the rows of a query as text.
func (w *world) rows(query string) (rows [][]string) {
	c, err := sqlite3.Open(w.bus.Path)
	Must(w.T, err)
	defer c.Close()
	s, _, err := c.Prepare(query)
	Must(w.T, err)
	defer s.Close()
	for s.Step() {
		row := make([]string, s.ColumnCount())
		for i := range row {
			row[i] = s.ColumnText(i)
		}
		rows = append(rows, row)
	}
	Must(w.T, s.Err())
	return rows
}
