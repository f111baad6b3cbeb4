package buslog

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// DeclareSchedules implements [engine.Timetable].
func (cl *cluster) DeclareSchedules(ctx context.Context, specs []engine.ScheduleSpec, now time.Time) (all []engine.Schedule, err error) {
	if err := cl.mayDispatch(ctx); err != nil {
		return nil, err
	}
	err = cl.edit(ctx, func() ([]*stream.Msg, error) {
		all = nil
		for _, spec := range specs {
			one := engine.Schedule{Since: now, Passed: now}
			if known := scheduleIn(cl.schedules, spec.Name); known != nil {
				one = *known
			}
			one.Name, one.Type, one.Rule = spec.Name, spec.Type, spec.Rule
			all = append(all, one)
		}
		if len(all) == 0 && len(cl.schedules) == 0 {
			return nil, nil
		}
		return []*stream.Msg{cl.schedulesMsg(all)}, nil
	})
	return all, err
}

// Pass implements [engine.Timetable].
func (cl *cluster) Pass(ctx context.Context, p engine.Passage) (passed bool, err error) {
	if err := cl.mayDispatch(ctx); err != nil {
		return false, err
	}
	if err := cl.declareTypesOf(ctx, p.Records); err != nil {
		return false, err
	}
	err = cl.edit(ctx, func() (msgs []*stream.Msg, err error) {
		all := slices.Clone(cl.schedules)
		one := scheduleIn(all, p.Name)
		if passed = one != nil && one.Passed.Equal(p.From); !passed {
			return nil, nil
		}
		one.Passed = p.To
		if n := len(p.Records); n > 0 {
			one.Event, one.At = p.Records[n-1].ID, p.At
		}
		for i := range p.Records {
			msgs = append(msgs, cl.eventMsg(&p.Records[i]))
		}
		return append(msgs, cl.schedulesMsg(all)), nil
	})
	return passed && err == nil, err
}

func (ed *editor) schedulesMsg(all []engine.Schedule) *stream.Msg {
	data, _ := json.Marshal(all)
	return &stream.Msg{Subject: ed.subject(timeToken), Data: data, Only: true, Expect: stream.Expecting(ed.timesRev)}
}

// mayDispatch returns ErrNotOwner in a process that does not dispatch.
func (cl *cluster) mayDispatch(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := cl.enter(); err != nil {
		return err
	}
	defer cl.mu.Unlock()
	if !cl.dispatching {
		return engine.ErrNotOwner
	}
	return nil
}

// scheduleIn returns the schedule of a name, or nil.
func scheduleIn(all []engine.Schedule, name string) *engine.Schedule {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}
