package checks_test

import (
	"math"
	"regexp"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/gen/checks"
)

func TestConstraintsSayWhatIsWrongAndWhatIsAsked(t *testing.T) {
	digits := regexp.MustCompile(`^[0-9]+$`)
	for want, check := range map[string]func(p *checks.Problems){
		"f: is 0; it must be at least 1":                       func(p *checks.Problems) { checks.AtLeast(p, "f", 0, 1) },
		"f: is -0.5; it must be at least 0.25":                 func(p *checks.Problems) { checks.AtLeast(p, "f", -0.5, 0.25) },
		"f: is 1m1s; it must be at most 1m0s":                  func(p *checks.Problems) { checks.AtMost(p, "f", runtime.Duration(61*time.Second), 60e9) },
		"f: is -2; it must be at least -1":                     func(p *checks.Problems) { p.IntAtLeast("f", -2, -1) },
		"f: is 3; it must be at most 2":                        func(p *checks.Problems) { p.IntAtMost("f", 3, 2) },
		"f: is 4; it must be at least 5":                       func(p *checks.Problems) { p.UintAtLeast("f", 4, 5) },
		"f: is 18446744073709551615; it must be at most 5":     func(p *checks.Problems) { p.UintAtMost("f", math.MaxUint64, 5) },
		"f: is 1e-09; it must be at least 0.5":                 func(p *checks.Problems) { p.FloatAtLeast("f", 1e-9, 0.5) },
		"f: is +Inf; it must be at most 0.5":                   func(p *checks.Problems) { p.FloatAtMost("f", math.Inf(1), 0.5) },
		"f: is 59s; it must be at least 1m0s":                  func(p *checks.Problems) { p.DurationAtLeast("f", 59*time.Second, time.Minute) },
		"f: is 1h0m0s; it must be at most 1m0s":                func(p *checks.Problems) { p.DurationAtMost("f", time.Hour, time.Minute) },
		"f: is 0.09; it must be at least 0.1":                  func(p *checks.Problems) { p.DecimalAtLeast("f", "0.09", "0.1") },
		"f: is 0.11; it must be at most 0.1":                   func(p *checks.Problems) { p.DecimalAtMost("f", "0.11", "0.1") },
		"f[1]: is the same as f[0]":                            func(p *checks.Problems) { p.UniqueStrings("f", []string{"a", "a"}) },
		"f: has 1 character; it needs at least 2":              func(p *checks.Problems) { p.MinLength("f", "ß", 2) },
		"f: has 3 characters; it may have at most 2":           func(p *checks.Problems) { p.MaxLength("f", "äöü", 2) },
		"f: has 0 bytes; it needs at least 1":                  func(p *checks.Problems) { p.MinBytes("f", nil, 1) },
		"f: has 1 byte; it may have at most 0":                 func(p *checks.Problems) { p.MaxBytes("f", []byte("x"), 0) },
		"f: has 1 item; it needs at least 2":                   func(p *checks.Problems) { p.MinItems("f", 1, 2) },
		"f: has 3 items; it may have at most 2":                func(p *checks.Problems) { p.MaxItems("f", 3, 2) },
		`f: "12a" does not match ^[0-9]+$`:                     func(p *checks.Problems) { p.Pattern("f", "12a", digits) },
		`f: "ada" is not an email address`:                     func(p *checks.Problems) { p.Format("f", "ada", "email") },
		"f[2]: is the same as f[0]; f[3]: is the same as f[0]": func(p *checks.Problems) { checks.Unique(p, "f", []string{"a", "b", "a", "a"}) },
	} {
		var p checks.Problems
		check(&p)
		if err := p.Err(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestAValidValueHasNoProblemsAndAllocatesNothing(t *testing.T) {
	digits := regexp.MustCompile(`^[0-9]+$`)
	check := func() error {
		var p checks.Problems
		checks.AtLeast(&p, "f", 1, 1)
		checks.AtMost(&p, "f", 1, 1)
		checks.AtMost(&p, "f", math.NaN(), 1) // which Finite reports
		p.IntAtLeast("f", -1, -1)
		p.IntAtMost("f", -1, -1)
		p.UintAtLeast("f", 1, 1)
		p.UintAtMost("f", 1, 1)
		p.FloatAtLeast("f", 0.5, 0.5)
		p.FloatAtMost("f", 0.5, 0.5)
		p.FloatAtMost("f", math.NaN(), 1)
		p.DurationAtLeast("f", 1, 1)
		p.DurationAtMost("f", 1, 1)
		p.DecimalAtLeast("f", "1.0", "1")
		p.DecimalAtMost("f", "1", "1.00")
		p.UniqueStrings("f", []string{"a"})
		p.DecimalAtLeast("f", "not a number", "1") // which Nested reports
		p.DecimalAtMost("f", "not a number", "1")
		p.MinLength("f", "ß", 1)
		p.MaxLength("f", "ß", 1)
		p.MinBytes("f", []byte("x"), 1)
		p.MaxBytes("f", []byte("x"), 1)
		p.MinItems("f", 1, 1)
		p.MaxItems("f", 1, 1)
		p.Pattern("f", "12", digits)
		checks.Unique(&p, "f", []string{"a"})
		return p.Err()
	}
	if err := check(); err != nil {
		t.Error(err)
	}
	if n := testing.AllocsPerRun(100, func() { check() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	var p checks.Problems
	checks.Unique(&p, "f", []int{1, 2, 3})
	p.Format("f", "ada@example.org", "email")
	if err := p.Err(); err != nil {
		t.Error(err)
	}
}

func TestValuesOutsideOfEnumsAndUnionsAreDescribed(t *testing.T) {
	type card struct{}
	for want, err := range map[string]error{
		"7 is not one of 1 (low), 2 (high)":                      checks.NotANumberOf(7, "1 (low)", "2 (high)"),
		"is not set; choose one of Card, Cash":                   checks.NotAVariant(nil, "Card", "Cash"),
		"is a *checks_test.card, which is not one of Card, Cash": checks.NotAVariant(&card{}, "Card", "Cash"),
	} {
		if err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
