package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Rule says when a schedule is due, and what becomes of times that were missed.
type Rule struct {
	Cron   string        // an expression; empty with Every
	Every  time.Duration // from the moment at which the schedule was first declared; 0 with Cron
	Zone   string        // the name of a time zone, for Cron; empty for UTC
	Missed string        // one of the constants; empty for Once
}

// What becomes of missed times.
const (
	Once = "once" // the newest of them is published
	Skip = "skip" // none is published
	All  = "all"  // each is published
)

// Missed returns the words for what becomes of missed times, the default first.
func Missed() []string { return []string{Once, Skip, All} }

// MinEvery is the shortest interval.
const MinEvery = time.Second

// ZoneError says that this machine does not know a time zone.
type ZoneError struct {
	Zone string
	Err  error
}

// Error names the zone.
func (e *ZoneError) Error() string {
	return fmt.Sprintf("the time zone %q is not known here: %v", e.Zone, e.Err)
}

// Unwrap returns the cause.
func (e *ZoneError) Unwrap() error { return e.Err }

// LoadZone returns the time zone of a name; UTC for an empty one. The error is a
// *[ZoneError].
func LoadZone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, &ZoneError{name, errors.New("each machine has another one")}
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, &ZoneError{name, err}
	}
	return zone, nil
}

// Times are the times of a schedule.
type Times struct {
	cron  Cron
	zone  *time.Location
	every time.Duration
	since time.Time
}

// Times returns the times of a schedule that was first declared at since. The error is
// an *[Error] about Cron, a *[ZoneError], or says that the rule is not complete.
func (r Rule) Times(since time.Time) (*Times, error) {
	if (r.Cron == "") == (r.Every == 0) {
		return nil, errors.New("a schedule has either an expression or an interval")
	}
	t := &Times{every: r.Every, since: since.UTC().Truncate(time.Microsecond)}
	if r.Every != 0 {
		if r.Every < MinEvery {
			return nil, fmt.Errorf("the interval %v is shorter than %v", r.Every, MinEvery)
		}
		if r.Every%time.Microsecond != 0 { // the file keeps no more digits
			return nil, fmt.Errorf("the interval %v is no multiple of a microsecond", r.Every)
		}
		return t, nil
	}
	var err error
	if t.cron, err = ParseCron(r.Cron); err != nil {
		return nil, err
	}
	t.zone, err = LoadZone(r.Zone)
	return t, err
}

// Next returns the first time after the given one, in UTC; zero if there is none.
func (t *Times) Next(after time.Time) time.Time {
	if t.every == 0 {
		next := t.cron.Next(after, t.zone)
		if next.IsZero() {
			return next
		}
		return next.UTC()
	}
	return t.nth(max(0, t.passed(after)) + 1)
}

// Last returns the last time after the first one given and not after the second, in UTC;
// zero if there is none. It takes no longer if there are many.
func (t *Times) Last(after, until time.Time) (last time.Time) {
	switch {
	case !until.After(after):
		return last
	case t.every == 0:
		if last = t.cron.Last(after, until, t.zone); last.IsZero() {
			return last
		}
		return last.UTC()
	}
	last = t.nth(t.passed(until))
	if !last.After(after) || !last.After(t.since) {
		return time.Time{}
	}
	return last
}

// Count returns how many times there are after the first one given and not after the second.
// It takes a moment for a hundred years.
func (t *Times) Count(after, until time.Time) int {
	switch {
	case !until.After(after):
		return 0
	case t.every == 0:
		return t.count(after, until)
	}
	return int(max(0, t.passed(until)) - max(0, t.passed(after)))
}

// passed returns how many intervals are over. A [time.Duration] would hold no more than 292
// years of them.
func (t *Times) passed(at time.Time) (intervals int64) {
	return (at.UnixMicro() - t.since.UnixMicro()) / t.every.Microseconds()
}

// nth returns when an interval is over.
func (t *Times) nth(interval int64) time.Time {
	return time.UnixMicro(t.since.UnixMicro() + interval*t.every.Microseconds()).UTC()
}

// ruleJSON is the form in which the file of a bus has a rule.
type ruleJSON struct {
	Cron   string `json:"cron,omitempty"`
	Every  string `json:"every,omitempty"`
	Zone   string `json:"time_zone,omitempty"`
	Missed string `json:"missed"`
}

// MarshalJSON returns the rule in the words of the catalogue.
func (r Rule) MarshalJSON() ([]byte, error) {
	j := ruleJSON{Cron: r.Cron, Zone: r.Zone, Missed: r.Missed}
	if j.Missed == "" {
		j.Missed = Once
	}
	if r.Every != 0 {
		j.Every = r.Every.String()
	} else if j.Zone == "" {
		j.Zone = "UTC"
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON has written.
func (r *Rule) UnmarshalJSON(text []byte) (err error) {
	var j ruleJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	*r = Rule{Cron: j.Cron, Zone: j.Zone, Missed: j.Missed}
	if j.Every != "" {
		r.Every, err = time.ParseDuration(j.Every)
	}
	return err
}
