package buslog

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

// A row in memory has what package ledger keeps of a delivery, and that decides what becomes of it. On the stream a row is
// JSON, with names of its own. What changes there has to be read by the programs beside this one.

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
	} else if r.Due = s.Due; !r.Due.IsZero() {
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
