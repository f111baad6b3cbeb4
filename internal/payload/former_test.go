package payload_test

import (
	"fmt"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/payload"
	"github.com/busgen/busgen/internal/payload/schema"
)

// renamed has fields with former names and with defaults, in all places in which fields can be.
const renamed = `version: 1
package: events
types:
  Address: { fields: { street: string, district: { type: string, was: ward } } }
  Payment:
    discriminator: kind
    one_of: { card: { fields: { digits: { type: string, was: [last_four, number], default: "0000" } } }, cash: { fields: {} } }
events:
  user.moved:
    version: 2
    payload:
      to: { type: Address, was: [home, address] }
      by: { type: Payment, was: paid }
      floors: { type: "[]{}", fields: { floor: { type: int, was: level, default: 1 } } }
    history:
      1: { payload: { to: { type: string, was: home } } }
`

// Stored events are read by former names too, and without fields that have a default. What is published
// has neither.
func TestAStoredPayloadMayHaveFormerNamesAndLackDefaults(t *testing.T) {
	c, findings := parse.Text("events.yaml", []byte(renamed))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	schema, err := schema.Read("events.yaml", schema.Of(c.Events[0]))
	if err != nil {
		t.Fatal(err)
	}
	const address = `{"street":"Elm","ward":"5"}`
	for given, want := range map[string]struct{ decode, check string }{
		`{"to":` + address + `,"by":{"kind":"cash"},"floors":[]}`:                                   {},
		`{"home":` + address + `,"paid":{"kind":"card","last_four":"1"},"floors":[{"level":2},{}]}`: {},
		`{"address":` + address + `,"by":{"kind":"card"},"floors":null}`:                            {},
		`{"HOME":` + address + `,"by":{"kind":"cash"},"floors":[]}`:                                 {"", "HOME: there is no such field; to: is missing (Address)"},
		`{"home":{"street":"Elm","ward":5},"by":{"kind":"cash"},"floors":[]}`:                       {"to.district: want a string, got a number", "home.ward: want a string, got a number"},
		`{"to":` + address + `,"paid":{"kind":"card","number":4},"floors":[{"level":"2"}]}`: {
			"by.digits: want a string, got a number; floors[0].floor: want a number (int), got a string",
			"paid.number: want a string, got a number; floors[0].level: want a number (int), got a string"},
		`{"to":` + address + `,"home":` + address + `,"by":{"kind":"cash"},"floors":[]}`: {"", "home: is field to, which is there as to already"},
		`{"home":1,"to":` + address + `,"address":2,"by":{"kind":"cash"},"floors":[]}`:   {"", "home: want an object, got a number; to: is field to, which is there as home already; address: is field to, which is there as to already; address: want an object, got a number"},
		`{"address":1,"Home":` + address + `,"by":{"kind":"cash"},"floors":[]}`:          {"", "address: want an object, got a number; Home: there is no such field"},
		`{"by":{"kind":"cash"},"floors":[{"floor":null}]}`:                               {"", "floors[0].floor: want a number (int), got null; to: is missing (Address)"},
	} {
		decode, check := payload.CheckDecode(c, "user.moved", 2, []byte(given)), payload.Check(c, "user.moved", 2, []byte(given))
		if got := textOf(decode); got != want.decode {
			t.Errorf("%s: decoding: got %q, want %q", given, got, want.decode)
		}
		if got := textOf(check); got != want.check {
			t.Errorf("%s: checking: got %q, want %q", given, got, want.check)
		}
		if got := textOf(payload.Check(schema, "user.moved", 2, []byte(given))); got != want.check {
			t.Errorf("%s: checking with the schema: got %q, want %q", given, got, want.check)
		}
	}
	if got := textOf(payload.Check(c, "user.moved", 1, []byte(`{"home":"Elm"}`))); got != "" {
		t.Errorf("an old version with a former name: %s", got)
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// An example shows what is published now.
func TestAnExampleHasPresentNamesAndAllThatIsRequired(t *testing.T) {
	for example, want := range map[string]string{
		`{ floor: 1, street: Elm }`: "",
		`{ street: Elm }`:           "events.yaml:6:16: floor of example 1 of event user.moved: is missing (int) [example]",
		`{ floor: 1, road: Elm }`:   "events.yaml:6:28: road of example 1 of event user.moved: there is no such field; it is called street [example]",
	} {
		_, findings := parse.Text("events.yaml", fmt.Appendf(nil, `version: 1
package: events
events:
  user.moved:
    payload: { floor: { type: int, default: 1 }, street: { type: "string?", was: road } }
    examples: [%s]
`, example))
		if got := findings.Error(); got != want {
			t.Errorf("%s: got %s\nwant %s", example, got, want)
		}
	}
}
