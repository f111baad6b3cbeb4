package schedule

import "time"

// searched is for how many days Next looks: at least one of 40 years has a 29th of
// February on each day of the week.
const searched = 41 * 366

// Next returns the first time of c in a time zone that is after the given one; zero if
// there is none within 40 years.
//
// An expression that matches every hour follows the time that passes: */15 is every 15
// minutes, also on the days on which the clock is changed. All others name times of the
// day, and each of them comes once a day: at the first moment at which the clock shows
// it or a later time. So a time that the clock skips comes when it is changed, and a time
// that the clock shows twice comes the first time.
func (c Cron) Next(after time.Time, zone *time.Location) time.Time {
	local := after.In(zone)
	if c.hours == everyHour {
		return c.nextInPace(local)
	}
	year, month, day := local.Date()
	for i := range searched {
		date := time.Date(year, month, day+i, 0, 0, 0, 0, time.UTC)
		if !c.matchesDate(date) {
			continue
		}
		for hour := range 24 {
			if c.hours>>hour&1 == 0 {
				continue
			}
			for minute := range 60 {
				if c.minutes>>minute&1 == 0 {
					continue
				}
				shown := date.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
				if at := firstMoment(shown, zone); at.After(after) {
					return at
				}
			}
		}
	}
	return time.Time{}
}

// nextInPace goes from minute to minute, and over days that do not match.
func (c Cron) nextInPace(local time.Time) time.Time {
	zone := local.Location()
	t := nextMinute(local)
	for end := local.AddDate(0, 0, searched); t.Before(end); {
		switch year, month, day := t.Date(); {
		case !c.matchesDate(t):
			tomorrow := firstMoment(time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC), zone).In(zone)
			if !tomorrow.After(t) { // the clock has gone back over midnight
				tomorrow = nextMinute(t)
			}
			t = tomorrow
		case c.minutes>>t.Minute()&1 == 0:
			t = nextMinute(t)
		default:
			return t
		}
	}
	return time.Time{}
}

// nextMinute returns when the clock goes on to another minute.
func nextMinute(t time.Time) time.Time {
	return t.Add(time.Minute - time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
}

func (c Cron) matchesDate(t time.Time) bool {
	if c.months>>t.Month()&1 == 0 {
		return false
	}
	day, weekday := c.days>>t.Day()&1 == 1, c.weekdays>>t.Weekday()&1 == 1
	if c.eitherDay {
		return day || weekday
	}
	return day && weekday
}

// firstMoment returns the first moment at which the clock in a zone shows the given
// date and time, whose own zone is UTC, or a later one.
func firstMoment(shown time.Time, zone *time.Location) time.Time {
	const ahead = 26 * time.Hour // no clock is as far from UTC
	for t := shown.Add(-ahead).In(zone); ; {
		_, offset := t.Zone()
		at := shown.Add(-time.Duration(offset) * time.Second)
		_, end := t.ZoneBounds()
		switch {
		case at.Before(t): // the clock has just gone forward over it
			return t.UTC()
		case end.IsZero() || at.Before(end):
			return at.UTC()
		}
		t = end
	}
}
