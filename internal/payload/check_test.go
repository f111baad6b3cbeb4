package payload_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/payload"
	"github.com/busgen/busgen/internal/plainjson"
	"github.com/google/go-cmp/cmp"
)

// everyType has a field of each type, and two of them optional.
const everyType = `version: 1
package: events
types:
  Currency: { enum: [EUR, USD] }
  Money:    { fields: { amount: int64, currency: Currency } }
events:
  order.placed:
    payload:
      text: string
      yes: bool
      small: int32
      big: uint64
      ratio: float64
      raw: bytes
      at: time
      day: date
      wait: duration
      id: uuid
      any: json
      total: Money
      lines: "[]Money"
      rates: "map[string]float64"
      note: "string?"
      tip: "Money?"
  order.eaten: {}
`

// filled is a payload with everything that is required.
func filled() map[string]string {
	return map[string]string{
		"text": `"ä"`, "yes": `true`, "small": `-3`, "big": `18446744073709551615`, "ratio": `1e3`, "raw": `"AAH/"`,
		"at": `"2024-02-29T12:30:00.5+01:00"`, "day": `"2024-02-29"`, "wait": `"1h30m0s"`,
		"id": `"018f4f2e-0000-7000-8000-000000000001"`, "any": `{"a":[1]}`, "total": `{"amount":1,"currency":"EUR"}`,
		"lines": `[]`, "rates": `{}`,
	}
}

// payload is filled with some fields replaced, added or, for an empty text,
// left out.
func payloadWith(changes ...string) []byte {
	fields := filled()
	for i := 0; i < len(changes); i += 2 {
		fields[changes[i]] = changes[i+1]
	}
	var parts []string
	for _, name := range strings.Fields("text yes small big ratio raw at day wait id any total lines rates note tip extra Text") {
		if fields[name] != "" {
			parts = append(parts, `"`+name+`": `+fields[name])
		}
	}
	return []byte(" {" + strings.Join(parts, ",\n") + "} ")
}

func TestAPayloadIsCheckedAgainstItsCatalogue(t *testing.T) {
	c, findings := parse.Text("events.yaml", []byte(everyType))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	for name, test := range map[string]struct {
		payload []byte
		want    []string
	}{
		"all that is required":          {payloadWith(), nil},
		"optional fields":               {payloadWith("note", `"x"`, "tip", `{"amount":1,"currency":"USD"}`), nil},
		"optional fields that are null": {payloadWith("note", `null`, "tip", `null`), nil},
		"null for what is nil in Go":    {payloadWith("lines", `null`, "rates", `null`, "raw", `null`, "any", `null`), nil},
		"nested values":                 {payloadWith("lines", `[{"amount":1,"currency":"EUR"}]`, "rates", `{"a":1.5}`), nil},

		"a field that is missing": {payloadWith("text", ""), []string{"text: is missing (string)"}},
		"a field that is unknown": {payloadWith("extra", "1"), []string{"extra: there is no such field"}},
		"a field in other letters": {payloadWith("text", "", "Text", `"x"`), []string{
			`Text: there is no such field; did you mean "text"?`, "text: is missing (string)",
		}},
		"null where it means nothing": {payloadWith("text", "null", "total", "null", "day", "null"), []string{
			"text: want a string, got null", "day: want a string (date), got null", "total: want an object, got null",
		}},
		"values of other kinds": {payloadWith("text", "1", "yes", `"true"`, "small", `"1"`, "lines", `{}`, "rates", `[]`, "total", `[]`, "note", `false`), []string{
			"text: want a string, got a number", "yes: want true or false (bool), got a string", "small: want a number (int32), got a string",
			"total: want an object, got a list", "lines: want a list ([]Money), got an object",
			"rates: want an object (map[string]float64), got a list", "note: want a string, got true or false",
		}},
		"numbers that do not fit": {payloadWith("small", "2147483648", "big", "-1", "ratio", "1e999", "total", `{"amount":1.5,"currency":"EUR"}`), []string{
			"small: 2147483648 is not a value of int32", "big: -1 is not a value of uint64", "ratio: 1e999 is not a value of float64",
			"total.amount: 1.5 is not a value of int64",
		}},
		"texts that do not fit": {payloadWith("raw", `"%"`, "at", `"noon"`, "day", `"2023-02-29"`, "wait", `"5"`, "id", `"7"`), []string{
			`raw: "%" is not base64`, `at: "noon" is not a time, as in 2024-02-29T12:30:00Z`, `day: "2023-02-29" is not a day, as in 2024-02-29`,
			`wait: "5" is not a duration, as in 1h30m`, `id: "7" is not a UUID`,
		}},
		"deep inside": {payloadWith("lines", `[{"amount":1,"currency":"EUR"},{"currency":"eur","vat":1}]`, "rates", `{"a b":"x"}`), []string{
			`lines[1].currency: "eur" is not a value of Currency: use one of EUR, USD`, "lines[1].vat: there is no such field",
			"lines[1].amount: is missing (int64)", `rates["a b"]: want a number (float64), got a string`,
		}},
		"twice the same field": {[]byte(strings.Replace(string(payloadWith()), `"yes"`, `"yes":false,"yes"`, 1)), []string{"yes: is there twice"}},
		"no object":            {[]byte(`[1]`), []string{"want an object, got a list"}},
		"not JSON":             {[]byte(`{"text":}`), []string{"it is not JSON: invalid character '}' looking for beginning of value"}},
		"nothing":              {nil, []string{"it is not JSON: unexpected end of JSON input"}},
		"more than one":        {[]byte(`{} {}`), []string{"it is not JSON: invalid character '{' after top-level value"}},
		"not UTF-8":            {payloadWith("text", "\"\xff\""), []string{"text: is not valid UTF-8"}},
	} {
		err := payload.Check(c, "order.placed", 1, test.payload)
		var problems *payload.Error
		var got []string
		if errors.As(err, &problems) {
			for _, p := range problems.Problems {
				got = append(got, (&payload.Error{Problems: []plainjson.Problem{p}}).Error())
			}
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if err := payload.Check(c, "order.eaten", 1, []byte(`{}`)); err != nil {
		t.Errorf("an event without a payload: %v", err)
	}
}

func TestAnEventThatIsNotInTheCatalogueIsNamed(t *testing.T) {
	c, _ := parse.Text("events.yaml", []byte(everyType))
	var unknown *payload.UnknownEventError
	err := payload.Check(c, "order.place", 1, []byte(`{}`))
	if !errors.As(err, &unknown) || err.Error() != `event type order.place is not in events.yaml; did you mean "order.placed"?` {
		t.Errorf("got %v", err)
	}
}
