package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/busgen/busgen/internal/schedule"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
)

const (
	// lookEvery is the longest time between two looks at the wall clock: it can be set,
	// and the machine can sleep.
	lookEvery = time.Minute
	// skipAfter is how late an event with MissedSkip may be.
	skipAfter = time.Minute
	// passLimit is how many events one transaction publishes.
	passLimit = 100
	// missedLimit is how many missed times MissedAll publishes. If there are more, the clock was
	// wrong before, or is now.
	missedLimit = 10_000
	// passAgain is the pause after events could not be published.
	passAgain = time.Second
)

// timetable publishes the events of schedules, in the bus that dispatches.
type timetable struct {
	bus     *innerBus
	all     []*scheduled
	renewed chan struct{} // gets a token when the log was restored

	// What follows is for the goroutine that runs it.
	stale   bool // the log may know more than all
	failing bool // publishing has failed
}

// scheduled is a schedule, and where it stands in the log.
type scheduled struct {
	declare.Schedule
	eventType AnyEventType
	rule      schedule.Rule
	key       string // the partition key of the payload
	times     *schedule.Times
	passed    time.Time // times up to this are published or skipped
	next      time.Time // the first time after that; zero for none
	ahead     bool      // passed is in the future
	counted   time.Time // up to this the missed times are no more than missedLimit
}

// newTimetable checks the schedules of the catalogue.
func newTimetable(b *innerBus) (*timetable, error) {
	t := &timetable{bus: b, renewed: make(chan struct{}, 1)}
	if b.config.unscheduled {
		return t, nil
	}
	for _, eventType := range b.catalogue.types {
		for _, s := range eventType.Schedules() {
			one, err := b.newScheduled(s, eventType)
			if err != nil {
				return nil, err
			}
			t.all = append(t.all, one)
		}
	}
	return t, nil
}

func (b *innerBus) newScheduled(s declare.Schedule, eventType AnyEventType) (*scheduled, error) {
	one := &scheduled{Schedule: s, eventType: eventType, rule: ruleOf(s)}
	_, err := one.rule.Times(time.Time{})
	if zone, ok := errors.AsType[*schedule.ZoneError](err); ok {
		return nil, &TimeZoneError{Schedule: s.Name, TimeZone: s.TimeZone, Err: zone.Err}
	}
	if err == nil {
		err = b.catalogue.Check(eventType.Name(), eventType.Version(), []byte(s.Payload))
	}
	if limit := b.config.payloadLimit; err == nil && len(s.Payload) > limit {
		err = &PayloadTooLargeError{EventType: eventType.Name(), What: "payload", Size: len(s.Payload), Limit: limit}
	}
	if err == nil {
		one.key, err = keyOf(eventType, []byte(s.Payload))
	}
	if err == nil { // the bus would have no value for it
		err = typeOf(eventType).checkHeaders(nil, true)
	}
	if err != nil {
		return nil, fmt.Errorf("schedule %s: %w", s.Name, err)
	}
	return one, nil
}

// keyOf returns the partition key of a payload of the present version.
func keyOf(eventType AnyEventType, payload []byte) (key string, err error) {
	if !typeOf(eventType).partitioned() {
		return "", nil
	}
	decoded, err := typeOf(eventType).decode(&engine.Record{Version: eventType.Version(), Payload: payload})
	if err == nil {
		key, err = typeOf(eventType).partitionKey(decoded)
	}
	return key, err
}

// declare makes the schedules known to the log, and takes over where they stand.
func (t *timetable) declare(ctx context.Context) error {
	if t.bus.config.unscheduled {
		return nil
	}
	specs := make([]engine.ScheduleSpec, len(t.all))
	for i, s := range t.all {
		rule, err := json.Marshal(s.rule)
		if err != nil {
			return err
		}
		specs[i] = engine.ScheduleSpec{Name: s.Name, Type: s.eventType.Name(), Rule: rule}
	}
	states, err := t.bus.log.DeclareSchedules(ctx, specs, t.now())
	if err != nil {
		return err
	}
	for i, state := range states {
		s := t.all[i]
		if s.times, err = s.rule.Times(state.Since); err != nil {
			return err
		}
		s.pass(state.Passed)
		s.counted = time.Time{}
	}
	return nil
}

func (s *scheduled) pass(to time.Time) { s.passed, s.next = to, s.times.Next(to) }

// now is the time of the wall clock, as precise as the log stores times.
func (t *timetable) now() time.Time {
	now := time.Now
	if t.bus.config.wall != nil {
		now = t.bus.config.wall
	}
	return now().UTC().Round(0).Truncate(time.Microsecond)
}

// renew makes the timetable look where the schedules stand in the log. It never blocks.
func (t *timetable) renew() {
	select {
	case t.renewed <- struct{}{}:
	default:
	}
}

// run publishes what is due, until ctx ends.
func (t *timetable) run(ctx context.Context) {
	if len(t.all) == 0 {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.renewed:
			t.stale = true
		case <-timer.C:
		}
		wait, err := t.look(ctx)
		if err != nil {
			wait = passAgain
		}
		t.report(ctx, err)
		timer.Reset(wait)
	}
}

// look publishes what is due, and returns how long nothing is.
func (t *timetable) look(ctx context.Context) (wait time.Duration, err error) {
	if t.stale {
		if err := t.declare(ctx); err != nil {
			return 0, err
		}
		t.stale = false
	}
	for _, s := range t.all {
		if now := t.now(); s.due(now) {
			if err := t.publish(ctx, s, now); err != nil {
				return 0, err
			}
		}
	}
	wait = lookEvery
	now := t.now()
	for _, s := range t.all {
		t.checkAhead(s, now)
		if !s.next.IsZero() {
			wait = min(wait, s.next.Sub(now))
		}
	}
	if t.stale {
		wait = 0
	}
	return max(0, wait), nil
}

func (s *scheduled) due(now time.Time) bool { return !s.next.IsZero() && !s.next.After(now) }

// checkAhead logs when the wall clock was set back, so that a schedule waits for longer.
func (t *timetable) checkAhead(s *scheduled, now time.Time) {
	ahead := s.passed.Sub(now)
	if ahead > lookEvery && !s.ahead {
		t.bus.config.logger.Warn("the wall clock was set back; a schedule has published its times up to one that is in the future now, and goes on then",
			"schedule", s.Name, "passed", s.passed, "next", s.next, "ahead", ahead)
	}
	s.ahead = ahead > lookEvery
}

// publish publishes events of a schedule that is due, and moves it.
func (t *timetable) publish(ctx context.Context, s *scheduled, now time.Time) error {
	times := []time.Time{s.next}
	leftOut := 0
	if s.Missed == declare.MissedAll && s.next.After(s.counted) {
		if n := s.times.Count(s.passed, now); n > missedLimit {
			leftOut = n - 1
		} else {
			s.counted = now
		}
	}
	if s.Missed == declare.MissedAll && leftOut == 0 {
		for next := s.times.Next(s.next); !next.IsZero() && !next.After(now) && len(times) < passLimit; next = s.times.Next(next) {
			times = append(times, next)
		}
	} else if last := s.times.Last(s.next, now); !last.IsZero() {
		times[0] = last
	}
	last := times[len(times)-1]
	skipped := s.Missed == declare.MissedSkip && now.Sub(last) > skipAfter
	p := engine.Passage{Name: s.Name, From: s.passed, To: last, At: last}
	if skipped {
		times = nil
	}
	for _, at := range times {
		record, err := s.record(at)
		if err != nil {
			return err
		}
		p.Records = append(p.Records, record)
	}
	passed, err := t.bus.log.Pass(ctx, p)
	switch {
	case err != nil:
		return err
	case !passed: // the log is another one, or the outcome of the last time was in doubt
		t.stale = true
		return nil
	}
	t.tellMissed(s, now, last, skipped, leftOut)
	s.pass(last)
	t.bus.published(p.Records)
	return nil
}

// record returns the event of one time.
func (s *scheduled) record(at time.Time) (engine.Record, error) {
	metadata, err := json.Marshal(map[string]string{
		engine.ScheduleKey: s.Name, engine.ScheduledForKey: at.UTC().Format(time.RFC3339Nano),
	})
	return engine.Record{
		ID: engine.NewID(), Type: s.eventType.Name(), Version: s.eventType.Version(), Payload: []byte(s.Payload), Metadata: metadata,
		Key: s.key, Keyed: typeOf(s.eventType).partitioned(), CreatedAt: engine.Now(),
		Express: expressOf(s.eventType, queue.Own{}),
	}, err
}

// tellMissed logs that times of a schedule were missed, up to last. With leftOut they are too
// many to be published.
func (t *timetable) tellMissed(s *scheduled, now, last time.Time, skipped bool, leftOut int) {
	logger := t.bus.config.logger.With("schedule", s.Name, "event_type", s.eventType.Name(), "from", s.next, "to", last)
	switch {
	case leftOut > 0:
		logger.Error("a schedule has missed too many times; only the newest of them is published", "left_out", leftOut, "limit", missedLimit)
	case !s.next.Equal(last) || now.Sub(last) > skipAfter:
		logger.Info("a schedule has missed times", "missed", s.rule.Missed, "published", !skipped)
	}
}

// report logs when publishing begins to fail, and when it works again.
func (t *timetable) report(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil || errors.Is(err, engine.ErrClosed) || errors.Is(err, engine.ErrNotOwner): // about to end, or to be renewed
	case err != nil && !t.failing:
		t.failing = true
		t.bus.config.logger.Error("the events of schedules cannot be published; trying again every second", "error", err)
	case err == nil && t.failing:
		t.failing = false
		t.bus.config.logger.Info("the events of schedules can be published again")
	}
}

// fire publishes the event of a schedule as for the present time, whether or not the bus
// publishes those of schedules.
func (b *innerBus) fire(ctx context.Context, name string) (*Receipt, error) {
	var names []string
	for _, eventType := range b.catalogue.types {
		for _, s := range eventType.Schedules() {
			names = append(names, s.Name)
			if s.Name != name {
				continue
			}
			one, err := b.newScheduled(s, eventType)
			if err != nil {
				return nil, err
			}
			record, err := one.record(b.timetable.now())
			if err != nil {
				return nil, err
			}
			records := []engine.Record{record}
			if err := b.log.Append(ctx, records); err != nil {
				return nil, public(err)
			}
			b.published(records)
			return &Receipt{ID: record.ID, bus: b, seq: records[0].Seq}, nil
		}
	}
	return nil, fmt.Errorf("the catalogue has no schedule %q: it has %q", name, names)
}

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
