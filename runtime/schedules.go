package runtime

import (
	"fmt"
	"time"

	"github.com/busgen/busgen/internal/schedule"
)

// Schedule says when the bus itself publishes an event of some type: at the times of a
// cron expression, or at an interval. Generated code has the schedules of the catalogue
// in [Spec].
//
// The bus that dispatches publishes the events, from [Bus.Start] on. Each time of a
// schedule is published in the transaction that notes that it is over: so it is published
// once, whatever becomes of the process, and also if another bus stands by. The times
// begin when the schedule is first started with.
//
// [WithMaxPending] does not hold these events back.
type Schedule struct {
	// Name identifies the schedule in the file. Another name is another schedule, whose
	// times begin anew.
	Name string
	Doc  string // from the catalogue
	// Cron is an expression of five fields, or a name such as @daily; empty with Every.
	// If it matches every hour, as */15 * * * * does, it keeps its pace when the clock is
	// changed. Otherwise it names times of the day, and each comes once a day: one that
	// the clock skips when it is changed, and one that it shows twice the first time.
	Cron string
	// TimeZone is the name of the time zone of Cron in the IANA database, such as
	// Europe/Berlin; empty for UTC.
	TimeZone string
	// Every is the interval, at least a second; 0 with Cron. It is counted from the moment
	// when the schedule was first started with, so that a restart does not move it.
	Every time.Duration
	// Missed says what becomes of times at which the event could not be published: no
	// process dispatched, or the machine slept. Empty for [MissedOnce].
	Missed Missed
	// Payload is the JSON of the event, of the present version.
	Payload string
}

// Missed says what becomes of times of a [Schedule] that could not be published in time.
type Missed string

// What becomes of missed times. A time is missed if the next one has come before it was
// published; for MissedSkip also if more than a minute has passed.
const (
	MissedOnce = Missed(schedule.Once) // the newest of them is published, as soon as it can be
	MissedSkip = Missed(schedule.Skip) // none of them is published
	// MissedAll publishes each of them, in order, up to 100 in a transaction. If more than
	// 10,000 were missed the clock was wrong: then it publishes the newest, and logs an error.
	MissedAll = Missed(schedule.All)
)

func (s Schedule) rule() schedule.Rule {
	r := schedule.Rule{Cron: s.Cron, Every: s.Every, Zone: s.TimeZone, Missed: string(s.Missed)}
	if r.Missed == "" {
		r.Missed = schedule.Once
	}
	return r
}

// problem says in words what is wrong with the schedule itself. The time zone and the
// payload are for Open to check.
func (s Schedule) problem() string {
	if nameProblem(s.Name) != "" {
		return "its name is empty, too long, or has spaces around it or bytes that cannot be printed"
	}
	switch s.Missed {
	case "", MissedOnce, MissedSkip, MissedAll:
	default:
		return fmt.Sprintf("Missed is %q: use once, skip or all", s.Missed)
	}
	r := s.rule()
	r.Zone = ""
	if _, err := r.Times(time.Time{}); err != nil {
		return err.Error()
	}
	return ""
}

// TimeZoneError is returned by [Open] if this machine does not know the time zone of a
// schedule. The file was not opened. A program for machines without a database of time
// zones has its own if it imports package time/tzdata, which adds 450 kB to it.
type TimeZoneError struct {
	Schedule string
	TimeZone string
	Err      error
}

// Error says what to do.
func (e *TimeZoneError) Error() string {
	return fmt.Sprintf("schedule %s: this machine does not know the time zone %s (%v): install its database of time zones, "+
		"or import _ \"time/tzdata\" in the program", e.Schedule, e.TimeZone, e.Err)
}

// Unwrap returns why the zone was not found.
func (e *TimeZoneError) Unwrap() error { return e.Err }

// WithoutSchedules makes the bus publish no events of the catalogue's schedules, for
// tests and for programs that only repair something. It leaves the schedules in the file
// as they are: the next bus that starts without this option treats what was not published
// meanwhile as missed. In a bus that is not started the option changes nothing.
func WithoutSchedules() Option {
	return func(c *config) error {
		c.unscheduled = true
		return nil
	}
}
