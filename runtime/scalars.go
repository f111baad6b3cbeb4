package runtime

import (
	"fmt"
	"time"

	"github.com/busgen/busgen/internal/format"
)

// Date is a calendar day without a time or a zone: the type of `date` fields.
// It travels as the text 2006-01-02 (RFC 3339, full-date).
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf returns the day of t in t's own location.
func DateOf(t time.Time) Date {
	year, month, day := t.Date()
	return Date{Year: year, Month: month, Day: day}
}

// ParseDate reads 2006-01-02.
func ParseDate(text string) (Date, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return Date{}, fmt.Errorf("date %q is not a day of the form 2006-01-02", text)
	}
	return DateOf(t), nil
}

// Time returns the moment the day begins in loc.
func (d Date) Time(loc *time.Location) time.Time {
	return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, loc)
}

// Validate tells whether the day exists, in the years 0 to 9999 that the
// text form can hold. The zero Date does not.
func (d Date) Validate() error {
	if d.Year < 0 || d.Year > 9999 || DateOf(d.Time(time.UTC)) != d {
		return fmt.Errorf("%04d-%02d-%02d is not a day of the calendar", d.Year, int(d.Month), d.Day)
	}
	return nil
}

// String formats the day as 2006-01-02.
func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, int(d.Month), d.Day) }

// AppendText implements [encoding.TextAppender]; a day that does not exist is
// an error.
func (d Date) AppendText(b []byte) ([]byte, error) {
	if err := d.Validate(); err != nil {
		return b, err
	}
	return d.Time(time.UTC).AppendFormat(b, time.DateOnly), nil
}

// MarshalText implements [encoding.TextMarshaler]; a day that does not exist
// is an error.
func (d Date) MarshalText() ([]byte, error) { return d.AppendText(nil) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Date) UnmarshalText(text []byte) error {
	parsed, err := ParseDate(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// Duration is the type of `duration` fields. It travels with its unit, as the
// text that [time.Duration.String] prints (1h30m0s), never as a bare number.
type Duration time.Duration

// String formats the duration as [time.Duration.String] does.
func (d Duration) String() string { return time.Duration(d).String() }

// AppendText implements [encoding.TextAppender].
func (d Duration) AppendText(b []byte) ([]byte, error) { return append(b, d.String()...), nil }

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. It takes what
// [time.ParseDuration] takes.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("duration %q needs a number and a unit, such as 1h30m or 250ms", text)
	}
	*d = Duration(parsed)
	return nil
}

// Decimal is an exact decimal number in its written form: the type of `decimal`
// fields. It is an optional -, digits without leading zeros, and possibly a point
// with digits behind it, 1000 characters at most: "-12.50". It travels as that
// text, so no digit is lost on the way. The zero Decimal is not a number.
//
// It does no arithmetic: hand the text to a package that does. Two that are equal
// with == have the same digits; Compare compares their values.
type Decimal string

// ParseDecimal returns text as a Decimal, or an error if it is not one.
func ParseDecimal(text string) (Decimal, error) {
	return Decimal(text), Decimal(text).Validate()
}

// Validate tells whether d is a decimal number.
func (d Decimal) Validate() error {
	if !format.IsDecimal(string(d)) {
		return fmt.Errorf("%.60q is not a decimal number, such as -12.50", string(d))
	}
	return nil
}

// Compare returns -1 if d is less than other, 0 if both have the same value, as 1.5
// and 1.50 have, and 1 if d is greater. Both must be valid.
func (d Decimal) Compare(other Decimal) int {
	return format.CompareDecimals(string(d), string(other))
}

// String returns the text of d.
func (d Decimal) String() string { return string(d) }
