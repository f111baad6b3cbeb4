package buslog

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// format is the version of the records of a new log. A log with a newer one is refused. An older log
// keeps its own, so that older programs can go on with it beside newer ones.
const format = 1

// ownSeq stands for the sequence number of the record in which it is: the writer of a
// record does not know it yet.
const ownSeq = -1

// registry is the record of names: one record, so that a writer of a part of it has seen all of it.
type registry struct {
	Format int             `json:"format"`
	Log    uuid.UUID       `json:"log"`
	Types  []typenames.Row `json:"types,omitempty"`
	Subs   []subscription  `json:"subscriptions,omitempty"` // in the order in which they were made
	Pauses []engine.Pause  `json:"pauses,omitempty"`
	// Arriving says where the events come from, while they do: no bus may open the log.
	Arriving *arriving `json:"arriving,omitempty"`
}

// subscription is a durable name.
type subscription struct {
	ID      string   `json:"id"` // in subjects: names may have any characters, and change
	Name    string   `json:"name"`
	Former  []string `json:"former,omitempty"`
	Pattern string   `json:"pattern"`
	Start   int64    `json:"start"` // it gets events with a greater sequence number; or ownSeq
	// Also has types that Pattern has matched before: the subscription gets those of their
	// events that were published up to then.
	Also []also `json:"also,omitempty"`
}

// also is a former part of a pattern.
type also struct {
	Until int64    `json:"until"` // or ownSeq
	Types []string `json:"types"` // by the names under which they are published
}

// resolve puts the sequence number of the record where it was not known.
func (r *registry) resolve(seq int64) {
	for i := range r.Subs {
		s := &r.Subs[i]
		if s.Start == ownSeq {
			s.Start = seq
		}
		for j := range s.Also {
			if s.Also[j].Until == ownSeq {
				s.Also[j].Until = seq
			}
		}
	}
}

// cursor is the record of a subscription: its owner, and what is settled. Everything that
// a process stores about deliveries is in one batch with its next cursor, and the batch
// is refused if another process has written the cursor meanwhile. So this record is also
// the fence: a process that has lost the subscription can say nothing any more.
type cursor struct {
	N     int64     `json:"n"`               // counts the versions of the record
	Owner string    `json:"owner,omitempty"` // the process that dispatches; empty for none
	PID   int       `json:"pid,omitempty"`   // of the owner
	Host  string    `json:"host,omitempty"`
	Since time.Time `json:"since,omitzero"`
	// Next is the first event that was not looked at. Those before it are settled, have a
	// row, are not for the subscription, or are in Open.
	Next int64   `json:"next"`
	Open []int64 `json:"open,omitempty"`
	// Freed are parked deliveries that are due all the same, in the order in which that came about: their rows do not say so.
	Freed []int64 `json:"freed,omitempty"`
	// Passed, of a subscription that was divided, says for each former part how far it was
	// looked at, where that is behind Next.
	Passed []int64 `json:"passed,omitempty"`
	// Divided, of the cursor of the whole, says that the parts have cursors of their own,
	// and this one says nothing else.
	Divided bool `json:"divided,omitempty"`
	// By is the process that has written the record.
	By string `json:"by,omitempty"`
	// Ran are the deliveries whose handlers run: the claims.
	Ran []claim `json:"ran,omitempty"`
	// Busy says that handlers may run that are not in Ran: of deliveries in Open, or of the
	// next ones.
	Busy bool `json:"busy,omitempty"`
	// Fallen says that the owner has died, and that the rows of some of the claims are stored:
	// there were too many for one batch. Any process may go on.
	Fallen bool `json:"fallen,omitempty"`
	// Young says that handlers run, and that the owner has not dispatched for
	// [engine.CrashLoopTime]. CrashLoop is that of [engine.Recovery], and ends with that time.
	Young     bool `json:"young,omitempty"`
	CrashLoop bool `json:"crash_loop,omitempty"`
	// Formers are the owners that died, the last ones: a process that takes over another
	// subscription of one has to know what ran here.
	Formers []former `json:"formers,omitempty"`
}

// former is an owner that died.
type former struct {
	Owner    string      `json:"owner"`
	Ran      []uuid.UUID `json:"ran,omitempty"`      // the events whose handlers ran, mostBeside at most
	More     int         `json:"more,omitempty"`     // how many others there were
	Counting int         `json:"counting,omitempty"` // how many of them did not wait for others
	Busy     bool        `json:"busy,omitempty"`     // and others may have run
}

// formerOwners is how many a cursor has at most.
const formerOwners = 8

// mostBeside is how many events are named that ran beside another one when their process died.
const mostBeside = 100

// shorten bounds how many events are named.
func (f *former) shorten() {
	if more := len(f.Ran) - mostBeside; more > 0 {
		f.Ran, f.More = f.Ran[:mostBeside], f.More+more
	}
}

// died notes that the owner of a cursor has died.
func (c *cursor) died() {
	f := former{Owner: c.Owner, Busy: c.Busy}
	for _, one := range c.Ran {
		if f.Ran = append(f.Ran, one.ID); !one.Waits {
			f.Counting++
		}
	}
	f.shorten()
	c.Formers = append(slices.Clone(c.Formers), f)
	c.Formers = c.Formers[max(len(c.Formers)-formerOwners, 0):]
}

// addFormers adds those of the cursor of another part.
func (c *cursor) addFormers(all []former) {
	c.Formers = slices.Clone(c.Formers)
	for _, f := range all {
		at := slices.IndexFunc(c.Formers, func(other former) bool { return other.Owner == f.Owner })
		if at < 0 {
			c.Formers = append(c.Formers, f)
			continue
		}
		same := &c.Formers[at]
		same.Ran, same.More = append(slices.Clone(same.Ran), f.Ran...), same.More+f.More
		same.shorten()
		same.Counting, same.Busy = same.Counting+f.Counting, same.Busy || f.Busy
	}
}

// claim is a delivery whose handler runs.
type claim struct {
	Seq     int64     `json:"seq"`
	ID      uuid.UUID `json:"id"`
	Waits   bool      `json:"waits,omitempty"` // for other handlers
	Batch   bool      `json:"batch,omitempty"` // it runs with others, in a batch
	Asked   bool      `json:"asked,omitempty"` // it has begun if the process says so in a record of its own, see called.go
	Left    bool      `json:"left,omitempty"`  // the attempt is over, but its handler has not returned
	Started time.Time `json:"started"`
	// Noted says, of an owner that has died, that the row of the delivery says so. Suspect is what
	// it was before.
	Noted   bool `json:"noted,omitempty"`
	Suspect bool `json:"suspect,omitempty"`

	slot int // of the event; of those of this process
}

// row is the record of a delivery that did not simply go well. It has a copy of the event. Its JSON is that of [storedRow].
type row struct {
	rowEvent
	ledger.Row
	rowNotes

	gone     bool   // it leaves no trace
	rev      int64  // the sequence number of the record
	size     int    // of the record
	isPart   bool   // see wholerows.go; then this holds instead of Attempts:
	lastKind string // how the last one has failed
}

// rowEvent is the copy of the event.
type rowEvent struct {
	Seq       int64     `json:"seq"`
	ID        uuid.UUID `json:"id"`
	Type      string    `json:"type"` // the name under which it was published
	Version   int       `json:"version"`
	Payload   []byte    `json:"payload,omitempty"`
	Metadata  []byte    `json:"metadata,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	Key       string    `json:"key,omitempty"`
	Keyed     bool      `json:"keyed,omitempty"`
	EventDue  time.Time `json:"event_due,omitzero"`
}

// rowNotes is what a row says besides.
type rowNotes struct {
	Attempts []event.FailedAttempt `json:"attempts,omitempty"`
	Crashes  []event.SharedCrash   `json:"crashes,omitempty"`
	Answer   answer                `json:"answer,omitempty"` // of a cancelled one: what the owner says
	Made     bool                  `json:"made,omitempty"`   // the event is for subscriptions with a row: it stays
	Audits   []int64               `json:"audits,omitempty"` // the actions on several deliveries that have changed this one
	Bare     bool                  `json:"bare,omitempty"`   // it has no copy of the event, for which there is no room
}

// answer is what the owner of a subscription says about a delivery that was cancelled.
type answer string

const (
	running answer = "running" // its handler runs
	refused answer = "refused" // it will not be tried
)

// record returns the event.
func (r *row) record() *engine.Record {
	return &engine.Record{
		Seq: r.Seq, ID: r.ID, Type: r.Type, Version: r.Version, Payload: r.Payload, Metadata: r.Metadata,
		CreatedAt: r.CreatedAt, Key: r.Key, Keyed: r.Keyed, Due: r.EventDue,
	}
}

// slot returns the slot of the event.
func (r *row) slot() int { return slotFor(r.Key, r.Keyed, r.ID) }

// newRow returns the row of a delivery that has none.
func newRow(r *engine.Record) *row {
	out := &row{Row: ledger.Fresh(r), rowEvent: rowEvent{
		Seq: r.Seq, ID: r.ID, Type: r.Type, Version: r.Version, Payload: r.Payload, Metadata: r.Metadata,
		CreatedAt: r.CreatedAt, Key: r.Key, Keyed: r.Keyed, EventDue: r.Due,
	}}
	out.Due = dueOf(r)
	return out
}

// clone returns a copy that may be changed.
func (r *row) clone() *row {
	if r.isPart {
		panic("only whole rows are changed")
	}
	c := *r
	c.Attempts = append([]event.FailedAttempt(nil), r.Attempts...)
	c.Crashes = append([]event.SharedCrash(nil), r.Crashes...)
	c.Audits = append([]int64(nil), r.Audits...)
	return &c
}

// orNew returns a copy that may be changed, or a new row for a delivery that has none.
func (r *row) orNew(one *engine.Record) *row {
	if r == nil {
		return newRow(one)
	}
	return r.clone()
}

// key is the record of an idempotency key. It is deleted when it expires.
type key struct {
	ID      uuid.UUID `json:"id"`
	Seq     int64     `json:"seq"` // of the event, or this message if the log never had it; 0 for the message behind this one
	Version int       `json:"version"`
	Digest  []byte    `json:"digest"` // of the payload; empty if it is not known
	Expires time.Time `json:"expires"`
}
