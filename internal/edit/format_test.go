package edit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/edit"
)

func TestFormat(t *testing.T) {
	for name, test := range map[string]struct{ before, after string }{
		"known keys are in their order, names stay": {`
events:
  order.placed:
    payload: { b: string, a: int }
    doc: A customer ordered.
  order.paid: {}
package: shop
version: 1
`, `
version: 1
package: shop
events:
  order.placed:
    doc: A customer ordered.
    payload: { b: string, a: int }
  order.paid: {}
`},
		"items in { } are in one line with single spaces": {`
version: 1
package: shop
events:
  order.placed:
    payload: { a: int, b: "[]int" }
    examples:
      - {a: 1,  b: [ 1,2 ]}   # one
      - { a: 2, b: [] }
      - a: 3
        b: [3]
`, `
version: 1
package: shop
events:
  order.placed:
    payload: { a: int, b: "[]int" }
    examples:
      - { a: 1, b: [1, 2] }   # one
      - { a: 2, b: [] }
      - a: 3
        b: [3]
`},
		"comments go with what they are about": {`
# About this file.

# The events.
events:
    # The first.
    a.done: {}   # and its remark
      # Still about the first.
    # The second.
    b.done:
      # Its payload.
      payload:
        x: int   # x marks it
        # The end of the payload.
      # Its doc.
      doc: B.
      # The end of b.

# The version.
version: 1
# The end.
`, `
# About this file.

# The version.
version: 1
# The end.
# The events.
events:
  # The first.
  a.done: {}   # and its remark
    # Still about the first.
  # The second.
  b.done:
    # Its doc.
    doc: B.
    # The end of b.
    # Its payload.
    payload:
      x: int   # x marks it
      # The end of the payload.
`},
		"keys inside { } too, with single spaces": {`
version: 1
defaults: {retry: {max_delay: 1m,   base_delay:   "5s",max_attempts: 3 }, timeout: 5s,} # why
events:
  a.done: { payload: {x:   {doc: 'It''s, "x"', type: "[]string"}, y: {}}, doc: The customer's. }
lint: { event-doc: {except: [ ui.*,order.* ], severity: note} }
`, `
version: 1
lint: { event-doc: { severity: note, except: [ui.*, order.*] } }
defaults: { timeout: 5s, retry: { max_attempts: 3, base_delay: "5s", max_delay: 1m } } # why
events:
  a.done: { doc: The customer's., payload: { x: { type: "[]string", doc: 'It''s, "x"' }, y: {} } }
`},
		"{ } in several lines, and odd values, stay as they are": {`
version: 1
defaults: { timeout: !!str 5s, retry: { jitter: 0 } }
policies: { a.*: { timeout: , retry: {} } }
events: { a.done: {
    payload: { x: int },
      doc: A. } }
`, `
version: 1
defaults: { timeout: !!str 5s, retry: { jitter: 0 } }
policies: { a.*: { timeout: , retry: {} } }
events: { a.done: {
    payload: { x: int },
      doc: A. } }
`},
		"texts of several lines are moved as they are": {`
events:
      a.done:
            payload: {}
            doc: |
                  First.

                    # Not a comment.
                  Last.
      b.done:
            doc: >-
               Folded,
               twice.

            timeout: 5s
      c.done:
            doc: "Quoted,
                  and on."
version: 1
`, `
version: 1
events:
  a.done:
    doc: |
          First.

            # Not a comment.
          Last.
    payload: {}
  b.done:
    doc: >-
       Folded,
       twice.

    timeout: 5s
  c.done:
    doc: "Quoted,
          and on."
`},
		"lists are moved with their key": {`
types:
   T:
      enum:
      - a   # the first
      # between
      - b
      doc: T.
   U:
      enum:
        - x
version: 1
`, `
version: 1
types:
  T:
    doc: T.
    enum:
    - a   # the first
    # between
    - b
  U:
    enum:
      - x
`},
		"blank lines are single, and space at the end is gone": {
			"\n\n\nversion: 1   \n\n\n\npackage: p\t\n\n\n# events\n\n\nevents:   \n\n\n  a.done: {}  \n\n\n\n  b.done: {}\n\n\n",
			"version: 1\n\npackage: p\n\n# events\n\nevents:\n  a.done: {}\n\n  b.done: {}\n",
		},
		"Windows line ends and a byte order mark are gone": {"\uFEFFversion: 1\r\npackage: p\r\n", "version: 1\npackage: p\n"},
		"the beginning of the document stays":              {"%YAML 1.1\n---\npackage: p\nversion: 1\n", "%YAML 1.1\n---\nversion: 1\npackage: p\n"},
		"keys that the language does not have come last":   {"evnts: {}\nversion: 1\nzzz: 1\npackage: p\n", "version: 1\npackage: p\nevnts: {}\nzzz: 1\n"},
		"a catalogue in { } is someone's choice":           {"{package: p, version: 1}\n", "{package: p, version: 1}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := formatted(t, strings.TrimPrefix(test.before, "\n"))
			want := strings.TrimPrefix(test.after, "\n")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again := formatted(t, got); again != got {
				t.Errorf("formatted twice:\n%s", cmp.Diff(got, again))
			}
		})
	}
}

func formatted(t *testing.T, source string) string {
	t.Helper()
	text, err := edit.Format([]byte(source))
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	return string(text)
}

func TestAFileThatIsNoCatalogueIsNotFormatted(t *testing.T) {
	for source, want := range map[string]string{
		"a: [":                       "it is not YAML: ",
		"":                           "it is not YAML: EOF",
		"- a\n":                      "it is not a mapping",
		"a: 1\n---\nb: 1\n":          "more than one YAML document",
		"a: &x { b: 1 }\nc: *x\n":    "aliases",
		"a: &x 1\n":                  "aliases",
		"version: 1\n\tpackage: p\n": "it is not YAML",
	} {
		if text, err := edit.Format([]byte(source)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %q, %v; want %s", source, text, err, want)
		}
	}
}

// Format itself refuses to return what means something else, so that it is enough
// to see that it returns something, and the same when it is repeated.
func TestEveryCatalogueInTheRepositoryCanBeFormatted(t *testing.T) {
	tried := 0
	for _, pattern := range []string{"../../examples/*.yaml", "../../templates/*/*.yaml", "../../bench/*.yaml", "../catalog/parse/testdata/cases/*/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			once, err := edit.Format(source)
			if err != nil {
				if strings.Contains(err.Error(), "please report") {
					t.Errorf("%s: %v", path, err)
				}
				continue
			}
			tried++
			if twice, err := edit.Format(once); err != nil || string(twice) != string(once) {
				t.Errorf("%s: formatted twice, %v:\n%s", path, err, cmp.Diff(string(once), string(twice)))
			}
		}
	}
	if tried < 20 {
		t.Errorf("formatted only %d catalogues", tried)
	}
}

func FuzzFormat(f *testing.F) {
	for _, source := range []string{
		"version: 1\npackage: p\nevents:\n  a.done:\n    payload: { x: int }\n    doc: |\n      # text\n\n      more\n  # c\n  b.done: {} # d\n",
		"events:\n  a:\n   doc: \"x\n    # y\"\n   payload:\n   - z\n # e\nversion: 1\n",
		"{a: 1}\n# x\n", "a:\n  - b: 1\n    c: 2\n  -\n   - d\n",
	} {
		f.Add([]byte(source))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		once, err := edit.Format(source)
		if err != nil {
			return // it never returns what means something else
		}
		if twice, err := edit.Format(once); err != nil || string(twice) != string(once) {
			t.Errorf("formatted twice, %v:\n%q\n%q", err, once, twice)
		}
	})
}
