package event

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Status describes a file and its use: the process that dispatches, events,
// subscriptions, dead letters, pauses, breakers and handlers at work.
// "busgen status --json" prints it.
type Status struct {
	At     time.Time `json:"at"` // when the log was read; UTC
	Path   string    `json:"path"`
	Size   int64     `json:"size"`   // bytes
	WAL    int64     `json:"wal"`    // bytes of the write-ahead log beside the file
	Schema int       `json:"schema"` // version of the tables
	Owner  *Owner    `json:"owner"`  // nil if no bus was ever started on it
	// CrashLoop says that the last process ended within 10 seconds of its start while handlers
	// were running, and that none has lived for so long since: deliveries that another crash
	// would make dead letters wait for one that does.
	CrashLoop bool `json:"crash_loop,omitempty"`
	// Unwritable is why nothing can be stored: what the process that dispatches has met, or [DiskFull] if the file
	// system has no space. It is empty if neither is known: a quota, for instance, is known to that process only.
	Unwritable    Fault               `json:"unwritable,omitempty"`
	Events        int                 `json:"events"`          // stored, those of the bus itself included; not counted beyond MaxBacklog
	More          bool                `json:"more,omitempty"`  // there are more; Events and Types are about the newest
	Oldest        time.Time           `json:"oldest,omitzero"` // publication of the oldest event
	Newest        time.Time           `json:"newest,omitzero"`
	Types         []TypeCount         `json:"types"` // those with events, by name
	Subscriptions []SubscriptionState `json:"subscriptions"`
	DeadLetters   int                 `json:"dead_letters"`
	Pauses        []PauseState        `json:"pauses"`    // oldest first
	Breakers      []Breaker           `json:"breakers"`  // those that are not closed, the one that opened first first
	Waitlists     []Waitlist          `json:"waitlists"` // what most parked deliveries wait for
	Running       []Running           `json:"running"`   // handlers that have been running for more than a second, oldest first
	// Snoozed are deliveries that their handlers have put off a hundred times or
	// for more than a day: the ten that were put off most often.
	Snoozed []Snoozed `json:"snoozed,omitempty"`
	Rates   *Rates    `json:"rates,omitempty"` // only since an earlier status

	// Mark is the engine's own: from where the rates of the next status are measured.
	Mark any `json:"-"`
}

// Owner is the process that dispatches from a log, or the last one that did: with a PID of 0 if the log does not say
// any more which one that was.
type Owner struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"` // UTC
	// Alive says that it dispatches now. The lock that the process holds tells, so it
	// is right for a process of another container too.
	Alive bool `json:"alive"`
}

// TypeCount counts the events of one type. The bus's own types begin with $.
type TypeCount struct {
	Name     string    `json:"name"`
	Unrouted bool      `json:"unrouted,omitempty"` // no subscription matches it
	Events   int       `json:"events"`
	Oldest   time.Time `json:"oldest"` // when its oldest event was published; UTC
	Newest   time.Time `json:"newest"`
}

// MaxBacklog is where the backlog of a subscription is no longer counted:
// [SubscriptionState].Backlog is this number for all that is more. [Status] counts
// events, too, up to it.
const MaxBacklog = 10_000

// SubscriptionState describes a subscription: its backlog, how much of that is running,
// waiting or held, and its dead letters.
type SubscriptionState struct {
	Name    string `json:"name"`
	Pattern string `json:"pattern"` // globs over event types, with spaces between them
	Paused  bool   `json:"paused"`  // by its name
	// Unhandled says that it has a backlog and that the dispatching process has
	// noticed that it has no handler for it. Only in a [Status].
	Unhandled bool `json:"unhandled,omitempty"`
	// Saturated says that its handlers are busy all the time while its backlog grows.
	Saturated bool `json:"saturated,omitempty"`
	// Stalled are its parts that stand still, although a process dispatches: deliveries wait there that could be
	// handled, and for 15 seconds nothing was stored of it. Only in a [Status], and of an engine whose processes
	// share subscriptions.
	Stalled []Stalled `json:"stalled,omitempty"`
	// Backlog is how many events it has yet to settle, at most [MaxBacklog], and fewer
	// than there are if BacklogAtMost is larger. It includes Running, Waiting and Held.
	Backlog int `json:"backlog"`
	// BacklogAtMost is the backlog or, where counting has stopped, also all events of the
	// log that were not looked at, whether or not they match its pattern. Counting stops
	// at [MaxBacklog], and in a file after 100,000 events of which too few match.
	BacklogAtMost int `json:"backlog_at_most"`
	// Partial says that Running to Dead are no longer counted: there are 100,000.
	Partial   bool               `json:"partial,omitempty"`
	Running   int                `json:"running"`             // handlers that the log knows to run, or that ran when their process died
	Waiting   int                `json:"waiting"`             // for a retry, a delay or a snooze
	Later     int                `json:"later,omitempty"`     // which of the waiting ones are due later than now; the others wait behind these, or for a place
	NextDue   time.Time          `json:"next_due,omitzero"`   // when the first of those is due; UTC
	Suspended int                `json:"suspended,omitempty"` // which of the waiting ones are so in a step of their handlers (package step)
	Held      int                `json:"held"`                // because their type is paused, or their version newer than the program
	Newer     []Newer            `json:"newer,omitempty"`     // which of them are held for their version, the oldest first
	Dead      int                `json:"dead"`                // dead letters
	Oldest    time.Time          `json:"oldest,omitzero"`     // when the oldest event of the backlog was published, or of what was not looked at; UTC
	Rates     *SubscriptionRates `json:"rates,omitempty"`     // only in a [Status] since an earlier one
}

// Stalled are parts of a subscription that stand still, with the process that has them.
type Stalled struct {
	// Since is when the oldest of the deliveries could have been handled, or when something was stored of the part
	// for the last time, whichever is later; UTC.
	Since time.Time `json:"since"`
	Parts []int     `json:"parts,omitempty"` // empty for the whole subscription
	PID   int       `json:"pid,omitempty"`   // of the process that has them; 0 if none has
	Host  string    `json:"host,omitempty"`  // of that process
	// Idle says that the process answers, and that it can do nothing: nothing that it stores is acknowledged, or
	// nothing arrives that others store. Otherwise it does not answer.
	Idle bool `json:"idle,omitempty"`
}

// String says who has them: "process 4711 on web-2 has parts 3 and 7, and does not answer".
func (s Stalled) String() string {
	what := "it"
	if len(s.Parts) > 0 {
		what = partsInWords(s.Parts)
	}
	if s.PID == 0 {
		return "no process has " + what
	}
	does := "does not answer"
	if s.Idle {
		does = "can store or read nothing"
	}
	on := ""
	if s.Host != "" {
		on = " on " + s.Host
	}
	return fmt.Sprintf("process %d%s has %s, and %s", s.PID, on, what, does)
}

// partsInWords lists parts, which are in order: "parts 1 to 3, 7 and 9".
func partsInWords(parts []int) string {
	if len(parts) == 1 {
		return fmt.Sprintf("part %d", parts[0])
	}
	var spans []string
	for from := 0; from < len(parts); {
		to := from
		for to+1 < len(parts) && parts[to+1] == parts[to]+1 {
			to++
		}
		if to-from < 2 {
			to = from
			spans = append(spans, fmt.Sprint(parts[from]))
		} else {
			spans = append(spans, fmt.Sprintf("%d to %d", parts[from], parts[to]))
		}
		from = to + 1
	}
	last := len(spans) - 1
	if last == 0 {
		return "parts " + spans[0]
	}
	return "parts " + strings.Join(spans[:last], ", ") + " and " + spans[last]
}

// Newer are events of a version that this program does not know, because a newer one has
// published them. See Settings.HoldUnknown.
type Newer struct {
	Type    string    `json:"type"`
	Version int       `json:"version"`
	Events  int       `json:"events"`
	Since   time.Time `json:"since"` // when the first of them was held; UTC
}

// Rates measures the throughput of a bus between two statuses.
type Rates struct {
	Seconds   float64 `json:"seconds"`   // between the statuses
	Published float64 `json:"published"` // events per second, those of the bus itself included
}

// SubscriptionRates is how fast a subscription has worked between two statuses. All
// but DrainedIn are per second.
type SubscriptionRates struct {
	Published float64 `json:"published"` // events that match its pattern
	// Handled are deliveries that have ended and are no dead letters. Dead letters that
	// an operator has discarded or purged are among them.
	Handled float64 `json:"handled"`
	Dead    float64 `json:"dead"` // deliveries that became dead letters
	// DrainedIn is how many seconds it takes until the backlog is empty if it goes on
	// shrinking as it did: 0 if it is empty, nil if it does not shrink. Where
	// counting has stopped it is the time to go through the rest of the log.
	DrainedIn *float64 `json:"drained_in"`
}

// PauseState is a pause that is in force. One of Subscription and Types is set.
type PauseState struct {
	Subscription string    `json:"subscription,omitempty"`
	Key          string    `json:"key,omitempty"`   // of the deliveries of the subscription; empty for all of them
	Types        string    `json:"types,omitempty"` // a glob
	Since        time.Time `json:"since"`           // UTC
	Actor        string    `json:"actor,omitempty"` // who made it; empty if an older busgen did
	Reason       string    `json:"reason,omitempty"`
}

// Snoozed is a delivery that its handler has put off again and again.
type Snoozed struct {
	Event        uuid.UUID `json:"event"`
	Type         string    `json:"type"`
	Subscription string    `json:"subscription"`
	Snoozes      int       `json:"snoozes"`
	Since        time.Time `json:"since"` // when the event was published, due or last redriven; UTC
}

// Names are the names that a log knows. A name that is not among them matches
// nothing.
type Names struct {
	Subscriptions []string // in the order in which they were made, then the names they had before
	Types         []string // of events that were published or declared, likewise; the bus's own begin with $
}

// Lag describes how far a durable subscription, or a group, is behind.
type Lag struct {
	Subscription string `json:"subscription"` // or the group
	Pattern      string `json:"pattern"`      // globs over event types, with spaces between them
	Here         bool   `json:"here"`         // this bus has a handler for it
	Paused       bool   `json:"paused"`       // by its name
	// Backlog is how many events it has yet to settle, at most observe.MaxBacklog. It
	// includes Running, Waiting and Held.
	Backlog int `json:"backlog"`
	Running int `json:"running"` // handlers that have been running for 5 ms or more
	Waiting int `json:"waiting"` // for a retry, a delay or a snooze
	// Suspended is how many of the waiting ones are so in a step of their handlers (package step).
	Suspended int `json:"suspended,omitempty"`
	Held      int `json:"held"` // because their event type is paused, or their version newer than the program
	Dead      int `json:"dead"` // dead letters
	// Newer are those of Held that wait for a program which knows their version, the oldest first.
	Newer []Newer `json:"newer,omitempty"`
	// Oldest is when the oldest event of the backlog was published; UTC, zero
	// without a backlog.
	Oldest time.Time `json:"oldest,omitzero"`
}
