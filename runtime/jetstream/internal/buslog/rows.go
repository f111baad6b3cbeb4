package buslog

import (
	"container/heap"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// revOf returns the sequence number of the record of a row; 0 if there is none.
func (s *sub) revOf(seq int64) int64 {
	if r := s.rows[seq]; r != nil {
		return r.rev
	}
	return s.gone[seq]
}

func (v *logView) applyRow(rest string, m stream.Stored) error {
	id, text, _ := strings.Cut(rest, ".")
	seq, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return err
	}
	r, err := decodeRow(m.Data)
	if err != nil {
		return err
	}
	if r.Seq != seq {
		return errors.New("it is no row")
	}
	s := v.sub(id)
	before := s.rows[seq]
	if before != nil && before.rev >= m.Seq {
		return nil
	}
	r.rev, r.size = m.Seq, len(m.Data)
	s.countNewer(before, -1)
	s.countNewer(r, 1)
	s.countCancelled(before, -1)
	s.countCancelled(r, 1)
	if delete(s.gone, seq); r.gone {
		delete(s.rows, seq)
		s.noteGone(seq, m.Seq)
	} else {
		r = v.keep(s, r)
	}
	if seq <= s.clear && r.gone && seq >= s.next() {
		s.clear = seq - 1
	}
	if s.listener != nil {
		s.listener.rowChanged(before, r)
	}
	v.noteSettled()
	return nil
}

// countCancelled counts deliveries that were cancelled and are not settled.
func (s *sub) countCancelled(r *row, by int) {
	if r != nil && r.Cancelled && r.State.Open() {
		s.cancelled += by
	}
}

// goneRow is the record of a row that is gone.
type goneRow struct {
	seq, rev int64
	at       time.Time
}

// noteGone notes that a row is gone, and forgets those that the server has deleted by now.
func (s *sub) noteGone(seq, rev int64) {
	s.gone[seq] = rev
	s.goneRows = append(s.goneRows, goneRow{seq, rev, time.Now()})
	for len(s.goneRows) > 0 && time.Since(s.goneRows[0].at) > 2*goneTime {
		if first := s.goneRows[0]; s.gone[first.seq] == first.rev {
			delete(s.gone, first.seq)
		}
		s.goneRows = s.goneRows[1:]
	}
}

// queueRow notes when a row is due, if this process handles it.
func (s *sub) queueRow(r *row) {
	if s.listener != nil {
		s.listener.queueRow(r)
	}
}

// queueRow implements [listener].
func (sh *shares) queueRow(r *row) {
	if r.State.Open() && r.Waitlist != "" && sh.hands(r.slot()) {
		sh.parking.putRow(r)
	}
	switch {
	case !sh.has(r.slot()):
	case r.State == ledger.Waiting || r.forVersion():
		sh.in.shorten(r)
		sh.sub.due.add(dueAt{r.Due, r.Seq})
	case r.forPause() && !sh.in.typePaused(r.Type):
		sh.sub.due.add(dueAt{time.Time{}, r.Seq})
	}
}

// isDue reports whether a row of the queue still waits, and when it is due.
func (v *logView) isDue(s *sub, d dueAt) (*row, bool) {
	r := s.rows[d.seq]
	switch {
	case r == nil:
		return nil, false
	case r.State == ledger.Waiting || r.forVersion():
		return r, r.Due.Equal(d.due)
	}
	return r, r.forPause() && d.due.IsZero() && !v.typePaused(r.Type)
}

// dueAt is a delivery that waits. It may be out of date: the row says whether it is.
type dueAt struct {
	due time.Time
	seq int64
}

// queue orders deliveries by the time at which they are due.
type queue []dueAt

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].due.Equal(q[j].due) {
		return q[i].seq < q[j].seq
	}
	return q[i].due.Before(q[j].due)
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(dueAt)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func (q *queue) add(d dueAt) { heap.Push(q, d) }
func (q *queue) take() dueAt { return heap.Pop(q).(dueAt) }

// The servers delete what a record replaces after they have stored the record. One that is
// killed in between keeps both, and neither repairs that nor tells the others. It does not
// matter as long as the newer one is there. But the record of a row that is gone is deleted
// after goneTime: then the one before would count again, and a delivery that is settled would
// wait. So the owner of the subscription has the servers delete what is before it once more.

// leftover is what may be left of a row that is gone: its records before rev.
type leftover struct {
	sub      string
	seq, rev int64
}

// mostLeftovers is how many are known at most; of more, the oldest are forgotten.
const mostLeftovers = 1 << 16

// tidyAgain is the pause after the servers have not answered.
const tidyAgain = time.Second

// tidy has the servers delete what may be left of a row.
func (h *handled) tidy(one leftover) {
	if len(h.leftovers) == mostLeftovers {
		h.leftovers = h.leftovers[1:]
	}
	h.leftovers = append(h.leftovers, one)
	if !h.tidying {
		h.tidying = true
		go h.tidyUp()
	}
}

// tidyUp goes on until nothing is left, or the log is closed.
func (h *handled) tidyUp() {
	for {
		h.mu.Lock()
		if h.isClosed() || len(h.leftovers) == 0 {
			h.leftovers, h.tidying = nil, false
			h.mu.Unlock()
			return
		}
		one := h.leftovers[0]
		h.leftovers = h.leftovers[1:]
		h.mu.Unlock()
		for h.stream.Purge(context.Background(), h.rowSubject(one.sub, one.seq), one.rev) != nil {
			select {
			case <-time.After(tidyAgain):
				continue
			case <-h.stopped:
			}
			break
		}
	}
}

// A row in memory has what package ledger keeps of a delivery, and that decides what becomes of it. On the stream a row
// is JSON, with names of its own. Programs of other versions beside this one must read what changes there.

// storedRow is a row as it is on the stream.
type storedRow struct {
	rowEvent
	State       string      `json:"state"`
	Due         time.Time   `json:"due,omitzero"`
	Set         time.Time   `json:"set,omitzero"`
	Failures    int         `json:"failures,omitempty"`
	Uncounted   int         `json:"uncounted,omitempty"`
	MaxAttempts int         `json:"max_attempts,omitempty"`
	Crashed     bool        `json:"crashed,omitempty"`
	Suspect     bool        `json:"suspect,omitempty"`
	Together    int         `json:"together,omitempty"` // of a suspect; 0 stands for 1
	Open        []time.Time `json:"open,omitempty"`     // Row.OpenCrash, at most one
	Since       time.Time   `json:"since"`
	Held        time.Time   `json:"held,omitzero"` // Row.HeldSince
	Progress    string      `json:"progress,omitempty"`
	Snoozes     int         `json:"snoozes,omitempty"`
	PutOff      bool        `json:"put_off,omitempty"`
	Replayed    bool        `json:"replayed,omitempty"`
	Retried     bool        `json:"retried,omitempty"`
	History     int         `json:"history,omitempty"`
	Reason      string      `json:"reason,omitempty"`
	Fingerprint string      `json:"fingerprint,omitempty"` // also of a dead letter that was discarded
	Died        time.Time   `json:"died,omitzero"`         // Row.Ended
	Cancelled   bool        `json:"cancelled,omitempty"`
	Redriven    int         `json:"redriven,omitempty"`
	Waitlist    string      `json:"waitlist,omitempty"`
	Holds       string      `json:"holds,omitempty"` // Row.Key; the other key is that of the event
	Was         *was        `json:"was,omitempty"`
	rowNotes
}

// was is the dead letter that a delivery was before it was discarded. Older programs also say there that it was none.
type was struct {
	State  string    `json:"state"`
	Reason string    `json:"reason,omitempty"`
	Died   time.Time `json:"died,omitzero"`
}

// stateNames are the names of the states on the stream. A row that is gone, and leaves no trace, has the name goneName.
var stateNames = []string{ledger.Waiting: "waiting", ledger.Held: "held", ledger.Dead: "dead", ledger.Discarded: "discarded", ledger.Done: "done"}

const goneName = "gone"

// decodeRow returns the row that a record has.
func decodeRow(data []byte) (*row, error) {
	var s storedRow
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	r := &row{rowEvent: s.rowEvent, rowNotes: s.rowNotes}
	state := slices.Index(stateNames, s.State)
	if r.gone = s.State == goneName; r.gone {
		state = int(ledger.Done)
	} else if state < 0 {
		return nil, fmt.Errorf("a row has no state %q", s.State)
	}
	r.Row = ledger.Row{
		Delivery: ledger.Delivery{
			Failures: s.Failures, Uncounted: s.Uncounted, MaxAttempts: s.MaxAttempts, Snoozes: s.Snoozes, Crashed: s.Crashed,
			PutOff: s.PutOff, Delayed: r.Made || !r.EventDue.IsZero(), Retried: s.Retried, Replayed: s.Replayed, Since: s.Since, Progress: s.Progress,
		},
		State: ledger.State(state), Tries: len(r.Attempts), History: s.History, Redriven: s.Redriven,
		Cancelled: s.Cancelled, Reason: s.Reason, Fingerprint: s.Fingerprint,
	}
	if s.Suspect || r.State == ledger.Dead && (s.Crashed || s.Reason == event.ReasonCrash) { // which older programs have not said
		r.Together = max(s.Together, 1)
	}
	if len(s.Open) > 0 {
		r.OpenCrash = s.Open[0]
	}
	if !r.State.Open() {
		r.Ended = s.Died
	} else if r.Due, r.Waitlist, r.Delivery.Key = s.Due, s.Waitlist, s.Holds; !r.Due.IsZero() {
		r.Set = s.Set
	}
	if r.State == ledger.Held {
		r.HeldSince = s.Held
	}
	if s.Was != nil && s.Was.State == stateNames[ledger.Dead] && r.State == ledger.Discarded {
		r.Fingerprint, r.Was = "", &ledger.Death{Reason: s.Was.Reason, Fingerprint: s.Fingerprint, At: s.Was.Died}
	}
	return r, nil
}

// encode returns the record of a row.
func (r *row) encode() []byte {
	s := storedRow{
		rowEvent: r.rowEvent, rowNotes: r.rowNotes, State: stateNames[r.State], Due: r.Due, Set: r.Set,
		Failures: r.Failures, Uncounted: r.Uncounted, MaxAttempts: r.MaxAttempts, Crashed: r.Crashed, Suspect: r.Suspect(), Together: r.Together,
		Since: r.Since, Held: r.HeldSince, Progress: r.Progress, Snoozes: r.Snoozes, PutOff: r.PutOff, Replayed: r.Replayed, Retried: r.Retried,
		History: r.History, Reason: r.Reason, Fingerprint: r.Fingerprint, Died: r.Ended, Cancelled: r.Cancelled, Redriven: r.Redriven,
		Waitlist: r.Waitlist, Holds: r.Delivery.Key,
	}
	if r.gone {
		s.State = goneName
	}
	if !r.OpenCrash.IsZero() {
		s.Open = []time.Time{r.OpenCrash}
	}
	if w := r.Was; w != nil {
		s.Fingerprint, s.Was = w.Fingerprint, &was{stateNames[ledger.Dead], w.Reason, w.At}
	}
	data, _ := json.Marshal(&s)
	return data
}
