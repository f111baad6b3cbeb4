package schedule

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Cron is a cron expression: the minutes, hours, days of the month, months and days of
// the week that it matches, as sets of bits.
type Cron struct {
	minutes, hours, days, months, weekdays uint64
	// Cron has a rule of its own for days: if neither field begins with *, a day
	// matches that one of them matches; else both have to match.
	eitherDay bool
}

// everyHour is the set of hours of expressions that follow the time that passes instead
// of the hours that the clock shows.
const everyHour = 1<<24 - 1

// names are the expressions that have a name.
var names = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// field is one of the five fields.
type field struct {
	what     string
	min, max int
	words    []string // for min, min+1, …
}

var fields = [...]field{
	{what: "minute", max: 59},
	{what: "hour", max: 23},
	{what: "day of the month", min: 1, max: 31},
	{what: "month", min: 1, max: 12, words: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	{what: "day of the week", max: 7, words: strings.Fields("sun mon tue wed thu fri sat")}, // 7 is Sunday, too
}

// An Error says what is wrong with a cron expression.
type Error struct {
	Offset  int // in bytes, of the part that is wrong
	Message string
	Hint    string // what to write instead; empty without
}

// Error returns message and hint.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

// ParseCron reads an expression with five fields: minute, hour, day of the month, month
// and day of the week. A field is *, or a list of numbers and ranges, each with a step
// if wanted: 1-5, */15, 8-18/2. Months and days of the week have English names, jan and
// sun. The names @hourly, @daily (@midnight), @weekly, @monthly and @yearly (@annually)
// stand for expressions. The error is an *[Error].
func ParseCron(text string) (c Cron, err error) {
	if strings.HasPrefix(strings.TrimSpace(text), "@") {
		expression, known := names[strings.TrimSpace(text)]
		if !known {
			return c, unknownName(text)
		}
		text = expression
	}
	parts, offsets := split(text)
	if len(parts) != len(fields) {
		return c, wrongNumber(parts, offsets)
	}
	var sets [len(fields)]uint64
	for i, part := range parts {
		if sets[i], err = fields[i].parse(part, offsets[i]); err != nil {
			return c, err
		}
	}
	c = Cron{minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: sets[4]&(1<<7-1) | sets[4]>>7}
	c.eitherDay = parts[2][0] != '*' && parts[4][0] != '*'
	if !c.eitherDay && !c.hasDay() {
		return c, &Error{offsets[2], "no such day exists: the expression never matches", ""}
	}
	return c, nil
}

// split cuts an expression at its blanks.
func split(text string) (parts []string, offsets []int) {
	for at := 0; at < len(text); {
		if strings.IndexByte(" \t", text[at]) >= 0 {
			at++
			continue
		}
		end := strings.IndexAny(text[at:], " \t")
		if end < 0 {
			end = len(text) - at
		}
		parts, offsets = append(parts, text[at:at+end]), append(offsets, at)
		at += end
	}
	return parts, offsets
}

func unknownName(text string) error {
	e := &Error{Message: fmt.Sprintf("%.40q is no name of an expression", strings.TrimSpace(text)), Hint: "use @hourly, @daily, @weekly, @monthly or @yearly"}
	switch {
	case strings.Contains(text, "@every"):
		e.Hint = "use every instead of cron: every: 15m"
	case strings.Contains(text, "@reboot"):
		e.Hint = "publish the event when the program starts"
	}
	return e
}

func wrongNumber(parts []string, offsets []int) error {
	e := &Error{
		Message: fmt.Sprintf("a cron expression has five fields, and this one has %d", len(parts)),
		Hint:    "they are minute, hour, day of the month, month and day of the week, as in 0 3 * * *",
	}
	switch {
	case len(parts) > 0 && strings.Contains(parts[0], "TZ="):
		e.Hint = "the time zone is a key of its own, time_zone"
	case len(parts) == 6:
		e.Hint = "there is no field for seconds: " + e.Hint
	}
	if len(parts) > len(fields) && !strings.Contains(parts[0], "TZ=") {
		e.Offset = offsets[len(fields)]
	}
	return e
}

// parse returns the set of a field that begins at offset.
func (f *field) parse(text string, offset int) (set uint64, err error) {
	for item := range strings.SplitSeq(text, ",") {
		one, err := f.item(item, offset)
		if err != nil {
			return 0, err
		}
		set |= one
		offset += len(item) + 1
	}
	return set, nil
}

// item returns the set of *, 5, 1-5, or one of these with a step.
func (f *field) item(text string, offset int) (set uint64, err error) {
	span, stepText, stepped := strings.Cut(text, "/")
	low, high := f.min, f.max
	if f.max == 7 {
		high = 6
	}
	from, to, ranged := strings.Cut(span, "-")
	switch {
	case span == "*":
	case ranged:
		if low, err = f.number(from, offset); err != nil {
			return 0, err
		}
		if high, err = f.number(to, offset+len(from)+1); err != nil {
			return 0, err
		}
		if low > high {
			return 0, &Error{offset, fmt.Sprintf("the range %s of the %s ends before it begins", span, f.what), "write two ranges with a comma between them"}
		}
	default:
		if low, err = f.number(span, offset); err != nil {
			return 0, err
		}
		if high = low; stepped {
			return 0, &Error{offset, fmt.Sprintf("%s of the %s has a step and no range", text, f.what), fmt.Sprintf("write %s-%d/%s", span, f.max, stepText)}
		}
	}
	step := 1
	if stepped {
		if step, err = strconv.Atoi(stepText); err != nil || step < 1 || stepText[0] == '+' {
			return 0, &Error{offset + len(span) + 1, fmt.Sprintf("the step %.20q of the %s is not a number from 1 on", stepText, f.what), ""}
		}
	}
	for n := low; n <= high; n += min(step, 64) {
		set |= 1 << n
	}
	return set, nil
}

// number returns the value of a number or a name.
func (f *field) number(text string, offset int) (int, error) {
	for i, word := range f.words {
		if strings.EqualFold(word, text) {
			return f.min + i, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err == nil && n >= f.min && n <= f.max && text[0] != '+' && text[0] != '-' {
		return n, nil
	}
	e := &Error{Offset: offset, Message: fmt.Sprintf("%.20q is no %s", text, f.what), Hint: fmt.Sprintf("use numbers from %d to %d", f.min, f.max)}
	if len(f.words) > 0 {
		e.Hint += fmt.Sprintf(", or names from %s to %s", f.words[0], f.words[len(f.words)-1])
	}
	switch {
	case text == "?":
		e.Hint = "write * for any"
	case strings.ContainsAny(text, "LW#") && (f.what == "day of the month" || f.what == "day of the week"):
		e.Hint += "; L, W and # are not known"
	}
	return 0, e
}

// hasDay reports whether some month has a day that matches.
func (c Cron) hasDay() bool {
	for month, days := range [...]int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31} {
		if c.months>>(month+1)&1 == 1 && bits.TrailingZeros64(c.days) <= days {
			return true
		}
	}
	return false
}
