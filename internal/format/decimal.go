package format

import (
	"cmp"
	"strings"
)

// MaxDecimal is how many characters a decimal may have.
const MaxDecimal = 1000

// IsDecimal tells whether text is a decimal number: an optional -, digits without
// leading zeros, and possibly a point with digits behind it.
func IsDecimal(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	whole, fraction, point := strings.Cut(digits, ".")
	return len(text) <= MaxDecimal && areDigits(whole) && (whole == "0" || whole[0] != '0') && (!point || areDigits(fraction))
}

func areDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// CompareDecimals compares the values of two decimals: -1 if a is less than b, 0 if they are
// equal, as 1.5 and 1.50 are, and 1 if a is greater.
func CompareDecimals(a, b string) int {
	signA, wholeA, fractionA := parts(a)
	signB, wholeB, fractionB := parts(b)
	if signA != signB {
		return cmp.Compare(signA, signB)
	}
	return signA * cmp.Or(cmp.Compare(len(wholeA), len(wholeB)), cmp.Compare(wholeA, wholeB), cmp.Compare(fractionA, fractionB))
}

// parts returns the sign of a decimal, 0 for zero, and its digits without the
// zeros that do not count.
func parts(text string) (sign int, whole, fraction string) {
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ = strings.Cut(digits, ".")
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	switch {
	case whole == "" && fraction == "":
		return 0, "", ""
	case negative:
		return -1, whole, fraction
	}
	return 1, whole, fraction
}
