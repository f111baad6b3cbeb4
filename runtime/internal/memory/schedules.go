package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// DeclareSchedules implements [engine.Timetable].
func (l *Log) DeclareSchedules(ctx context.Context, specs []engine.ScheduleSpec, now time.Time) (all []engine.Schedule, err error) {
	if err := l.enterAsOwner(ctx); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	for _, spec := range specs {
		one := engine.Schedule{Since: now, Passed: now}
		if known := l.schedule(spec.Name); known != nil {
			one = *known
		}
		one.Name, one.Type, one.Rule = spec.Name, spec.Type, spec.Rule
		all = append(all, one)
	}
	l.schedules = slices.Clone(all)
	return all, nil
}

// Pass implements [engine.Timetable].
func (l *Log) Pass(ctx context.Context, p engine.Passage) (bool, error) {
	if err := l.enterAsOwner(ctx); err != nil {
		return false, err
	}
	defer l.mu.Unlock()
	one := l.schedule(p.Name)
	if one == nil || !one.Passed.Equal(p.From) {
		return false, nil
	}
	if one.Passed = p.To; len(p.Records) > 0 {
		one.Event, one.At = p.Records[len(p.Records)-1].ID, p.At
		l.insert(p.Records)
	}
	return true, nil
}

// enterAsOwner is enter for what only the process that dispatches may do.
func (l *Log) enterAsOwner(ctx context.Context) error {
	if err := cmp.Or(ctx.Err(), l.enter()); err != nil {
		return err
	}
	if l.owner != l {
		l.mu.Unlock()
		return engine.ErrNotOwner
	}
	return nil
}

// schedule returns the schedule of a name, or nil.
func (s *store) schedule(name string) *engine.Schedule {
	for i := range s.schedules {
		if s.schedules[i].Name == name {
			return &s.schedules[i]
		}
	}
	return nil
}

// Schedules implements [engine.ScheduleReader].
func (in *inspection) Schedules(context.Context) ([]engine.Schedule, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	all := slices.Clone(in.schedules)
	slices.SortFunc(all, func(a, b engine.Schedule) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}
