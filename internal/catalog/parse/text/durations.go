package text

import (
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
)

// Unreadable stands for a duration that is written but wrong. It is never in a finished Catalogue; it only keeps one
// mistake from causing findings about values that would have been inherited without it.
const Unreadable = time.Duration(math.MinInt64)

// Span has the limits of a duration.
type Span struct {
	Least, Most time.Duration
	OrOff       bool // the word off is allowed too, and means 0
}

// String says what is allowed.
func (s Span) String() string {
	return "between " + catalog.Short(s.Least) + " and " + catalog.Short(s.Most) + s.alternative()
}

func (s Span) alternative() string {
	if s.OrOff {
		return ", or " + catalog.Off
	}
	return ""
}

// Duration reads a duration. It is not written without one, and [Unreadable] after a finding.
func (r *Reader) Duration(o Object, key string, within Span) catalog.Value[time.Duration] {
	e, ok := o.Entries[key]
	if !ok {
		return catalog.Value[time.Duration]{}
	}
	n := e.Value
	if within.OrOff && IsOff(e) {
		return catalog.Value[time.Duration]{V: 0, Pos: r.Position(n)}
	}
	broken := catalog.Value[time.Duration]{V: Unreadable, Pos: r.Position(n)}
	if IsNumber(n) {
		r.Report(r.Place(n), rules.BadDuration, "%s of %s has no unit", key, o.What).
			Hint = "write " + n.Value + "s for seconds or " + n.Value + "ms for milliseconds"
		return broken
	}
	text, ok := r.Text(n, key+" of "+o.What)
	if !ok {
		return broken
	}
	d, ok := ParseDuration(text.V)
	switch {
	case !ok:
		r.Report(r.Place(n), rules.BadDuration, "%s of %s is %q, which is not a duration", key, o.What, text.V).
			Hint = "write a number with its unit, such as 500ms, 30s, 5m, 1h30m or 7d" + within.alternative()
	case d < within.Least || d > within.Most:
		r.Report(r.Place(n), rules.OutOfRange, "%s of %s is %s", key, o.What, text.V).
			Hint = "it must be " + within.String()
	default:
		return catalog.Value[time.Duration]{V: d, Pos: text.Pos}
	}
	return broken
}

// durationSyntax matches Go's notation for durations, with days in front of it.
var durationSyntax = regexp.MustCompile(`^([-+]?)(?:(\d+)d)?((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))*)$`)

// ParseDuration reads 1h30m, 7d or 1d12h. A day has 24 hours. A duration that
// is too long for Go becomes one above every limit, because it is well written.
func ParseDuration(s string) (d time.Duration, ok bool) {
	const day, tooLong = 24 * time.Hour, 10_000 * 24 * time.Hour
	m := durationSyntax.FindStringSubmatch(s)
	if m == nil || m[2]+m[3] == "" {
		return 0, false
	}
	days, daysErr := strconv.ParseUint("0"+m[2], 10, 16) // the 0 stands for none
	d, err := time.ParseDuration("0s" + m[3])
	if daysErr != nil || err != nil {
		d = tooLong
	} else {
		d = time.Duration(days)*day + min(d, tooLong)
	}
	if m[1] == "-" {
		d = -d
	}
	return d, true
}

// DurationText writes a duration of a payload as Go does, which has no days. It returns what is no duration as it is.
func DurationText(s string) string {
	m := durationSyntax.FindStringSubmatch(s)
	if m == nil || m[2] == "" {
		if d, err := time.ParseDuration(s); err == nil {
			return d.String()
		}
		return s
	}
	days, err := strconv.ParseUint(m[2], 10, 16)
	rest, restErr := time.ParseDuration("0s" + m[3])
	const most = math.MaxInt64 / int64(24*time.Hour)
	if err != nil || restErr != nil || int64(days) >= most || rest > 24*time.Hour*time.Duration(most-int64(days)) {
		return s
	}
	d := time.Duration(days)*24*time.Hour + rest
	if m[1] == "-" {
		d = -d
	}
	return d.String()
}
