package runtime

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/busgen/busgen/internal/format"
)

// What follows checks the constraints of a catalogue. Generated Validate methods
// call it; a path is that of the field.

// AtLeast checks that value is not below least.
func AtLeast[T cmp.Ordered](p *Problems, path string, value, least T) {
	if value < least {
		p.add(path, fmt.Sprintf("is %v; it must be at least %v", value, least))
	}
}

// AtMost checks that value is not above most.
func AtMost[T cmp.Ordered](p *Problems, path string, value, most T) {
	if value > most {
		p.add(path, fmt.Sprintf("is %v; it must be at most %v", value, most))
	}
}

// DecimalAtLeast is AtLeast for decimals. One that is not valid is left to
// Nested.
func (p *Problems) DecimalAtLeast(path string, value, least Decimal) {
	if format.IsDecimal(string(value)) && value.Compare(least) < 0 {
		p.add(path, fmt.Sprintf("is %s; it must be at least %s", value, least))
	}
}

// DecimalAtMost is AtMost for decimals. One that is not valid is left to Nested.
func (p *Problems) DecimalAtMost(path string, value, most Decimal) {
	if format.IsDecimal(string(value)) && value.Compare(most) > 0 {
		p.add(path, fmt.Sprintf("is %s; it must be at most %s", value, most))
	}
}

// MinLength checks that s has at least least characters.
func (p *Problems) MinLength(path, s string, least int) {
	if n := utf8.RuneCountInString(s); n < least {
		p.tooFew(path, n, "character", least)
	}
}

// MaxLength checks that s has at most most characters.
func (p *Problems) MaxLength(path, s string, most int) {
	if n := utf8.RuneCountInString(s); n > most {
		p.tooMany(path, n, "character", most)
	}
}

// MinBytes checks that b has at least least bytes.
func (p *Problems) MinBytes(path string, b []byte, least int) {
	if len(b) < least {
		p.tooFew(path, len(b), "byte", least)
	}
}

// MaxBytes checks that b has at most most bytes.
func (p *Problems) MaxBytes(path string, b []byte, most int) {
	if len(b) > most {
		p.tooMany(path, len(b), "byte", most)
	}
}

// MinItems checks that a list or map of n items has at least least.
func (p *Problems) MinItems(path string, n, least int) {
	if n < least {
		p.tooFew(path, n, "item", least)
	}
}

// MaxItems checks that a list or map of n items has at most most.
func (p *Problems) MaxItems(path string, n, most int) {
	if n > most {
		p.tooMany(path, n, "item", most)
	}
}

// Pattern checks that some part of s matches pattern.
func (p *Problems) Pattern(path, s string, pattern *regexp.Regexp) {
	if !pattern.MatchString(s) {
		p.add(path, fmt.Sprintf("%.60q does not match %s", s, pattern))
	}
}

// Format checks that s is of the named format: one of those that the catalogue
// language has.
func (p *Problems) Format(path, s, name string) {
	if noun, ok := format.Check(name, s); !ok {
		p.add(path, fmt.Sprintf("%.60q is not %s", s, noun))
	}
}

// Unique checks that no two items of list are equal.
func Unique[T comparable](p *Problems, path string, list []T) {
	if len(list) < 2 {
		return
	}
	first := make(map[T]int, len(list))
	for i, item := range list {
		if j, seen := first[item]; seen {
			p.add(itemPath(path, i), "is the same as "+itemPath(path, j))
			continue
		}
		first[item] = i
	}
}

func (p *Problems) tooFew(path string, n int, unit string, least int) {
	p.add(path, fmt.Sprintf("has %s; it needs at least %d", count(n, unit), least))
}

func (p *Problems) tooMany(path string, n int, unit string, most int) {
	p.add(path, fmt.Sprintf("has %s; it may have at most %d", count(n, unit), most))
}

func count(n int, unit string) string {
	if n != 1 {
		unit += "s"
	}
	return strconv.Itoa(n) + " " + unit
}
