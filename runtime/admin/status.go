package admin

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// MaxBacklog is where the backlog of a subscription is no longer counted:
// [Subscription].Backlog is this number for all that is more. [Status] counts
// events, too, up to it.
const MaxBacklog = 10_000

// Status is what a file holds and who uses it. Its JSON is what "busgen status
// --json" prints.
type Status struct {
	At            time.Time      `json:"at"` // when the file was looked at; UTC
	Path          string         `json:"path"`
	Size          int64          `json:"size"`            // bytes
	WAL           int64          `json:"wal"`             // bytes of the write-ahead log beside it
	Schema        int            `json:"schema"`          // version of the tables
	Owner         *Owner         `json:"owner"`           // nil if no bus was ever started on it
	Events        int            `json:"events"`          // stored, those of the bus itself included; at most [MaxBacklog]
	More          bool           `json:"more,omitempty"`  // there are more; Events and Types are about the newest
	Oldest        time.Time      `json:"oldest,omitzero"` // publication of the oldest event
	Newest        time.Time      `json:"newest,omitzero"`
	Types         []Type         `json:"types"` // those with events, by name
	Subscriptions []Subscription `json:"subscriptions"`
	DeadLetters   int            `json:"dead_letters"`
	Pauses        []Pause        `json:"pauses"`   // oldest first
	Breakers      []Breaker      `json:"breakers"` // those that are not closed; see [File.Breakers]
	Running       []Running      `json:"running"`  // see [File.Running]
	// Snoozed are deliveries that their handlers have put off a hundred times or
	// for more than a day: the ten that were put off most often.
	Snoozed []Snoozed `json:"snoozed,omitempty"`
	Rates   *Rates    `json:"rates,omitempty"` // only of [File.StatusSince]
}

// Snoozed is a delivery that its handler has put off again and again.
type Snoozed struct {
	Event        uuid.UUID `json:"event"`
	Type         string    `json:"type"`
	Subscription string    `json:"subscription"`
	Snoozes      int       `json:"snoozes"`
	Since        time.Time `json:"since"` // when the event was published, due or last redriven; UTC
}

// Owner is the process that dispatches from a file, or the last one that did.
type Owner struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"` // UTC
	// Alive says that it dispatches now. It is asked of the lock that the process
	// holds, and so is right for a process of another container too.
	Alive bool `json:"alive"`
}

// Type counts the events of one type. The bus's own types begin with $.
type Type struct {
	Name     string    `json:"name"`
	Unrouted bool      `json:"unrouted,omitempty"` // no subscription is for it
	Events   int       `json:"events"`
	Oldest   time.Time `json:"oldest"` // when its oldest event was published; UTC
	Newest   time.Time `json:"newest"`
}

// Subscription is where a subscription stands.
type Subscription struct {
	Name    string `json:"name"`
	Pattern string `json:"pattern"` // globs over event types, with spaces between them
	Paused  bool   `json:"paused"`  // by its name
	// Unhandled says that it has a backlog and that the process which dispatches has
	// no handler for it, as far as that process has noticed. Only of [File.Status].
	Unhandled bool `json:"unhandled,omitempty"`
	// Backlog is how many events it has yet to settle, at most [MaxBacklog]. It
	// includes Running, Waiting and Held.
	Backlog int `json:"backlog"`
	// BacklogAtMost is the backlog or, where counting has stopped, all of the log
	// that it has yet to go through, whether or not that is for it.
	BacklogAtMost int `json:"backlog_at_most"`
	// Partial says that Running to Dead are no longer counted: there are 100,000.
	Partial bool `json:"partial,omitempty"`
	Running int  `json:"running"` // handlers that the file knows to run, or that ran when their process died
	Waiting int  `json:"waiting"` // for a retry, a delay or a snooze
	Held    int  `json:"held"`    // because their type is paused
	Dead    int  `json:"dead"`    // dead letters
	// Oldest is when the oldest event of the backlog was published; UTC, zero
	// without a backlog.
	Oldest time.Time          `json:"oldest,omitzero"`
	Rates  *SubscriptionRates `json:"rates,omitempty"` // only of [File.StatusSince]
}

// Pause is something that is not delivered at the moment. One of Subscription
// and Types is set.
type Pause struct {
	Subscription string    `json:"subscription,omitempty"`
	Types        string    `json:"types,omitempty"` // a glob
	Since        time.Time `json:"since"`           // UTC
	Actor        string    `json:"actor,omitempty"` // who made it; empty if an older busgen did
	Reason       string    `json:"reason,omitempty"`
}

// Status returns what the file holds. It counts the newest events and the first of
// a backlog only, so that it takes milliseconds however large the file is.
func (f *File) Status(ctx context.Context) (Status, error) {
	status, _, err := f.StatusSince(ctx, Mark{})
	return status, err
}

// StatusSince is Status with the rates since an earlier look at the same log, whose
// mark is given, and the mark of this look. The mark may come from another File on
// the same path. It has no rates for the zero Mark, nor where they would mean
// nothing: the file was replaced or restored since, or its subscription is new.
// Beside what Status costs, it counts what was published and settled since.
func (f *File) StatusSince(ctx context.Context, before Mark) (status Status, mark Mark, err error) {
	status = Status{Path: f.path, At: time.Now().UTC()}
	err = f.use(func(a *sqlite.Admin) error {
		found, err := a.Status(ctx, MaxBacklog, before.mark)
		if err != nil {
			return err
		}
		status.Size, status.WAL, status.Schema = found.Size, found.WAL, found.Schema
		if found.Owner.PID != 0 {
			owner := Owner(found.Owner)
			status.Owner = &owner
		}
		status.Events, status.More, status.Oldest, status.Newest = found.Events, found.More, found.Oldest, found.Newest
		status.Types = make([]Type, len(found.Types))
		for i, t := range found.Types {
			status.Types[i] = Type(t)
		}
		for _, one := range found.Snoozed {
			status.Snoozed = append(status.Snoozed, Snoozed{one.ID, one.Type, one.Subscription, one.Snoozes, one.Since})
		}
		status.Subscriptions = subscriptionsOf(found.Lags)
		for i, s := range status.Subscriptions {
			status.Subscriptions[i].Unhandled = slices.Contains(found.Activity.Unhandled, s.Name)
		}
		status.measure(found.Progress)
		mark.mark = found.Mark
		for _, s := range status.Subscriptions {
			status.DeadLetters += s.Dead
		}
		status.Pauses = pausesOf(found.Pauses)
		status.Breakers, status.Running = breakersOf(found.Activity.Breakers), runningOf(found.Activity.Attempts)
		return nil
	})
	return status, mark, err
}

// Subscriptions returns every subscription that the file knows, in the order in
// which they were made.
func (f *File) Subscriptions(ctx context.Context) (all []Subscription, err error) {
	err = f.use(func(a *sqlite.Admin) error {
		lags, err := a.Lags(ctx, MaxBacklog)
		all = subscriptionsOf(lags)
		return err
	})
	return all, err
}

// Names is what a file knows by name. A name that is not among them matches
// nothing.
type Names struct {
	Subscriptions []string // in the order in which they were made, then the names they had before
	Types         []string // of events that were published or declared, likewise; the bus's own begin with $
}

// Names returns the names that filters can match.
func (f *File) Names(ctx context.Context) (names Names, err error) {
	err = f.use(func(a *sqlite.Admin) error {
		names.Subscriptions, names.Types, err = a.AllNames(ctx)
		return err
	})
	return names, err
}

func subscriptionsOf(lags []engine.Lag) []Subscription {
	all := make([]Subscription, len(lags))
	for i, lag := range lags {
		all[i] = Subscription{
			Name: lag.Name, Pattern: lag.Pattern, Paused: lag.Paused, Backlog: lag.Backlog, BacklogAtMost: lag.AtMost, Partial: lag.Partial,
			Running: lag.Running, Waiting: lag.Waiting, Held: lag.Held, Dead: lag.Dead, Oldest: lag.Oldest,
		}
	}
	return all
}

func pausesOf(pauses []engine.Pause) []Pause {
	all := make([]Pause, len(pauses))
	for i, p := range pauses {
		all[i] = Pause{Since: p.Since, Actor: p.Actor, Reason: p.Reason}
		if p.Kind == engine.PauseSubscription {
			all[i].Subscription = p.Target
		} else {
			all[i].Types = p.Target
		}
	}
	return all
}
