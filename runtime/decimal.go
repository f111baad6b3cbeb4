package runtime

import (
	"fmt"

	"github.com/busgen/busgen/internal/format"
)

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
