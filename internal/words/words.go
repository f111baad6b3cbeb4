package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Ago says how far a time is from now, to the nearest second: "3 min ago", "in 2 h". A time
// more than two months away is a date, the zero time nothing.
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
		return Span(d) + " ago"
	}
}

const day = 24 * time.Hour

// Span says how long something takes, in the unit that suits it. From a second on it is
// rounded to the nearest second, so that what is a moment short of an hour is an hour.
func Span(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 2*day:
		return fmt.Sprintf("%d h", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days", int(d/day))
	}
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
