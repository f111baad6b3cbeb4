package checks

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/busgen/busgen/internal/format"
)

// IntAtLeast checks that value is not below least.
//
//go:noinline
func (p *Problems) IntAtLeast(path string, value, least int64) { AtLeast(p, path, value, least) }

// IntAtMost checks that value is not above most.
//
//go:noinline
func (p *Problems) IntAtMost(path string, value, most int64) { AtMost(p, path, value, most) }

// UintAtLeast checks that value is not below least.
//
//go:noinline
func (p *Problems) UintAtLeast(path string, value, least uint64) { AtLeast(p, path, value, least) }

// UintAtMost checks that value is not above most.
//
//go:noinline
func (p *Problems) UintAtMost(path string, value, most uint64) { AtMost(p, path, value, most) }

// FloatAtLeast checks that value is not below least.
//
//go:noinline
func (p *Problems) FloatAtLeast(path string, value, least float64) { AtLeast(p, path, value, least) }

// FloatAtMost checks that value is not above most.
//
//go:noinline
func (p *Problems) FloatAtMost(path string, value, most float64) { AtMost(p, path, value, most) }

// DurationAtLeast checks that value is not below least.
//
//go:noinline
func (p *Problems) DurationAtLeast(path string, value, least time.Duration) {
	AtLeast(p, path, value, least)
}

// DurationAtMost checks that value is not above most.
//
//go:noinline
func (p *Problems) DurationAtMost(path string, value, most time.Duration) {
	AtMost(p, path, value, most)
}

// AtLeast checks that value is not below least. The methods of [Problems] do that for generated code.
func AtLeast[T cmp.Ordered](p *Problems, path string, value, least T) {
	if value < least {
		p.bound(path, value, "least", least)
	}
}

// AtMost checks that value is not above most. The methods of [Problems] do that for generated code.
func AtMost[T cmp.Ordered](p *Problems, path string, value, most T) {
	if value > most {
		p.bound(path, value, "most", most)
	}
}

//go:noinline
func (p *Problems) bound(path string, value any, which string, bound any) {
	p.Add(path, fmt.Sprintf("is %v; it must be at %s %v", value, which, bound))
}

// DecimalAtLeast is AtLeast for decimals. It ignores a value that is not a decimal
// number: the Validate method of the decimal reports it.
//
//go:noinline
func (p *Problems) DecimalAtLeast(path, value, least string) {
	p.decimal(path, value, "least", least, -1)
}

// DecimalAtMost is AtMost for decimals. It ignores a value that is not a decimal
// number, as DecimalAtLeast does.
//
//go:noinline
func (p *Problems) DecimalAtMost(path, value, most string) {
	p.decimal(path, value, "most", most, 1)
}

// decimal adds a problem if a decimal compares with its bound as wrong, -1 or 1, says.
func (p *Problems) decimal(path, value, which, bound string, wrong int) {
	if format.IsDecimal(value) && format.CompareDecimals(value, bound) == wrong {
		p.bound(path, value, which, bound)
	}
}

// MinLength checks that s has at least least characters.
//
//go:noinline
func (p *Problems) MinLength(path, s string, least int) {
	if n := utf8.RuneCountInString(s); n < least {
		p.tooFew(path, n, "character", least)
	}
}

// MaxLength checks that s has at most most characters.
//
//go:noinline
func (p *Problems) MaxLength(path, s string, most int) {
	if n := utf8.RuneCountInString(s); n > most {
		p.tooMany(path, n, "character", most)
	}
}

// MinBytes checks that b has at least least bytes.
//
//go:noinline
func (p *Problems) MinBytes(path string, b []byte, least int) {
	if len(b) < least {
		p.tooFew(path, len(b), "byte", least)
	}
}

// MaxBytes checks that b has at most most bytes.
//
//go:noinline
func (p *Problems) MaxBytes(path string, b []byte, most int) {
	if len(b) > most {
		p.tooMany(path, len(b), "byte", most)
	}
}

// MinItems checks that a list or map of n items has at least least.
//
//go:noinline
func (p *Problems) MinItems(path string, n, least int) {
	if n < least {
		p.tooFew(path, n, "item", least)
	}
}

// MaxItems checks that a list or map of n items has at most most.
//
//go:noinline
func (p *Problems) MaxItems(path string, n, most int) {
	if n > most {
		p.tooMany(path, n, "item", most)
	}
}

// Pattern checks that pattern matches s or a part of it.
//
//go:noinline
func (p *Problems) Pattern(path, s string, pattern *regexp.Regexp) {
	if !pattern.MatchString(s) {
		p.Add(path, fmt.Sprintf("%.60q does not match %s", s, pattern))
	}
}

// Format checks that s has the named format, which is a format of the catalogue
// language such as email.
//
//go:noinline
func (p *Problems) Format(path, s, name string) {
	if noun, ok := format.Check(name, s); !ok {
		p.Add(path, fmt.Sprintf("%.60q is not %s", s, noun))
	}
}

// UniqueStrings checks that no two items of list are equal.
//
//go:noinline
func (p *Problems) UniqueStrings(path string, list []string) { Unique(p, path, list) }

// Unique checks that no two items of list are equal.
func Unique[T comparable](p *Problems, path string, list []T) {
	if len(list) < 2 {
		return
	}
	first := make(map[T]int, len(list))
	for i, item := range list {
		if j, seen := first[item]; seen {
			p.Add(itemPath(path, i), "is the same as "+itemPath(path, j))
			continue
		}
		first[item] = i
	}
}

func (p *Problems) tooFew(path string, n int, unit string, least int) {
	p.Add(path, fmt.Sprintf("has %s; it needs at least %d", count(n, unit), least))
}

func (p *Problems) tooMany(path string, n int, unit string, most int) {
	p.Add(path, fmt.Sprintf("has %s; it may have at most %d", count(n, unit), most))
}

func count(n int, unit string) string {
	if n != 1 {
		unit += "s"
	}
	return strconv.Itoa(n) + " " + unit
}
