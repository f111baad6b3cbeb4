package runtime

import (
	"fmt"
	"time"

	"github.com/busgen/busgen/internal/schedule"
	"github.com/busgen/busgen/runtime/declare"
)

// ruleOf returns the times of a schedule, and what becomes of those that are missed.
func ruleOf(s declare.Schedule) schedule.Rule {
	r := schedule.Rule{Cron: s.Cron, Every: s.Every, Zone: s.TimeZone, Missed: string(s.Missed)}
	if r.Missed == "" {
		r.Missed = schedule.Once
	}
	return r
}

// scheduleProblem says in words what is wrong with the schedule itself, or "". The time zone and the
// payload are for Open to check.
func scheduleProblem(s declare.Schedule) string {
	if nameProblem(s.Name) != "" {
		return "its name is empty, too long, or has spaces around it or bytes that cannot be printed"
	}
	switch s.Missed {
	case "", declare.MissedOnce, declare.MissedSkip, declare.MissedAll:
	default:
		return fmt.Sprintf("Missed is %q: use once, skip or all", s.Missed)
	}
	r := ruleOf(s)
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
