package diag_test

import (
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/diag"
)

func TestAnnotationsEscapeWhatEndsACommand(t *testing.T) {
	rule := &diag.Rule{ID: "some-rule", Severity: diag.Warning}
	f := rule.At(diag.Place{Pos: diag.Position{File: "C:/x\r\n", Line: 2, Column: 3}, Length: 4}, "50%% of it")
	f.See(diag.Place{Pos: diag.Position{File: "y", Line: 1, Column: 1}}, "here")
	got, err := diag.Findings{f}.In(diag.GitHub)
	want := "::warning file=C%3A/x%0D%0A,line=2,col=3,endColumn=7,title=some-rule::50%25 of it%0Ay:1:1: here\n"
	if err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestAMessageHasNothingThatControlsATerminal(t *testing.T) {
	rule := &diag.Rule{ID: "some-rule"}
	f := rule.At(diag.Place{}, "%s is wrong", "a\x1b[2Jb\u200bc\nd").See(diag.Place{}, "%s", "\a")
	if f.Message != `a\x1b[2Jb\u200bc\nd is wrong` || f.Related[0].Message != `\a` {
		t.Errorf("%q, %q", f.Message, f.Related[0].Message)
	}
}

func TestAnnotationsShowControlCharacters(t *testing.T) {
	rule := &diag.Rule{ID: "some-rule", Severity: diag.Error}
	f := rule.At(diag.Place{Pos: diag.Position{File: "a\x1b,\u202e", Line: 1, Column: 1}}, "no")
	f.Hint = "did you mean \"\a\U000E0001\xff%\"?\n"
	f.See(diag.Place{Pos: diag.Position{File: "b\x7f", Line: 1, Column: 1}}, "here")
	got, err := diag.Findings{f}.In(diag.GitHub)
	want := `::error file=a\x1b%2C\u202e,line=1,col=1,endColumn=2,title=some-rule::` +
		`no; did you mean "\a\U000e0001` + "\uFFFD" + `%25"?%0A%0Ab\x7f:1:1: here` + "\n"
	if err != nil || got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestFindingsAreSortedWithoutDuplicates(t *testing.T) {
	a, b := &diag.Rule{ID: "a-rule"}, &diag.Rule{ID: "b-rule"}
	at := func(file string, line, column int) diag.Place {
		return diag.Place{Pos: diag.Position{File: file, Line: line, Column: column}}
	}
	fs := diag.Findings{
		b.At(at("x", 1, 2), "two"), a.At(at("x", 1, 2), "two"), a.At(at("x", 1, 2), "one"), a.At(at("root", 9, 9), "last of the first file"),
		a.At(at("x", 1, 1), "early"), a.At(at("x", 1, 2), "two"),
	}
	var got []string
	for _, f := range fs.Tidy([]string{"root", "x"}) {
		got = append(got, f.Rule.ID+" "+f.Message)
	}
	want := "a-rule last of the first file, a-rule early, a-rule one, a-rule two, b-rule two"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("got %s, want %s", text, want)
	}
}
