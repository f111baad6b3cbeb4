package terminal

import (
	"time"

	"github.com/busgen/busgen/internal/words"
)

// Ago is [words.Ago].
func Ago(t, now time.Time) string { return words.Ago(t, now) }

// Span is [words.Span].
func Span(d time.Duration) string { return words.Span(d) }

// Time is [words.Time].
func Time(t, now time.Time) string { return words.Time(t, now) }

// Bytes is [words.Bytes].
func Bytes(n int64) string { return words.Bytes(n) }

// Number is [words.Number].
func Number(n int) string { return words.Number(n) }

// Rate is [words.Rate].
func Rate(perSecond float64) string { return words.Rate(perSecond) }

// Counted is [words.Counted].
func Counted(n int, thing string) string { return words.Counted(n, thing) }

// Clean is [words.Clean].
func Clean(text string) string { return words.Clean(text) }

// CleanLines is [words.CleanLines].
func CleanLines(text string) string { return words.CleanLines(text) }
