// Package timetable says where the schedules of a catalogue or of the file of a bus stand: what they publish, their next
// times, the last one that was published, and since when one is overdue. The command and the page show the same.
package timetable

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/schedule"
	"github.com/busgen/busgen/runtime/event"
)

// Line is a schedule. Its JSON is what "busgen schedules list --json" prints.
type Line struct {
	Name        string          `json:"name"`
	Doc         string          `json:"doc,omitempty"` // of a catalogue
	Event       string          `json:"event"`
	Cron        string          `json:"cron,omitempty"`
	Every       string          `json:"every,omitempty"`
	TimeZone    string          `json:"time_zone,omitempty"` // of Cron
	Missed      string          `json:"missed"`
	Payload     json.RawMessage `json:"payload,omitempty"` // of a catalogue
	Next        []time.Time     `json:"next"`              // UTC
	Since       time.Time       `json:"since,omitzero"`    // the following are of a file
	Passed      time.Time       `json:"passed,omitzero"`
	MissedSince time.Time       `json:"missed_since,omitzero"` // the time that has come and is not published
	LastEvent   uuid.UUID       `json:"last_event,omitzero"`
	LastTime    time.Time       `json:"last_time,omitzero"`

	Zone *time.Location `json:"-"` // of its times
}

// When is its times in words.
func (l Line) When() string {
	if l.Cron != "" {
		return l.Cron + " (" + l.TimeZone + ")"
	}
	return "every " + l.Every
}

// OfCatalogue returns the schedules of a catalogue with so many of their times after now. An interval is counted from now.
func OfCatalogue(c *catalog.Catalogue, now time.Time, count int) ([]Line, error) {
	list := []Line{}
	for _, s := range c.Schedules {
		one := Line{Name: s.Name.V, Doc: s.Doc, Event: s.Event.Name.V, Payload: s.Payload}
		if err := one.add(s.Rule(), now, now, count); err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// OfFile returns the schedules that a file has, with so many of their times after now.
func OfFile(stored []event.Schedule, now time.Time, count int) ([]Line, error) {
	list := []Line{}
	for _, s := range stored {
		one, err := lineOf(s, now, count)
		if err != nil {
			return nil, fmt.Errorf("schedule %s: %w", s.Name, err)
		}
		list = append(list, one)
	}
	return list, nil
}

func lineOf(s event.Schedule, now time.Time, count int) (one Line, err error) {
	var rule schedule.Rule
	if err := json.Unmarshal(s.Rule, &rule); err != nil {
		return one, fmt.Errorf("the file has a rule for it that this busgen cannot read: %w", err)
	}
	one = Line{Name: s.Name, Event: s.Type, Since: s.Since, Passed: s.Passed, LastEvent: s.Event, LastTime: s.At}
	after := now
	if s.Passed.After(after) {
		after = s.Passed // the clock was set back
	}
	if err := one.add(rule, s.Since, after, count); err != nil {
		return one, err
	}
	times, err := rule.Times(s.Since)
	if next := times.Next(s.Passed); !next.IsZero() && !next.After(now) {
		one.MissedSince = next
	}
	return one, err
}

// add adds the rule of a schedule and its next times.
func (l *Line) add(rule schedule.Rule, since, after time.Time, count int) error {
	times, err := rule.Times(since.Round(0))
	if unknown, ok := errors.AsType[*schedule.ZoneError](err); ok {
		return fmt.Errorf("schedule %s: %w; install the time zones of this machine", l.Name, unknown)
	}
	if err != nil {
		return err
	}
	l.Cron, l.TimeZone, l.Missed, l.Next, l.Zone = rule.Cron, rule.Zone, rule.Missed, []time.Time{}, time.UTC
	if rule.Every != 0 {
		l.Every = catalog.Short(rule.Every)
	} else if l.Zone, err = schedule.LoadZone(rule.Zone); err != nil {
		return err
	} else if l.TimeZone == "" {
		l.TimeZone = "UTC"
	}
	for at := times.Next(after); len(l.Next) < count && !at.IsZero(); at = times.Next(at) {
		l.Next = append(l.Next, at.UTC())
	}
	return nil
}
