package glob_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/glob"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern string
		yes     []string
		no      []string
	}{
		{"user.created", []string{"user.created"}, []string{"user.updated", "user", "user.created.twice", ""}},
		{"user.*", []string{"user.created", "user.updated", "user.email.changed"}, []string{"order.created", "user", "users.created", "user.", "user..x", "user.x."}},
		{"*", []string{"user", "user.created", "ml.run.step.done"}, []string{"", ".", "a.", ".a", "a..b"}},
		{"order.*.shipped", []string{"order.123.shipped"}, []string{"order.shipped", "order.1.2.shipped", "order.1.shipped.twice", "order..shipped", "order.1"}},
		{"*.failed", []string{"run.failed"}, []string{"failed", "ml.run.failed", "run.failed.twice"}},
		{"*.*", []string{"a.b", "a.b.c"}, []string{"a"}},
		{"ml.*.*", []string{"ml.run.started", "ml.run.step.done"}, []string{"ml.run", "ml"}},
		{"ml.run", []string{"ml.run"}, []string{"ml-run", "mlxrun"}},
	}
	for _, tt := range tests {
		p := glob.MustParse(tt.pattern)
		for _, name := range tt.yes {
			if !p.Match(name) {
				t.Errorf("%s does not match %q", tt.pattern, name)
			}
		}
		for _, name := range tt.no {
			if p.Match(name) {
				t.Errorf("%s matches %q", tt.pattern, name)
			}
		}
	}
	if (glob.Pattern{}).Match("") {
		t.Error("the zero pattern matches the empty name")
	}
}

func TestParseSaysWhatIsWrongAndWhere(t *testing.T) {
	tests := []struct {
		pattern string
		offset  int
		reason  string
	}{
		{"", 0, "the pattern is empty"},
		{".a", 0, "empty segment"},
		{"a..b", 2, "empty segment"},
		{"a.", 2, "empty segment"},
		{"order.pla*", 9, "`*` must be a whole segment"},
		{"order.**", 6, "`*` must be a whole segment"},
		{"order.?laced", 6, `character '?' is not allowed`},
		{"order placed", 5, `character ' ' is not allowed`},
		{"größe.x\u200b", 9, `character '\u200b' is not allowed`},
		{"a.b,c", 3, `character ',' is not allowed`},
	}
	for _, tt := range tests {
		_, err := glob.Parse(tt.pattern)
		var syntax *glob.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("Parse(%q) = %v, want a SyntaxError", tt.pattern, err)
			continue
		}
		if syntax.Offset != tt.offset || !strings.Contains(syntax.Reason, tt.reason) {
			t.Errorf("Parse(%q) says %q at %d, want %q at %d", tt.pattern, syntax.Reason, syntax.Offset, tt.reason, tt.offset)
		}
	}
}

func TestValidName(t *testing.T) {
	for _, name := range []string{"a", "order.placed", "ml.run.step_done", "v2.order", "a1.b_2"} {
		if err := glob.ValidName(name); err != nil {
			t.Errorf("ValidName(%q) = %v", name, err)
		}
	}
	for name, reason := range map[string]string{
		"":             "the event name is empty",
		"order.":       "empty segment",
		"Order.placed": `character 'O' is not allowed`,
		"order.2nd":    `segment "2nd" must start with a letter`,
		"order._x":     `segment "_x" must start with a letter`,
		"order.*":      `character '*' is not allowed`,
		"order-placed": `character '-' is not allowed`,
	} {
		if err := glob.ValidName(name); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("ValidName(%q) = %v, want %q", name, err, reason)
		}
	}
}

func TestANameOnTheWireIsWhatAPatternCanSay(t *testing.T) {
	for _, name := range []string{"OrderPlaced", "order-placed", "com.acme.Order_Placed.v1", "größe", "日本.語", "🎉", "é", "a>b", "a/b:c@d", "<x>", "a'b`c", "1", "a$", "100%", "#1"} {
		if err := glob.ValidWire(name); err != nil {
			t.Errorf("ValidWire(%q) = %v", name, err)
		}
		p, err := glob.Parse(name)
		if err != nil || !p.Literal() || !p.Match(name) || p.Match(name+"x") || !glob.MustParse("*").Match(name) || !glob.MustParse("x.*").Match("x."+name) {
			t.Errorf("%q is not its own pattern: %v", name, err)
		}
	}
	for name, reason := range map[string]string{
		"":                       "the name on the wire is empty",
		"a..b":                   "empty segment",
		".a":                     "empty segment",
		"a b":                    `character ' ' is not allowed`,
		"a\u00a0":                "is not allowed",
		"a\nb":                   "is not allowed",
		"a\u200d":                "is not allowed",
		"a.*":                    `character '*' is not allowed`,
		"a?":                     `character '?' is not allowed`,
		"a,b":                    `character ',' is not allowed`,
		`a"b`:                    "is not allowed",
		"$dead.a":                "does not begin with `$`",
		"a\xff":                  "not valid UTF-8",
		"\ufffd":                 "is not allowed",
		strings.Repeat("a", 201): "the limit is 200",
	} {
		if err := glob.ValidWire(name); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("ValidWire(%q) = %v, want %q", name, err, reason)
		}
	}
}

func TestCompareOrdersBySpecificity(t *testing.T) {
	ascending := []string{"*.*", "*", "ml.*.*", "ml.*", "ml.run.*", "ml.run", "ml.run.started"}
	for i, a := range ascending {
		for j, b := range ascending {
			got := glob.Compare(glob.MustParse(a), glob.MustParse(b))
			if want := sign(i - j); sign(got) != want {
				t.Errorf("Compare(%s, %s) = %d, want sign %d", a, b, got, want)
			}
		}
	}
	if got := glob.Compare(glob.MustParse("ml.*"), glob.MustParse("*.failed")); got != 0 {
		t.Errorf("patterns with one literal and one wildcard compare as %d, want a tie", got)
	}
}

func sign(n int) int {
	switch {
	case n > 0:
		return 1
	case n < 0:
		return -1
	}
	return 0
}

func TestPatternsKeepTheirText(t *testing.T) {
	if p := glob.MustParse("order.*.shipped"); p.String() != "order.*.shipped" || p.Literal() {
		t.Errorf("got %q, literal %v", p, p.Literal())
	}
	if !glob.MustParse("order.placed").Literal() {
		t.Error("a pattern without a wildcard is not literal")
	}
}

func TestMustParsePanicsOnAMistake(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	glob.MustParse("a*")
}

func TestMatchDoesNotAllocate(t *testing.T) {
	p := glob.MustParse("ml.*.step.*")
	if n := testing.AllocsPerRun(100, func() { p.Match("ml.run.step.done") }); n != 0 {
		t.Errorf("%v allocations per call", n)
	}
}

// reference matches on lists of segments, one recursive case per rule.
func reference(pattern, name []string) bool {
	switch {
	case len(pattern) == 0 || len(name) == 0:
		return len(pattern) == len(name)
	case len(pattern) == 1 && pattern[0] == "*":
		return true
	case pattern[0] == "*" || pattern[0] == name[0]:
		return reference(pattern[1:], name[1:])
	}
	return false
}

func TestMatchAgreesWithTheReference(t *testing.T) {
	// Few segments and few texts, so that matches and near misses are common.
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab"}), 1, 5)
	patterns := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "*", "*"}), 1, 5)
	rapid.Check(t, func(t *rapid.T) {
		pattern, name := patterns.Draw(t, "pattern"), names.Draw(t, "name")
		p, err := glob.Parse(strings.Join(pattern, "."))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := p.Match(strings.Join(name, ".")), reference(pattern, name); got != want {
			t.Errorf("Match is %v, want %v", got, want)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "*", "a.*.b", "a..b", "a*", "größe", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := glob.Parse(text)
		var syntax *glob.SyntaxError
		if errors.As(err, &syntax) && (syntax.Offset < 0 || syntax.Offset > len(text)) {
			t.Errorf("offset %d is outside %q", syntax.Offset, text)
		}
		if err == nil && p.String() != text {
			t.Errorf("%q became %q", text, p)
		}
		if glob.ValidName(text) == nil {
			if err != nil {
				t.Errorf("%q is an event name but no pattern: %v", text, err)
			}
			if !p.Match(text) || !glob.MustParse("*").Match(text) {
				t.Errorf("%q is matched neither by itself nor by *", text)
			}
		}
	})
}

func ExamplePattern_Match() {
	p := glob.MustParse("order.*")
	fmt.Println(p.Match("order.placed"), p.Match("order.line.added"), p.Match("order"))
	// Output: true true false
}
