package schedule

import (
	"math/bits"
	"time"
)

// Last returns the last time of c in a time zone that is after the first moment given and not
// after the second; zero if there is none. It searches backwards, so that it does not matter
// how many times there are.
func (c Cron) Last(after, until time.Time, zone *time.Location) time.Time {
	local := until.In(zone)
	if c.hours == everyHour {
		return c.lastInPace(after, local)
	}
	year, month, day := local.Date()
	for back := -1; ; back++ { // the clock may have shown tomorrow, and gone back
		date := time.Date(year, month, day-back, 0, 0, 0, 0, time.UTC)
		if !firstMoment(date.AddDate(0, 0, 1), zone).After(after) {
			return time.Time{}
		}
		if !c.matchesDate(date) {
			continue
		}
		for hour := 23; hour >= 0; hour-- {
			if c.hours>>hour&1 == 0 {
				continue
			}
			for minute := 59; minute >= 0; minute-- {
				if c.minutes>>minute&1 == 0 {
					continue
				}
				shown := date.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
				switch at := firstMoment(shown, zone); {
				case !at.After(after):
					return time.Time{}
				case !at.After(until):
					return at
				}
			}
		}
	}
}

// lastInPace goes back from minute to minute, and over days that do not match.
func (c Cron) lastInPace(after, local time.Time) time.Time {
	zone := local.Location()
	for t := thisMinute(local); t.After(after); {
		switch year, month, day := t.Date(); {
		case !c.matchesDate(t):
			begin := firstMoment(time.Date(year, month, day, 0, 0, 0, 0, time.UTC), zone)
			if start, _ := t.ZoneBounds(); start.After(begin) { // the clock was changed on this day
				begin = start
			}
			t = thisMinute(begin.In(zone).Add(-1))
		case c.minutes>>t.Minute()&1 == 0:
			t = thisMinute(t.Add(-1))
		default:
			return t
		}
	}
	return time.Time{}
}

// thisMinute returns when the clock went on to the minute that it shows.
func thisMinute(t time.Time) time.Time {
	return t.Add(-time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
}

// count returns how many times there are after one moment and not after another. It steps
// through the days on which the clock is changed, and knows how many the others have.
func (t *Times) count(after, until time.Time) (n int) {
	daily := bits.OnesCount64(t.cron.hours) * bits.OnesCount64(t.cron.minutes)
	for after.Before(until) {
		first := after.Add(1).In(t.zone)
		year, month, day := first.Date()
		last := firstMoment(time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC), t.zone).Add(-1)
		since, changed := first.ZoneBounds()
		whole := first.Hour() == 0 && last.Sub(after) == 24*time.Hour && !since.Equal(first) && (changed.IsZero() || changed.After(last))
		switch {
		case !last.After(after): // the clock has gone back over midnight
			last = after.Add(24 * time.Hour)
		case whole && !last.After(until):
			if t.cron.matchesDate(first) {
				n += daily
			}
			after = last
			continue
		}
		if last.After(until) {
			last = until
		}
		for next := t.Next(after); !next.IsZero() && !next.After(last); next = t.Next(next) {
			n++
		}
		after = last
	}
	return n
}
