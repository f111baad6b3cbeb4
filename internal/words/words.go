package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Ago says how far a time is from now, as [Span] does: "in 2 h 59 min", "3 min ago". A past time has no
// seconds from a minute on. A time more than two months away is a date, the zero time nothing.
func Ago(t, now time.Time) string {
	switch d := now.Sub(t).Round(time.Second); {
	case t.IsZero():
		return ""
	case d.Abs() >= 60*day:
		return t.UTC().Format(time.DateOnly)
	case d == 0:
		return "now"
	case d < 0:
		return "in " + Span(-d)
	default:
		return span(d, time.Minute) + " ago"
	}
}

const day = 24 * time.Hour

// Span says how long something takes, in the unit that suits it, rounded to the nearest. Fewer
// than ten of a unit have the next smaller one beside them: 2 h 59 min, 45 min, 1 min 30 s.
func Span(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return span(d.Round(time.Second), time.Second)
}

// scale has the units of a Span, and how long a time has to be for the next one.
var scale = []struct {
	unit  time.Duration
	name  string
	below time.Duration
}{{time.Second, "s", time.Minute}, {time.Minute, "min", time.Hour}, {time.Hour, "h", 2 * day}, {day, "days", math.MaxInt64}}

// span is Span for whole seconds, with no second unit that is less than the finest one.
func span(d, finest time.Duration) string {
	for i, s := range scale {
		step := s.unit
		if i > 0 && d < 10*s.unit && scale[i-1].unit >= finest {
			step = scale[i-1].unit
		}
		rounded := d.Round(step)
		if rounded >= s.below {
			continue
		}
		text := fmt.Sprintf("%d %s", rounded/s.unit, s.name)
		if rest := rounded % s.unit; rest > 0 {
			text += fmt.Sprintf(" %d %s", rest/step, scale[i-1].name)
		}
		return text
	}
	return "" // the last unit has no end
}

// Time is a point in time with its distance from now: 2024-02-29 12:30:05 UTC
// (3 min ago). The zero time is nothing.
func Time(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	text := t.UTC().Format("2006-01-02 15:04:05 UTC")
	if ago := Ago(t, now); !strings.HasPrefix(text, ago) {
		text += " (" + ago + ")"
	}
	return text
}

// Bytes says how much space something takes: 512 B, 1.4 MiB.
func Bytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/1024, 0
	for size >= 1023.95 && unit < len(units)-1 {
		size /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}

var units = []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// Number writes a number with commas between its thousands: 12,345.
func Number(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return sign + b.String()
}

// Rate writes how often something happens, with two digits that count: 0.25, 3.4,
// 12, 1,204.
func Rate(perSecond float64) string {
	switch {
	case perSecond == 0:
		return "0"
	case perSecond < 0.01:
		return "<0.01"
	case perSecond < 0.995:
		return strconv.FormatFloat(perSecond, 'f', 2, 64)
	case perSecond < 9.95:
		return strings.TrimSuffix(strconv.FormatFloat(perSecond, 'f', 1, 64), ".0")
	}
	return Number(int(math.Round(perSecond)))
}

// Counted is a number of things: 1 letter, 2,000 letters.
func Counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return Number(n) + " " + thing
}
