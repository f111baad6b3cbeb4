package declare

import (
	"time"

	"github.com/busgen/busgen/internal/schedule"
)

// Schedule says when the bus itself publishes an event of some type: at the times of a
// cron expression, or at an interval. Generated code has the schedules of the catalogue
// in runtime.Spec.
//
// The bus that dispatches publishes the events, from runtime.Bus.Start on. Each time of a
// schedule is published in the transaction that notes that it is over: so it is published
// once, whatever becomes of the process, and also if another bus stands by. The times
// begin when the schedule is first started with.
//
// runtime.WithMaxPending does not hold these events back.
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
