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
// RFC 3339, or how long ago: 90m, 2h, 7d.
type moment struct {
	time.Time
}

// momentForms are read as UTC unless they say otherwise.
var momentForms = []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05", time.RFC3339}

// Set implements [pflag.Value].
func (m *moment) Set(text string) error {
	for _, form := range momentForms {
		if t, err := time.Parse(form, text); err == nil {
			m.Time = t
			return nil
		}
	}
	ago, err := parseSpan(text)
	if err != nil {
		return fmt.Errorf("want a time, as in 2026-03-14 or 2026-03-14T12:30 (UTC), or how long ago, as in 90m, 2h or 7d")
	}
	m.Time = time.Now().Add(-ago)
	return nil
}

// String implements [pflag.Value].
func (m *moment) String() string { return "" }

// Type implements [pflag.Value].
func (m *moment) Type() string { return "time" }

// span is a flag that is a length of time: what time.ParseDuration takes, or
// days: 7d.
type span struct {
	time.Duration
}

// Set implements [pflag.Value].
func (s *span) Set(text string) (err error) {
	s.Duration, err = parseSpan(text)
	return err
}

// String implements [pflag.Value].
func (s *span) String() string { return "" }

// Type implements [pflag.Value].
func (s *span) Type() string { return "duration" }

func parseSpan(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("want a length of time, as in 90m, 2h or 7d")
	}
	return d, nil
}

// pageFlags choose a page of a list.
func pageFlags(cmd *cobra.Command, limit *int, after *string) {
	cmd.Flags().IntVarP(limit, "limit", "n", admin.DefaultLimit, "at most so `many`")
	cmd.Flags().StringVar(after, "after", "", "go on behind the page that ended with this `mark`")
}
