package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/runtime/admin"
)

// moment is a flag that is a point in time: 2026-03-14, 2026-03-14T12:30,
// RFC 3339, 03:00 for the last time that it was three o'clock (UTC), or how long
// ago: 90m, 2h, 7d, 1w.
type moment struct {
	time.Time
}

// momentForms are read as UTC unless they say otherwise.
var momentForms = []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05", time.RFC3339}

// clockForms are those of a time of day.
var clockForms = []string{"15:04", "15:04:05"}

// Set implements [pflag.Value].
func (m *moment) Set(text string) error {
	for _, form := range momentForms {
		if t, err := time.Parse(form, text); err == nil {
			m.Time = t
			return nil
		}
	}
	now := time.Now().UTC()
	for _, form := range clockForms {
		if t, err := time.Parse(form, text); err == nil {
			m.Time = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
			if m.Time.After(now) {
				m.Time = m.Time.AddDate(0, 0, -1)
			}
			return nil
		}
	}
	ago, err := parseSpan(text)
	if err != nil {
		return fmt.Errorf("want a time, as in 2026-03-14, 2026-03-14T12:30 or 03:00 (UTC), or how long ago, as in 90m, 2h, 7d or 1w")
	}
	m.Time = now.Add(-ago)
	return nil
}

// String implements [pflag.Value].
func (m *moment) String() string { return "" }

// Type implements [pflag.Value].
func (m *moment) Type() string { return "time" }

// span is a flag that is a length of time: what time.ParseDuration takes, days
// or weeks: 7d, 1w.
type span struct {
	time.Duration
}

// Set implements [pflag.Value].
func (s *span) Set(text string) (err error) {
	s.Duration, err = parseSpan(text)
	return err
}

// shown is how a person would write it: 5m, and not 5m0s.
func (s *span) shown() string {
	text := s.Duration.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// String implements [pflag.Value].
func (s *span) String() string { return "" }

// Type implements [pflag.Value].
func (s *span) Type() string { return "duration" }

// longUnits are those that time.ParseDuration does not know.
var longUnits = map[byte]time.Duration{'d': 24 * time.Hour, 'w': 7 * 24 * time.Hour}

func parseSpan(text string) (time.Duration, error) {
	if text != "" {
		if unit := longUnits[text[len(text)-1]]; unit > 0 {
			if n, err := strconv.Atoi(text[:len(text)-1]); err == nil && n >= 0 && n < 10_000 {
				return time.Duration(n) * unit, nil
			}
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("want a length of time, as in 90m, 2h, 7d or 1w")
	}
	return d, nil
}

// number is a flag that is a whole number. It is decimal: to pflag's own, 010 is 8.
type number int

// Set implements [pflag.Value].
func (n *number) Set(text string) error {
	i, err := strconv.Atoi(text)
	*n = number(i)
	return err
}

// String implements [pflag.Value].
func (n *number) String() string { return strconv.Itoa(int(*n)) }

// Type implements [pflag.Value].
func (n *number) Type() string { return "int" }

// timeFlags are --since and --until; what says of what.
func timeFlags(cmd *cobra.Command, since, until *moment, what string) {
	cmd.Flags().Var(since, "since", what+" at this `time` or later: 2026-03-14T12:30, 03:00, or 2h for two hours ago")
	cmd.Flags().Var(until, "until", what+" before this `time`")
}

// someLimit refuses a page with nothing on it.
func someLimit(limit int) error {
	if limit < 1 {
		return fmt.Errorf("--limit is %d: it must be at least 1", limit)
	}
	return nil
}

// pageFlags choose a page of a list.
func pageFlags(cmd *cobra.Command, limit *int, after *string) {
	*limit = admin.DefaultLimit
	cmd.Flags().VarP((*number)(limit), "limit", "n", "at most so `many`")
	cmd.Flags().StringVar(after, "after", "", "go on behind the page that ended with this `mark`")
}
