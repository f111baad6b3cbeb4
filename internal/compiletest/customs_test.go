package compiletest

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// Values of types that others have written keep their own JSON wherever they are in a
// payload, and what would not come back is not stored.
func TestCustomTypesTravelInEveryPlaceOrAreRefused(t *testing.T) {
	short.Visit(t, "it compiles programs")
	c, findings, err := parse.Load("testdata/customs/events.yaml")
	if err != nil || findings != nil {
		t.Fatal(err, findings)
	}
	module := newModule(t)
	addPackage(t, module, "events", c)
	for from, to := range map[string]string{"odd.go": "odd/odd.go", "main.go": "main.go"} {
		module.add(to, string(read(t, "testdata/customs/"+from)))
	}
	module.run("vet", "./...")

	path := filepath.Join(t.TempDir(), "numbers.db")
	const want = `<nil>
the payload is not a valid odd.sent: link: cannot be stored: its JSON leaves out User.username, which is not exported; give the type methods MarshalJSON and UnmarshalJSON
the payload is not a valid odd.sent: precise[1]: cannot be stored: decoding its JSON "1.267650600228229401496703205377e+30" gives "1.2676506002282294015e+30"
the payload is not a valid odd.sent: sealed: cannot be stored: its JSON leaves out secret, which is not exported; give the type methods MarshalJSON and UnmarshalJSON
the payload is not a valid odd.sent: write_only: cannot be stored: its JSON 3 cannot be read back: json: cannot unmarshal number into Go value of type odd.WriteOnly
the payload is not a valid odd.sent: panic: not today
the payload is not a valid odd.sent: picky["a"]: is empty
`
	if diff := cmp.Diff(want, module.run("run", ".", path)); diff != "" {
		t.Error(diff)
	}
	inspector, err := inspect.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer inspector.Close()
	letters, _, err := inspector.DeadLetters(t.Context(), event.Filter{}, event.Page{})
	if err != nil || len(letters) != 1 {
		t.Fatal(err, letters)
	}
	const price = `{"type":"fixed","n":20,"more":[21],"named":{"a":22},"maybe":2,"zero":{"N":0},"at":"0001-01-01T00:00:00Z","amount":{"value":0}}`
	const stored = `{"own":1,"maybe":2,"list":[3,0],"named":{"a":4},"lists":{"a":[5]},"maps":[{"a":6}],"amount":{"value":7},"amounts":{"a":{"value":8}},` +
		`"price":` + price + `,"prices":{"a":` + price + `,"b":{"type":"free"}},"address":{"a":"::1"},"ints":{"a":[9,10]}}`
	if diff := cmp.Diff(stored, string(letters[0].Payload)); diff != "" {
		t.Error(diff)
	}
	if got := letters[0].LastAttempt().Error; got != "it is the same: true" {
		t.Error(got)
	}
}
