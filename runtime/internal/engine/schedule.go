package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/busgen/busgen/runtime/event"
)

// Timetable keeps which times of schedules are over. Only the process that dispatches
// publishes their events, so both methods fail in others: with ErrNotOwner.
type Timetable interface {
	// DeclareSchedules makes the schedules of the log those of the process that
	// dispatches, and returns them in the order of the specs. A new one has no time
	// before now. A known one keeps Since and Passed, whatever its rule was. Those that
	// are not among the specs are removed.
	DeclareSchedules(ctx context.Context, specs []ScheduleSpec, now time.Time) ([]event.Schedule, error)

	// Pass moves Passed of a schedule and appends the events of the times up to there,
	// in one transaction that is on disk when it returns. If Passed is not what the
	// passage starts from, it changes nothing and reports false.
	Pass(ctx context.Context, p Passage) (bool, error)
}

// ScheduleSpec is a schedule as the program declares it.
type ScheduleSpec struct {
	Name string
	Type string          // of the events
	Rule json.RawMessage // when; only the bus and its tools read it
}

// Passage moves a schedule.
type Passage struct {
	Name     string
	From, To time.Time // Passed before and after
	Records  []Record  // without idempotency keys and due times; Pass sets their Seq
	At       time.Time // the time that the last record is for
}

// The bus writes these metadata keys for the events of schedules, and nobody else.
const (
	ScheduleKey     = "busgen.schedule"      // its name
	ScheduledForKey = "busgen.scheduled_for" // the time of the schedule, as time.RFC3339Nano has it
)
