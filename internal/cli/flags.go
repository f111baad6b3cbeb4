package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/busgen/busgen/internal/words"
)

// Moment is the value of a flag for a point in time: 2026-03-14,
// 2026-03-14T12:30, RFC 3339, 03:00 for the latest three o'clock (UTC), or how
// long ago: 90m, 2h, 7d, 1w.
type Moment time.Time

// momentForms are forms of a date and a time, in UTC unless they have a zone.
var momentForms = []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05", time.RFC3339}

// clockForms are forms of a time of day.
var clockForms = []string{"15:04", "15:04:05"}

// Set implements [pflag.Value].
func (m *Moment) Set(text string) error {
	for _, form := range momentForms {
		if t, err := time.Parse(form, text); err == nil {
			*m = Moment(t)
			return nil
		}
	}
	now := time.Now().UTC()
	for _, form := range clockForms {
		if t, err := time.Parse(form, text); err == nil {
			t = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
			if t.After(now) {
				t = t.AddDate(0, 0, -1)
			}
			*m = Moment(t)
			return nil
		}
	}
	ago, err := words.ParseSpan(text)
	if err != nil {
		return fmt.Errorf("want a time, as in 2026-03-14, 2026-03-14T12:30 or 03:00 (UTC), or how long ago, as in 90m, 2h, 7d or 1w")
	}
	*m = Moment(now.Add(-ago))
	return nil
}

// String implements [pflag.Value].
func (m *Moment) String() string { return "" }

// Type implements [pflag.Value].
func (m *Moment) Type() string { return "time" }

// Span is the value of a flag for a length of time: what time.ParseDuration
// takes, or days or weeks, as in 7d and 1w.
type Span time.Duration

// Set implements [pflag.Value].
func (s *Span) Set(text string) error {
	d, err := words.ParseSpan(text)
	*s = Span(d)
	return err
}

// String implements [pflag.Value].
func (s *Span) String() string { return "" }

// Type implements [pflag.Value].
func (s *Span) Type() string { return "duration" }

// Number is the value of a flag for a whole number. It is decimal; pflag's own
// flags read 010 as 8.
type Number int

// Set implements [pflag.Value].
func (n *Number) Set(text string) error {
	i, err := strconv.Atoi(text)
	*n = Number(i)
	return err
}

// String implements [pflag.Value].
func (n *Number) String() string { return strconv.Itoa(int(*n)) }

// Type implements [pflag.Value].
func (n *Number) Type() string { return "int" }
