package templates

import (
	"go/build/constraint"
	"go/parser"
	"go/token"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTextsOfTheCatalogueAreWrittenAsComments(t *testing.T) {
	tests := []struct {
		name string
		text string
		want []string
	}{
		{"nothing", "", nil},
		{"only blank lines", "\n \n", nil},
		{"one line", "Some text.", []string{"Some text."}},
		{"long lines are filled",
			strings.Repeat("nine char ", 9) + "end.",
			[]string{strings.TrimSpace(strings.Repeat("nine char ", 7)) + " nine", "char nine char end."}},
		{"lines that run on are joined", "One\ntwo.", []string{"One two."}},
		{"a word longer than a line is kept whole",
			"a " + strings.Repeat("x", 100) + " b",
			[]string{"a", strings.Repeat("x", 100), "b"}},
		{"paragraphs stay apart", "One.\n\nTwo.", []string{"One.", "", "Two."}},
		{"lists, code and headings keep their lines",
			"Text:\n- one\n- two\n\n\tcode()\n# Heading\n1. first",
			[]string{"Text:", "- one", "- two", "", "\tcode()", "# Heading", "1. first"}},
		{"line ends of other systems", "One.\r\n\r\nTwo.\r\rThree.", []string{"One.", "", "Two.", "", "Three."}},
		{"directives lose their place at the start of a line",
			"//go:build ignore\n\n//nolint", []string{"//go:build ignore", "", "//nolint"}},
		{"build tags of the old form", "+build ignore", []string{`"+build" ignore`}},
		{"indented build tags", "Code:\n\t+build ignore", []string{"Code:", `"+build" ignore`}},
		{"the end of a block comment", "*/ func init() {} /*", []string{"*/ func init() {} /*"}},
		{"marks that turn text around", "a\u202eb\u2066c", []string{`a\u202eb\u2066c`}},
		{"what cannot be printed", "a\x00b\ufeffc\u2028d", []string{`a\x00b\ufeffc\u2028d`}},
		{"emoji of several parts", "👩‍🚀", []string{"👩‍🚀"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, wrap(test.text)); diff != "" {
				t.Errorf("wrapped (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParagraphsAreSeparatedAndEmptyOnesLeftOut(t *testing.T) {
	want := []string{"One.", "", "Two."}
	if diff := cmp.Diff(want, commentLines([]string{"", "One.", "", "Two.", " "})); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// Whatever a catalogue's author writes stays inside the comment.
func TestNoTextBreaksOutOfAComment(t *testing.T) {
	nasty := rapid.SampledFrom([]string{
		"//", "/*", "*/", "\n", "\r", "\t", " ", "`", "go:build", "+build", "#", "-", "}", "package x", "\u202e", "\ufeff", "line x:1", "export f", "word",
	})
	text := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(nasty, 0, 20).Draw(t, "parts"), "") }),
		rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		before := comment("Before.", text.Draw(t, "doc")).Type().Id("Before").Struct(
			comment(text.Draw(t, "field doc")).Id("Field").Int())
		after := comment(text.Draw(t, "other doc")).Var().Id("after").Int()
		code, err := source("// header", packageNamed("p"), []jen.Code{before, after})
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(code) {
			t.Fatal("not UTF-8")
		}
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", code, parser.ParseComments)
		if err != nil {
			t.Fatalf("%v\n%s", err, code)
		}
		if len(file.Decls) != 2 {
			t.Fatalf("%d declarations, want 2:\n%s", len(file.Decls), code)
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				if c.Text != "//" && !strings.HasPrefix(c.Text, "// ") && !strings.HasPrefix(c.Text, "//\t") {
					t.Fatalf("comment %q could be a directive", c.Text)
				}
				if constraint.IsPlusBuild(c.Text) {
					t.Fatalf("comment %q is a build constraint", c.Text)
				}
			}
		}
	})
}
