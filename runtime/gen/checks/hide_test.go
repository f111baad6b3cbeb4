package checks_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/gen/checks"
)

func TestTheProblemsOfASensitiveFieldDoNotQuoteItsValue(t *testing.T) {
	for want, check := range map[string]func(p *checks.Problems){
		"f: must be at least 100":                  func(p *checks.Problems) { checks.AtLeast(p, "f", 73, 100) },
		"f: must be at most 1":                     func(p *checks.Problems) { p.DecimalAtMost("f", string(runtime.Decimal("73")), "1") },
		"f: has 2 characters; it needs at least 3": func(p *checks.Problems) { p.MinLength("f", "73", 3) },
		"f: does not match ^[a-z]+$":               func(p *checks.Problems) { p.Pattern("f", `73" does not match x`, regexp.MustCompile("^[a-z]+$")) },
		"f: is not an email address":               func(p *checks.Problems) { p.Format("f", "73", "email") },
		"f: is not one of a, b":                    func(p *checks.Problems) { p.Nested("f", checks.NotInEnum("73", "a", "b")) },
		"f.g: is not one of a, b": func(p *checks.Problems) {
			p.Nested("f", &checks.ValidationError{Problems: []checks.Problem{{Path: "g", Message: `"73" is not one of a, b`}}})
		},
		"f[2]: is not valid UTF-8":      func(p *checks.Problems) { p.TextItem("f", 2, "73\xff") },
		"f[hidden]: is not valid UTF-8": func(p *checks.Problems) { p.TextEntry("f", `73"]`, "\xff") },
		"f[hidden].g: is not one of a, b": func(p *checks.Problems) {
			p.Entry("f", "73", &checks.ValidationError{Problems: []checks.Problem{{Path: "g", Message: `"73" is not one of a, b`}}})
		},
		"f: is not a valid value, which is hidden because the field is sensitive": func(p *checks.Problems) { p.Nested("f", errors.New("73 is odd")) },
	} {
		var p checks.Problems
		check(&p)
		if err := p.Err(); err == nil || !strings.Contains(err.Error(), "73") && !strings.Contains(want, "character") && !strings.Contains(want, "UTF-8") {
			t.Errorf("%s: the test hides nothing: %v", want, err)
		}
		p.Hide("f")
		if err := p.Err(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestHidingAFieldLeavesOthersAlone(t *testing.T) {
	var p checks.Problems
	p.Format("first", "73", "email")
	p.Format("f", "74", "email")
	p.Hide("f")
	if got := p.Err().Error(); got != `first: "73" is not an email address; f: is not an email address` {
		t.Error(got)
	}
}
