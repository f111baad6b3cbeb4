package catalog

import (
	"math/big"
	"regexp"
	"strconv"
	"time"

	"github.com/busgen/busgen/internal/format"
)

// Bound is a limit of a number, a decimal or a duration, or a value to compare with one.
type Bound struct {
	Text     string        // in its JSON form, without quotes: 1, 0.5, 1h30m0s
	Duration time.Duration // the value of a duration; 0 for others
	kind     Kind
}

// NewBound parses a valid value of a kind. text is its JSON form, without quotes.
func NewBound(kind Kind, text string) Bound {
	b := Bound{Text: text, kind: kind}
	if kind == Duration {
		b.Duration, _ = time.ParseDuration(text)
	}
	return b
}

// Compare orders the exact values of bounds of any kinds, as [cmp.Compare] does. The value of a float64 is
// what generated code compares with: the float64 closest to the text. That of a duration is its nanoseconds.
func (b Bound) Compare(other Bound) int {
	return format.CompareDecimals(b.decimal(), other.decimal())
}

// decimal returns the exact value.
func (b Bound) decimal() string {
	switch b.kind {
	case Duration:
		return strconv.FormatInt(int64(b.Duration), 10)
	case Float64:
		const everyDigit = 1074 // the smallest float64 has this many digits behind the point
		value, _ := strconv.ParseFloat(b.Text, 64)
		return strconv.FormatFloat(value, 'f', everyDigit, 64)
	}
	return b.Text
}

// Int returns the value of a whole number, and whether it is one.
func (b Bound) Int() (*big.Int, bool) { return new(big.Int).SetString(b.Text, 10) }

// Equal reports whether two bounds are written the same way.
func (b Bound) Equal(other Bound) bool { return b.kind == other.kind && b.Text == other.Text }

// Pattern is a regular expression (RE2).
type Pattern struct {
	Text   string
	Regexp *regexp.Regexp // nil if Text is not one; only a damaged record or schema has such patterns
}

// NewPattern compiles a regular expression.
func NewPattern(text string) (Pattern, error) {
	compiled, err := regexp.Compile(text)
	return Pattern{text, compiled}, err
}

// Equal reports whether two patterns are written the same way.
func (p Pattern) Equal(other Pattern) bool { return p.Text == other.Text }
