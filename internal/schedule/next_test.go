package schedule

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

// timesOn returns the times of an expression from one moment to another, as the clock
// of the zone shows them.
func timesOn(t *testing.T, text, zoneName, from, to string) string {
	t.Helper()
	zone, err := LoadZone(zoneName)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseCron(text)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.ParseInLocation("2006-01-02", from, zone)
	if err != nil {
		t.Fatal(err)
	}
	end, err := time.ParseInLocation("2006-01-02", to, zone)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for at = c.Next(at.Add(-1), zone); at.Before(end); at = c.Next(at, zone) {
		all = append(all, at.In(zone).Format("02 15:04 -07"))
	}
	return strings.Join(all, ", ")
}

func TestAFixedTimeComesOnceOnTheDaysOnWhichTheClockIsChanged(t *testing.T) {
	for _, test := range []struct{ text, zone, from, to, want string }{
		// Forward from 02:00 to 03:00.
		{"0 3 * * *", "Europe/Berlin", "2026-03-28", "2026-03-31", "28 03:00 +01, 29 03:00 +02, 30 03:00 +02"},
		{"0 2 * * *", "Europe/Berlin", "2026-03-28", "2026-03-31", "28 02:00 +01, 29 03:00 +02, 30 02:00 +02"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-28", "2026-03-31", "28 02:30 +01, 29 03:00 +02, 30 02:30 +02"},
		{"59 1 * * *", "Europe/Berlin", "2026-03-28", "2026-03-31", "28 01:59 +01, 29 01:59 +01, 30 01:59 +02"},
		{"30 2 * * *", "America/New_York", "2026-03-07", "2026-03-10", "07 02:30 -05, 08 03:00 -04, 09 02:30 -04"},
		{"0 3 * * *", "America/New_York", "2026-03-07", "2026-03-10", "07 03:00 -05, 08 03:00 -04, 09 03:00 -04"},
		// Back from 03:00 to 02:00 in Berlin, from 02:00 to 01:00 in New York.
		{"30 2 * * *", "Europe/Berlin", "2026-10-24", "2026-10-27", "24 02:30 +02, 25 02:30 +02, 26 02:30 +01"},
		{"0 2 * * *", "Europe/Berlin", "2026-10-24", "2026-10-27", "24 02:00 +02, 25 02:00 +02, 26 02:00 +01"},
		{"0 3 * * *", "Europe/Berlin", "2026-10-24", "2026-10-27", "24 03:00 +02, 25 03:00 +01, 26 03:00 +01"},
		{"30 1 * * *", "America/New_York", "2026-10-31", "2026-11-03", "31 01:30 -04, 01 01:30 -04, 02 01:30 -05"},
		{"0 2 * * *", "America/New_York", "2026-10-31", "2026-11-03", "31 02:00 -04, 01 02:00 -05, 02 02:00 -05"},
		// Several times of a named hour.
		{"*/20 2 * * *", "Europe/Berlin", "2026-03-29", "2026-03-30", "29 03:00 +02"},
		{"*/20 2 * * *", "Europe/Berlin", "2026-10-25", "2026-10-26", "25 02:00 +02, 25 02:20 +02, 25 02:40 +02"},
		{"0 1-4 * * *", "Europe/Berlin", "2026-03-29", "2026-03-30", "29 01:00 +01, 29 03:00 +02, 29 04:00 +02"},
		{"0 1-4 * * *", "Europe/Berlin", "2026-10-25", "2026-10-26", "25 01:00 +02, 25 02:00 +02, 25 03:00 +01, 25 04:00 +01"},
		// A clock that is changed at midnight, by half an hour, or over a whole day.
		{"0 0 * * *", "America/Sao_Paulo", "2018-11-03", "2018-11-06", "03 00:00 -03, 04 01:00 -02, 05 00:00 -02"},
		{"30 23 * * *", "America/Sao_Paulo", "2018-02-16", "2018-02-19", "16 23:30 -02, 17 23:30 -02, 18 23:30 -03"},
		{"10 2 * * *", "Australia/Lord_Howe", "2026-10-03", "2026-10-06", "03 02:10 +10, 04 02:30 +11, 05 02:10 +11"},
		{"45 1 * * *", "Australia/Lord_Howe", "2026-04-04", "2026-04-07", "04 01:45 +11, 05 01:45 +11, 06 01:45 +10"},
	} {
		if got := timesOn(t, test.text, test.zone, test.from, test.to); got != test.want {
			t.Errorf("%s in %s\n got %s\nwant %s", test.text, test.zone, got, test.want)
		}
	}
}

func TestAnExpressionForEveryHourKeepsItsPaceWhenTheClockIsChanged(t *testing.T) {
	for _, test := range []struct {
		text, zone, from, to string
		pace                 time.Duration
	}{
		{"*/15 * * * *", "Europe/Berlin", "2026-03-28", "2026-03-31", 15 * time.Minute},
		{"*/15 * * * *", "Europe/Berlin", "2026-10-24", "2026-10-27", 15 * time.Minute},
		{"*/15 0-23 * * *", "America/New_York", "2026-03-07", "2026-03-10", 15 * time.Minute},
		{"7 * * * *", "America/New_York", "2026-10-31", "2026-11-03", time.Hour},
		{"@hourly", "Europe/Berlin", "2026-10-24", "2026-10-27", time.Hour},
		{"* * * * *", "Australia/Lord_Howe", "2026-04-04", "2026-04-07", time.Minute},
	} {
		zone, err := LoadZone(test.zone)
		if err != nil {
			t.Fatal(err)
		}
		c, err := ParseCron(test.text)
		if err != nil {
			t.Fatal(err)
		}
		at, _ := time.ParseInLocation("2006-01-02", test.from, zone)
		end, _ := time.ParseInLocation("2006-01-02", test.to, zone)
		n := 0
		for at = c.Next(at, zone); at.Before(end); n++ {
			next := c.Next(at, zone)
			if next.Sub(at) != test.pace {
				t.Errorf("%s in %s: %v is followed by %v", test.text, test.zone, at, next)
			}
			at = next
		}
		if n < 60 {
			t.Errorf("%s in %s: only %d times", test.text, test.zone, n)
		}
	}
	// Days that do not match are left out, and the clock of the zone says which.
	if got, want := timesOn(t, "0 * 25 10 *", "Europe/Berlin", "2026-10-24", "2026-10-27"), 25; strings.Count(got, ",")+1 != want {
		t.Errorf("the day has %s", got)
	}
}

// The definition, held against a search through every minute.
func TestEveryNamedTimeComesAtTheFirstMomentThatShowsItOrALaterOne(t *testing.T) {
	for _, zoneName := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia", "UTC", "Africa/Casablanca"} {
		zone, err := LoadZone(zoneName)
		if err != nil {
			t.Fatal(err)
		}
		for _, year := range []int{2011, 2018, 2026} {
			begin := time.Date(year, 1, 1, 0, 0, 0, 0, zone)
			highest := time.Time{}
			for at := begin; at.Year() == year; at = at.Add(10 * time.Minute) {
				y, m, d := at.Date()
				shown := time.Date(y, m, d, at.Hour(), at.Minute(), 0, 0, time.UTC)
				if !shown.After(highest) {
					if got := firstMoment(shown, zone); got.After(at.Add(-10*time.Minute)) && highest.Equal(shown) {
						t.Errorf("%s: %v comes at %v, and it was shown before %v", zoneName, shown, got, at)
					}
					continue
				}
				for between := highest.Add(10 * time.Minute); !highest.IsZero() && !between.After(shown); between = between.Add(10 * time.Minute) {
					if got := firstMoment(between, zone); !got.Equal(at) {
						t.Errorf("%s: %v comes at %v, want %v", zoneName, between, got, at)
					}
				}
				highest = shown
			}
		}
	}
}

func TestATimeThatIsRareIsFound(t *testing.T) {
	c, err := ParseCron("0 0 29 2 */7") // a Sunday
	if err != nil {
		t.Fatal(err)
	}
	got := c.Next(time.Date(2032, 2, 29, 0, 0, 0, 0, time.UTC), time.UTC)
	if want := time.Date(2060, 2, 29, 0, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("%v, want %v", got, want)
	}
	for name, want := range map[string]string{"@yearly": "2032-01-01", "@monthly": "2031-03-01", "@daily": "2031-02-02", "@weekly": "2031-02-02", "@hourly": "2031-02-01"} {
		c, err := ParseCron(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Next(time.Date(2031, 2, 1, 0, 0, 0, 0, time.UTC), time.UTC).Format("2006-01-02"); got != want {
			t.Errorf("%s is on %s, want %s", name, got, want)
		}
	}
}
