package inspect

import (
	"context"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Status describes a file and its use: the process that dispatches, events,
// subscriptions, dead letters, pauses, breakers and handlers at work.
// "busgen status --json" prints it.
//
//	type Status struct {
//		At     time.Time // when the log was read; UTC
//		Path   string
//		Size   int64  // bytes
//		WAL    int64  // bytes of the write-ahead log beside the file
//		Schema int    // version of the tables
//		Owner  *Owner // nil if no bus was ever started on it
//		// CrashLoop says that the last process ended within 10 seconds of its start while handlers
//		// were running, and that none has lived for so long since: deliveries that another crash
//		// would make dead letters wait for one that does.
//		CrashLoop bool
//		// Unwritable is why nothing can be stored: what the process that dispatches has met, or DiskFull if the file
//		// system has no space. It is empty if neither is known: a quota, for instance, is known to that process only.
//		Unwritable    Fault
//		Events        int       // stored, those of the bus itself included; not counted beyond MaxBacklog
//		More          bool      // there are more; Events and Types are about the newest
//		Oldest        time.Time // publication of the oldest event
//		Newest        time.Time
//		Types         []TypeCount // those with events, by name
//		Subscriptions []SubscriptionState
//		DeadLetters   int
//		Pauses        []PauseState // oldest first
//		Breakers      []Breaker    // those that are not closed, the one that opened first first
//		Running       []Running    // handlers that have been running for more than a second, oldest first
//		// Snoozed are deliveries that their handlers have put off a hundred times or
//		// for more than a day: the ten that were put off most often.
//		Snoozed []Snoozed
//		Rates   *Rates // only since an earlier status
//
//		// Mark is the engine's own: from where the rates of the next status are measured.
//		Mark any
//	}
type Status = engine.Status

// Owner is the process that dispatches from a file, or the last one that did.
//
//	type Owner struct {
//		PID   int
//		Since time.Time // UTC
//		// Alive says that it dispatches now. The lock that the process holds tells, so it
//		// is right for a process of another container too.
//		Alive bool
//	}
type Owner = engine.Owner

// TypeCount counts the events of one type.
//
//	type TypeCount struct {
//		Name     string
//		Unrouted bool // no subscription matches it
//		Events   int
//		Oldest   time.Time // when its oldest event was published; UTC
//		Newest   time.Time
//	}
type TypeCount = engine.TypeCount

// SubscriptionState describes a subscription: its backlog, how much of that is running,
// waiting or held, and its dead letters.
//
//	type SubscriptionState struct {
//		Name    string
//		Pattern string // globs over event types, with spaces between them
//		Paused  bool   // by its name
//		// Unhandled says that it has a backlog and that the dispatching process has
//		// noticed that it has no handler for it. Only in a Status.
//		Unhandled bool
//		// Saturated says that its handlers are busy all the time while its backlog grows.
//		Saturated bool
//		// Stalled are its parts that stand still, although a process dispatches: deliveries wait there that could be
//		// handled, and for 15 seconds nothing was stored of it. Only in a Status, and of an engine whose processes
//		// share subscriptions.
//		Stalled []Stalled
//		// Backlog is how many events it has yet to settle, at most MaxBacklog, and fewer
//		// than there are if BacklogAtMost is larger. It includes Running, Waiting and Held.
//		Backlog int
//		// BacklogAtMost is the backlog or, where counting has stopped, also all events of the
//		// log that were not looked at, whether or not they match its pattern. Counting stops
//		// at MaxBacklog, and in a file after 100,000 events of which too few match.
//		BacklogAtMost int
//		// Partial says that Running to Dead are no longer counted: there are 100,000.
//		Partial bool
//		Running int                // handlers that the log knows to run, or that ran when their process died
//		Waiting int                // for a retry, a delay or a snooze
//		Held    int                // because their type is paused, or their version newer than the program
//		Newer   []Newer            // which of them are held for their version, the oldest first
//		Dead    int                // dead letters
//		Oldest  time.Time          // when the oldest event of the backlog was published, or of what was not looked at; UTC
//		Rates   *SubscriptionRates // only in a Status since an earlier one
//	}
type SubscriptionState = engine.SubscriptionState

// Stalled are parts of a subscription that stand still, with the process that has them.
//
//	type Stalled struct {
//		// Since is when the oldest of the deliveries could have been handled, or when something was stored of the part
//		// for the last time, whichever is later; UTC.
//		Since time.Time
//		Parts []int  // empty for the whole subscription
//		PID   int    // of the process that has them; 0 if none has
//		Host  string // of that process
//		// Idle says that the process answers, and that it can do nothing: nothing that it stores is acknowledged, or
//		// nothing arrives that others store. Otherwise it does not answer.
//		Idle bool
//	}
//
//	func (s Stalled) String() string
type Stalled = engine.Stalled

// Newer are events of a version that the dispatching program cannot read: they are held until
// one that can takes over.
//
//	type Newer struct {
//		Type    string
//		Version int
//		Events  int
//		Since   time.Time // when the first of them was held; UTC
//	}
type Newer = engine.Newer

// Rates measures the throughput of a bus between two statuses.
//
//	type Rates struct {
//		Seconds   float64 // between the statuses
//		Published float64 // events per second, those of the bus itself included
//	}
type Rates = engine.Rates

// SubscriptionRates measures the throughput of a subscription between two statuses.
//
//	type SubscriptionRates struct {
//		Published float64 // events that match its pattern
//		// Handled are deliveries that have ended and are no dead letters. Dead letters that
//		// an operator has discarded or purged are among them.
//		Handled float64
//		Dead    float64 // deliveries that became dead letters
//		// DrainedIn is how many seconds it takes until the backlog is empty if it goes on
//		// shrinking as it did: 0 if it is empty, nil if it does not shrink. Where
//		// counting has stopped it is the time to go through the rest of the log.
//		DrainedIn *float64
//	}
type SubscriptionRates = engine.SubscriptionRates

// PauseState is a pause of a subscription or of event types that is in force.
//
//	type PauseState struct {
//		Subscription string
//		Types        string    // a glob
//		Since        time.Time // UTC
//		Actor        string    // who made it; empty if an older busgen did
//		Reason       string
//	}
type PauseState = engine.PauseState

// Snoozed is a delivery that its handler has put off again and again.
//
//	type Snoozed struct {
//		Event        uuid.UUID
//		Type         string
//		Subscription string
//		Snoozes      int
//		Since        time.Time // when the event was published, due or last redriven; UTC
//	}
type Snoozed = engine.Snoozed

// Names are the names that a file knows. A filter with another name matches nothing.
//
//	type Names struct {
//		Subscriptions []string // in the order in which they were made, then the names they had before
//		Types         []string // of events that were published or declared, likewise; the bus's own begin with $
//	}
type Names = engine.Names

// MaxBacklog is the largest number of events, and of a backlog, that a [Status] has: 10,000.
// Larger ones are this number.
const MaxBacklog = engine.MaxBacklog

// Status describes the file. It counts at most [MaxBacklog] events and deliveries of each
// backlog, so that it takes milliseconds however large the file is.
func (f *File) Status(ctx context.Context) (Status, error) {
	return f.log.Status(ctx, MaxBacklog, Status{})
}

// StatusSince is Status with the rates since an earlier status of the same log, which
// may come from another File on the same path, but not from JSON. It has no rates if
// before is the zero Status, if the file was replaced or restored since, and for new
// subscriptions. It also counts the events published and settled since, which takes
// longer.
func (f *File) StatusSince(ctx context.Context, before Status) (Status, error) {
	return f.log.Status(ctx, MaxBacklog, before)
}

// Hour counts events and dead letters in each of the 60 minutes before At, the oldest first.
//
//	type Hour struct {
//		At time.Time // when the log was read, and the last minute ends; UTC
//		// Published counts events by the time of their publication, those of the bus itself
//		// included. It is -1 for a minute that was not counted.
//		Published []int
//		// Dead counts dead letters by the time of their death. Those that were retried,
//		// discarded or purged since are no dead letters any more, and are not counted.
//		Dead          []int
//		Subscriptions []SubscriptionHour // those with such dead letters, by name
//	}
//
//	func (h *Hour) Begin() time.Time
//	func (h *Hour) CountedFrom(at time.Time)
//	func (h *Hour) Died(subscription string, minute, letters int)
//	func (h *Hour) Minute(at time.Time) int
//	func (h *Hour) Publish(at time.Time)
type Hour = engine.Hour

// SubscriptionHour is the part of an [Hour] that one subscription has.
//
//	type SubscriptionHour struct {
//		Name string
//		Dead []int
//	}
type SubscriptionHour = engine.SubscriptionHour

// Hour counts what happened in each of the last 60 minutes, from what the log has: it needs
// no process that dispatches, and a restart loses nothing. What leaves no trace is not
// counted: attempts that succeeded, and those that failed before another one succeeded.
//
// With more than 10,000 events Hour does not read them all. In a file it finds the places
// where the minutes begin, which takes milliseconds; imported events, events that were
// pruned since, and a clock that was set back make the counts of such an hour wrong.
// JetStream counts the newest 10,000 events, and the minutes before them are -1.
func (f *File) Hour(ctx context.Context) (Hour, error) { return f.log.Hour(ctx) }

// Subscriptions returns every subscription that the file knows, in the order in which
// they were made.
func (f *File) Subscriptions(ctx context.Context) ([]SubscriptionState, error) {
	return f.log.Subscriptions(ctx, MaxBacklog)
}

// Names returns the names that filters can match.
func (f *File) Names(ctx context.Context) (Names, error) {
	all, err := f.log.Declared(ctx)
	return all.Names, err
}

// Schedule is where a schedule of the catalogue stands. Rule is its times, as JSON in the
// words of the catalogue: cron and time_zone, or every, and missed.
//
//	type Schedule struct {
//		Name   string
//		Type   string          // of its events
//		Rule   json.RawMessage // its times, in the words of the catalogue
//		Since  time.Time       // when it was first declared; UTC
//		Passed time.Time       // times up to this are published or were skipped; UTC
//		Event  uuid.UUID       // the last one; zero for none
//		At     time.Time       // the time that Event is for; UTC, zero for none
//	}
type Schedule = engine.Schedule

// Schedules returns the schedules of the bus that dispatches, or that did so last, by
// name. The program decides when they are due; the file knows which times are over.
func (f *File) Schedules(ctx context.Context) ([]Schedule, error) {
	all, err := f.log.Declared(ctx)
	return all.Schedules, err
}
