package catalog

import (
	"cmp"
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
	float    float64 // the value, rounded
}

// NewBound parses a valid value of a kind. text is its JSON form, without quotes.
func NewBound(kind Kind, text string) Bound {
	b := Bound{Text: text, kind: kind}
	if kind == Duration {
		b.Duration, _ = time.ParseDuration(text)
		b.float = float64(b.Duration)
	} else {
		b.float, _ = strconv.ParseFloat(text, 64)
	}
	return b
}

// Compare orders bounds, as [cmp.Compare] does. It is exact unless one of them is a float64, or only one
// of them is a duration.
func (b Bound) Compare(other Bound) int {
	switch {
	case b.kind == Duration && other.kind == Duration:
		return cmp.Compare(b.Duration, other.Duration)
	case b.kind == Float64 || other.kind == Float64 || (b.kind == Duration) != (other.kind == Duration):
		return cmp.Compare(b.float, other.float)
	}
	return format.CompareDecimals(b.Text, other.Text)
}

// Int returns the value of a whole number, and whether it is one.
func (b Bound) Int() (*big.Int, bool) { return new(big.Int).SetString(b.Text, 10) }

// Equal reports whether two bounds are written the same way.
func (b Bound) Equal(other Bound) bool { return b.kind == other.kind && b.Text == other.Text }

// Pattern is a regular expression (RE2).
type Pattern struct {
	Text   string
	Regexp *regexp.Regexp
}

// NewPattern compiles a regular expression.
func NewPattern(text string) (Pattern, error) {
	compiled, err := regexp.Compile(text)
	return Pattern{text, compiled}, err
}

// Equal reports whether two patterns are written the same way.
func (p Pattern) Equal(other Pattern) bool { return p.Text == other.Text }
