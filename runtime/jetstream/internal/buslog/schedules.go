package buslog

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// DeclareSchedules implements [engine.Timetable].
func (l *Log) DeclareSchedules(ctx context.Context, specs []engine.ScheduleSpec, now time.Time) (all []event.Schedule, err error) {
	if err := l.mayDispatch(ctx); err != nil {
		return nil, err
	}
	err = l.edit(ctx, func() ([]*stream.Msg, error) {
		all = nil
		for _, spec := range specs {
			one := event.Schedule{Since: now, Passed: now}
			if known := scheduleIn(l.schedules, spec.Name); known != nil {
				one = *known
			}
			one.Name, one.Type, one.Rule = spec.Name, spec.Type, spec.Rule
			all = append(all, one)
		}
		if len(all) == 0 && len(l.schedules) == 0 {
			return nil, nil
		}
		return []*stream.Msg{l.schedulesMsg(all)}, nil
	})
	return all, err
}

// Pass implements [engine.Timetable].
func (l *Log) Pass(ctx context.Context, p engine.Passage) (passed bool, err error) {
	if err := l.mayDispatch(ctx); err != nil {
		return false, err
	}
	if err := l.declareTypesOf(ctx, p.Records); err != nil {
		return false, err
	}
	err = l.edit(ctx, func() (msgs []*stream.Msg, err error) {
		all := slices.Clone(l.schedules)
		one := scheduleIn(all, p.Name)
		if passed = one != nil && one.Passed.Equal(p.From); !passed {
			return nil, nil
		}
		one.Passed = p.To
		if n := len(p.Records); n > 0 {
			one.Event, one.At = p.Records[n-1].ID, p.At
		}
		for i := range p.Records {
			msgs = append(msgs, l.eventMsg(&p.Records[i]))
		}
		return append(msgs, l.schedulesMsg(all)), nil
	})
	return passed && err == nil, err
}

func (l *Log) schedulesMsg(all []event.Schedule) *stream.Msg {
	data, _ := json.Marshal(all)
	return &stream.Msg{Subject: l.subject(timeToken), Data: data, Only: true, Expect: stream.Expecting(l.timesRev)}
}

// mayDispatch returns ErrNotOwner in a process that does not dispatch.
func (l *Log) mayDispatch(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.enter(); err != nil {
		return err
	}
	defer l.mu.Unlock()
	if !l.dispatching {
		return engine.ErrNotOwner
	}
	return nil
}

// scheduleIn returns the schedule of a name, or nil.
func scheduleIn(all []event.Schedule, name string) *event.Schedule {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}
