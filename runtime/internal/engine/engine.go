// Package engine is the seam between the bus and whatever keeps its events.
//
// Above the seam live the decisions: retry policies, timeouts, panics,
// concurrency, payload types, observation. Below it lives the storage, which
// does three things only:
//
//  1. it appends events to a log ([Log.Append]);
//  2. it hands the deliveries of a subscription over ([Consumer.Poll]);
//  3. it records what became of a delivery ([Consumer.Settle]): done, retry at
//     a time, put off, discarded, dead, or given back untouched.
//
// The words are those of a log with durable consumers, so that other engines
// of that kind fit behind the same interface. Nothing here names SQLite, which
// is the first engine (package sqlite beside this one).
package engine

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Record is an event as the log keeps it.
type Record struct {
	Seq       int64 // position in the log, set by Append; order is by Seq, never by time
	ID        uuid.UUID
	Type      string
	Version   int    // of the payload; 0 stands for 1
	Payload   []byte // JSON; shared between consumers, so never written to
	Metadata  []byte // a JSON object of strings, or nil
	CreatedAt time.Time

	// Memo is shared by the deliveries of one event to several consumers; nil
	// where nobody else has the event at the moment.
	Memo *Memo

	Due       time.Time // not delivered before; zero for at once
	Dedupe    *Dedupe   // nil without an idempotency key
	Duplicate bool      // set by Append: nothing was stored, ID and Seq are the first event's
	IfWanted  bool      // of a staged record: stored only if some consumer is for its type
}

// OwnType marks the event types that are the bus's own. No glob matches them; a
// consumer is for one of them if its pattern is the type itself.
const OwnType = '$'

// Dedupe is an idempotency key: an event of the same type and key that was
// stored before and is still remembered is not stored again.
type Dedupe struct {
	Key     string
	Expires time.Time // when the key may be forgotten
}

// Log is an open event log. All methods are safe for concurrent use.
type Log interface {
	// DeclareTypes makes event types known before the first event of each. Records
	// that were stored under an alias are handed out under the name. In a log whose
	// types have newer names, those that are declared are the ones that this process
	// sees. Schemas are kept with the types.
	DeclareTypes(ctx context.Context, types []TypeSpec) error

	// DeclareConsumers makes durable consumers exist before anyone polls them.
	DeclareConsumers(ctx context.Context, specs []ConsumerSpec) error

	// Append stores the records in one transaction, in order, and sets their
	// Seq. When it returns nil they survive a power cut; when it returns an
	// error none of them is stored. A context that ends before the
	// transaction has begun withdraws the records; later it is ignored. A
	// record whose idempotency key is known becomes a Duplicate, or a
	// *ConflictError if its payload differs.
	Append(ctx context.Context, records []Record) error

	// Consumer returns the durable consumer of a subscription, which is made
	// at the end of the log when the name is new (at its beginning with
	// FromBeginning).
	Consumer(ctx context.Context, spec ConsumerSpec) (Consumer, error)

	// TakeOver makes this process the one that dispatches. Deliveries whose
	// handlers ran when the last owner died are due now. If only one ran, that
	// counts as a failed attempt. If several ran, it counts for none of them. All
	// of them are suspects from then on.
	TakeOver(ctx context.Context) (Recovery, error)

	// Outcome waits until every delivery of the event at seq is settled.
	Outcome(ctx context.Context, seq int64) ([]Settlement, error)

	// WaitSettled waits until none of the consumers has an open delivery.
	WaitSettled(ctx context.Context, consumers []Consumer) error

	// Prune deletes events from before the given time that every subscription
	// has settled and none keeps as a dead letter, in small steps that nobody
	// waits for. It returns how many.
	Prune(ctx context.Context, before time.Time) (int, error)

	// Compact gives the space of deleted events back to the file system, in
	// small steps too. It returns how many bytes.
	Compact(ctx context.Context) (int64, error)

	// Pending returns how many events the subscription that is furthest behind
	// has yet to settle. It stops counting at limit.
	Pending(ctx context.Context, limit int) (int, error)

	// AwaitSettled waits until a delivery is settled after the call, by this
	// process or, within a moment, by another; or until ctx ends.
	AwaitSettled(ctx context.Context) error

	// Pause stores what is not to be delivered, for all processes and starts.
	// Pausing what is paused changes nothing.
	Pause(ctx context.Context, p Pause) error

	// Resume undoes Pause, and makes what was held due now. It reports false
	// when there was no such pause.
	Resume(ctx context.Context, p Pause) (bool, error)

	// Pauses returns what is paused, the oldest first.
	Pauses(ctx context.Context) ([]Pause, error)

	// WatchPauses calls f with what is paused, before it returns and whenever
	// that has changed, by this process or another.
	WatchPauses(ctx context.Context, f func([]Pause)) error

	// Show stores what the dispatching process says of itself, in place of what it
	// said before, and removes the requests that it has answered. Close and
	// TakeOver clear it.
	Show(ctx context.Context, a Activity, answered []BreakerRequest) error

	// WatchRequests calls f with the requests of operators when they are noticed.
	// It is called again with those that are not yet answered, and must not block.
	WatchRequests(f func([]BreakerRequest))

	// Redrive makes dead deliveries due again, as the spec says, and returns
	// how many.
	Redrive(ctx context.Context, spec RedriveSpec) (int, error)

	// Lags returns where every durable consumer stands. It stops counting the
	// backlog of one at limit.
	Lags(ctx context.Context, limit int) ([]Lag, error)

	// Unhandled returns the durable consumers that have open deliveries and are not
	// among handled, and the event types, of those that are relevant, for which there
	// is no durable consumer although events of them were stored after a seq. It looks
	// at a limited number of events only.
	Unhandled(ctx context.Context, handled []Consumer, after int64, relevant func(eventType string) bool) (Unhandled, error)

	// Flush writes dispositions that are still in memory.
	Flush(ctx context.Context) error

	// Close writes what is pending and releases the log. Consumers must have
	// stopped polling. A second call returns nil.
	Close() error
}

// DeadType is the bus's own event type that announces dead letters of another.
func DeadType(eventType string) string { return string(OwnType) + "dead." + eventType }

// TypeSpec names an event type.
type TypeSpec struct {
	Name    string
	Version int      // of the payloads that this process publishes; 0 stands for 1
	Aliases []string // names it had before
	Schema  string   // of the payload, for operators' tools; empty for none
}

// ConsumerSpec names a durable consumer.
type ConsumerSpec struct {
	Name          string
	Pattern       string   // globs over event types, with spaces between them
	FromBeginning bool     // a new name starts with the oldest event kept
	Aliases       []string // names it had before; the one that is known gives it its position
	Extend        bool     // Pattern is added to that of a name that is known, instead of replacing it
}

// Over returns the pattern of a consumer that had the given one before.
func (s ConsumerSpec) Over(pattern string) string {
	if !s.Extend {
		return s.Pattern
	}
	globs := strings.Fields(pattern)
	for _, one := range strings.Fields(s.Pattern) {
		if !slices.Contains(globs, one) {
			globs = append(globs, one)
		}
	}
	return strings.Join(globs, " ")
}

// PauseKind is what a pause is about.
type PauseKind string

// The kinds of pauses.
const (
	PauseSubscription PauseKind = "subscription" // Target is a name
	PauseType         PauseKind = "type"         // Target is a glob over event types
)

// Pause says what is not delivered.
type Pause struct {
	Kind   PauseKind
	Target string
	Since  time.Time // set by the log
	Actor  string    // who made it
	Reason string    // in words; may be empty
	// Besides are event types that Target is for by a name that only other
	// processes call them by; with spaces between them. Set by the log.
	Besides string
}

// RedriveSpec chooses the dead deliveries that are tried again by themselves.
type RedriveSpec struct {
	Subscription string
	Type         string
	// Reasons are those of dead letters, or kinds of their last attempts; all if
	// empty. Without ReasonCrash none is chosen that has ended the process.
	Reasons    []string
	DeadBefore time.Time // only those that died at this time or before
	Max        int       // only those that were redriven less often than this
	Limit      int       // at most this many in one call
}

// Lag is how far a durable consumer is behind.
type Lag struct {
	Name    string
	Pattern string
	Paused  bool      // by its name
	Backlog int       // events it has yet to settle, those with rows included
	AtMost  int       // no less than the backlog, where counting has stopped
	Partial bool      // there may be more rows than were counted
	Running int       // attempts that the file knows to run
	Waiting int       // for a retry, a delay or a snooze
	Held    int       // because their type is paused
	Dead    int       // dead letters
	Oldest  time.Time // when the oldest event of the backlog was published; zero without backlog
}

// Unhandled is what stays in a log because nobody handles it.
type Unhandled struct {
	Consumers []Backlog // in the order in which they were made
	Types     []string  // by name
	Last      int64     // the seq of the newest event
}

// Backlog is a durable consumer with open deliveries.
type Backlog struct {
	Name    string
	Pattern string
	Oldest  time.Time // when the oldest event that was found was published
}

// Consumer hands the deliveries of one subscription over and takes the
// dispositions. All methods are safe for concurrent use.
type Consumer interface {
	// Notify registers the function called when there may be something to
	// poll. It is called from the engine's goroutines and must not block.
	Notify(wake func())

	// Poll appends up to limit deliveries to dst, and returns at once when
	// there is none. Retries that are due come first, then the log in order.
	Poll(dst []*Delivery, limit int) ([]*Delivery, error)

	// PollRetries is Poll without the log.
	PollRetries(dst []*Delivery, limit int) ([]*Delivery, error)

	// Failing returns deliveries that were begun and have to come again: they have
	// failed, were snoozed, or are held. It returns up to limit of those with a seq
	// greater than after, in log order. They are not polled, so they cannot be settled.
	Failing(after int64, limit int) ([]*Delivery, error)

	// Prepare says that code of the program is called for the event of d before its
	// attempt, to decode it; nil says that this is over. If the process dies meanwhile,
	// it is as after Begin. One event at a time is prepared.
	Prepare(d *Delivery)

	// Begin says that one of the subscription's workers, numbered from 0,
	// starts an attempt at d. The fact survives the death of the process. For a
	// suspect it also survives a power cut.
	Begin(d *Delivery, worker int, started time.Time)

	// End says that the handler which was called after Begin has returned.
	End(d *Delivery)

	// Cancelled reports whether an operator has discarded the delivery of an event,
	// and why. It is to be settled as discarded instead of being tried.
	Cancelled(seq int64) (reason string, ok bool)

	// Settle records the disposition on d, which was polled and not settled
	// before. It does not block: dispositions reach the disk in groups. Staged
	// records become visible in the transaction of the disposition.
	Settle(d *Delivery, v Disposition)
}

// Delivery is one event on its way to one subscription.
type Delivery struct {
	*Record      // shared with other consumers, so never changed
	Failures int // attempts that count against max_attempts
	// Uncounted is how many executions may have happened beside those: they were
	// interrupted or snoozed, they ended with the process while others ran too, or
	// they succeeded and the process died before that was written. Attempts before
	// the dead delivery was retried are among them.
	Uncounted int
	// MaxAttempts is that of the policy for the class of the last error; 0 if
	// there was none and the subscription's policy holds.
	MaxAttempts int
	// Crashed says that the last attempt that counted ended with the process.
	Crashed bool
	// Suspect says that the process died while the handler ran, and that it has
	// not ended otherwise since. Nothing may run beside it.
	Suspect bool
	// Since is when the delivery began: when its event was published or due, or
	// when the dead delivery was last retried by hand.
	Since time.Time
	// Progress is what the last disposition has said about a delivery in parts.
	Progress string
	// Snoozes is how often its handler has put it off since it was new or last
	// retried by hand.
	Snoozes int

	Token any // the engine's own
}

// DispositionKind is what became of a delivery.
type DispositionKind uint8

const (
	// Done: handled. Final.
	Done DispositionKind = iota + 1
	// Retry: failed; due again at Disposition.Due.
	Retry
	// Snooze: put off until Disposition.Due; it does not count as an attempt.
	Snooze
	// Hold: put off until its type is no longer paused.
	Hold
	// Discard: settled without having been handled. Final.
	Discard
	// Dead: failed for good; kept with every attempt for an operator.
	Dead
	// Release: not attempted, or interrupted by an orderly shutdown; handed
	// out again by the next consumer of the name.
	Release
)

// Disposition is what Settle records.
type Disposition struct {
	Kind    DispositionKind
	Attempt *Attempt  // of Retry and Dead: what failed; nil if nothing new was tried
	Due     time.Time // of Retry and Snooze; its distance from now is by the monotonic clock
	Asked   bool      // of Snooze: the handler has asked for it, which is counted
	// MaxAttempts of Retry is Delivery.MaxAttempts from now on.
	MaxAttempts int
	Reason      string // of Dead: one of the Reason constants; of Discard: in words
	// Fingerprint of Dead is the same for failures of the same kind.
	Fingerprint string
	// Progress of all but Done and Discard is handed out with the delivery
	// when it comes again.
	Progress string
	Staged   []Record // to be appended with the disposition, whatever its kind
}

// Why a delivery is dead.
const (
	ReasonMaxAttempts = "max_attempts" // its policy allows no further attempt
	ReasonPermanent   = "permanent"    // the handler says that another attempt is in vain
	ReasonDecode      = "decode"       // the payload could not be decoded
	ReasonCrash       = "crash"        // the process died in its last attempt
	ReasonExpired     = "expired"      // it was not handled in time
	ReasonMaxSnoozes  = "max_snoozes"  // its handler has put it off too often
)

// Reasons returns all reasons for which a delivery is dead.
func Reasons() []string {
	return []string{ReasonMaxAttempts, ReasonPermanent, ReasonDecode, ReasonCrash, ReasonExpired, ReasonMaxSnoozes}
}

// Attempt is a failed execution of a handler.
type Attempt struct {
	Kind      string // one of the Kind constants
	Started   time.Time
	Ended     time.Time
	Error     string
	ErrorType string // the Go type of the error, such as *fs.PathError
	Member    string // of a group: whose handler failed
	Stack     string // of a panic
}

// How an attempt failed.
const (
	KindError   = "error"   // the handler returned an error
	KindPanic   = "panic"   // the handler panicked
	KindExit    = "goexit"  // the handler ended its goroutine
	KindTimeout = "timeout" // the handler outlived its deadline
	KindDecode  = "decode"  // the payload could not be decoded
	KindCrash   = "crash"   // the process died while the handler ran

	// KindInterrupted: a shutdown cancelled the handler's context, and the handler
	// did not return.
	KindInterrupted = "interrupted"
)

// Kinds returns all ways in which an attempt can fail.
func Kinds() []string {
	return []string{KindError, KindPanic, KindExit, KindTimeout, KindDecode, KindCrash, KindInterrupted}
}

// Settlement is the state of one event for one subscription.
type Settlement struct {
	Subscription string
	State        string // one of the State constants
	Failures     int
	Reason       string // of a dead or discarded one
	Error        string // of the last failed attempt
}

// The states of a settled delivery.
const (
	StateDone      = "done"
	StateDead      = "dead"
	StateDiscarded = "discarded"
)

// Recovery is what TakeOver found.
type Recovery struct {
	Interrupted int     // running when the last owner ended
	Waiting     int     // waiting for a retry
	Dead        int     // dead letters
	Backlog     int64   // events at least one subscription has yet to see
	Crashes     []Crash // the interrupted ones
}

// Crash is a delivery whose handler ran when the last owner died.
type Crash struct {
	Delivery
	Subscription string
	// Attempt is the failed attempt as which it counts; nil if others ran too.
	Attempt *Attempt
	Ran     int // how many handlers ran, this one included
}
