package checks_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/gen/checks"
)

// odd is a Go type whose methods do what a test says. Its text is that of text.
type odd struct {
	text string
	how  *ways
}

type ways struct {
	marshal   error
	validate  error
	json      string
	jsonFails error
	read      func(text string) (string, error)
	readJSON  func(text string) (string, error)
}

// now are the ways of what is read.
var now ways

func (o odd) MarshalText() ([]byte, error) { return []byte(o.text), now.marshal }

func (o *odd) UnmarshalText(text []byte) (err error) {
	o.text = string(text)
	if now.read != nil {
		o.text, err = now.read(o.text)
	}
	return err
}

func (o odd) MarshalJSON() ([]byte, error) {
	if now.json != "" || now.jsonFails != nil {
		return []byte(now.json), now.jsonFails
	}
	return strconv.AppendQuote(nil, o.text), nil
}

func (o *odd) UnmarshalJSON(data []byte) (err error) {
	if o.text, err = strconv.Unquote(string(data)); err == nil && now.readJSON != nil {
		o.text, err = now.readJSON(o.text)
	}
	return err
}

func (o odd) Validate() error { return now.validate }

func TestAGoTypeMustWriteAndReadWhatTheBuiltInTypeWrites(t *testing.T) {
	failure := errors.New("not today")
	fails := func(string) (string, error) { return "", failure }
	another := func(string) (string, error) { return "2", nil }
	for name, test := range map[string]struct {
		how  ways
		text string
		want string
	}{
		"a decimal":                              {text: "-12.50"},
		"its own Validate refuses it":            {how: ways{validate: failure}, text: "1", want: "not today"},
		"MarshalText fails":                      {how: ways{marshal: failure}, text: "1", want: "cannot be stored: its method MarshalText: not today"},
		"an exponent":                            {text: "1E3", want: `cannot be stored: its method MarshalText makes "1E3", and "1E3" is not a decimal number, such as -12.50`},
		"no text":                                {text: "", want: `cannot be stored: its method MarshalText makes "", and "" is not a decimal number, such as -12.50`},
		"JSON is a number":                       {how: ways{json: "1"}, text: "1", want: `cannot be stored: its method MarshalJSON makes 1, and MarshalText makes "1"; both must make the same text`},
		"JSON is null":                           {how: ways{json: "null"}, text: "1", want: `cannot be stored: its method MarshalJSON makes null, and MarshalText makes "1"; both must make the same text`},
		"JSON is another text":                   {how: ways{json: `"1.0"`}, text: "1", want: `cannot be stored: its method MarshalJSON makes "1.0", and MarshalText makes "1"; both must make the same text`},
		"MarshalJSON fails":                      {how: ways{jsonFails: failure}, text: "1", want: "cannot be stored: its method MarshalJSON: not today"},
		"UnmarshalText refuses its own text":     {how: ways{read: fails}, text: "1", want: `cannot be stored: its method UnmarshalText does not take its text "1": not today`},
		"UnmarshalText makes another value":      {how: ways{read: another}, text: "1", want: `cannot be stored: its method UnmarshalText makes another value of its text "1", with the text "2"`},
		"UnmarshalJSON refuses its own text":     {how: ways{readJSON: fails}, text: "1", want: `cannot be stored: its method UnmarshalJSON does not take its text "1": not today`},
		"UnmarshalJSON makes another value":      {how: ways{readJSON: another}, text: "1", want: `cannot be stored: its method UnmarshalJSON makes another value of its text "1", with the text "2"`},
		"a text that would end a string in JSON": {text: `1","x":"`, want: `cannot be stored: its method MarshalText makes "1\",\"x\":\"", and "1\",\"x\":\"" is not a decimal number, such as -12.50`},
	} {
		now = test.how
		got := ""
		if err := checks.GoType[runtime.Decimal](odd{text: test.text}); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, test.want)
		}
	}
	now = ways{}
}

func TestTheTextOfAGoTypeIsTheOneThatTheBuiltInTypeHas(t *testing.T) {
	now = ways{}
	message := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	const id = "018f4f2e-0000-7000-8000-00000000abcd"
	for _, test := range []struct{ what, got, want string }{
		{"a UUID", message(checks.GoType[uuid.UUID](odd{text: id})), ""},
		{"a UUID in capitals", message(checks.GoType[uuid.UUID](odd{text: "018F4F2E-0000-7000-8000-00000000ABCD"})),
			`cannot be stored: its method MarshalText makes "018F4F2E-0000-7000-8000-00000000ABCD", and the text of that value is ` + id},
		{"a UUID in braces", message(checks.GoType[uuid.UUID](odd{text: "{" + id + "}"})),
			`cannot be stored: its method MarshalText makes "{` + id + `}", and the text of that value is ` + id},
		{"a day", message(checks.GoType[runtime.Date](odd{text: "2024-02-29"})), ""},
		{"a day that does not exist", message(checks.GoType[runtime.Date](odd{text: "2023-02-29"})),
			`cannot be stored: its method MarshalText makes "2023-02-29", and date "2023-02-29" is not a day of the form 2006-01-02`},
		{"a duration", message(checks.GoType[runtime.Duration](odd{text: "1h0m0s"})), ""},
		{"a duration in another form", message(checks.GoType[runtime.Duration](odd{text: "60m"})),
			`cannot be stored: its method MarshalText makes "60m", and the text of that value is 1h0m0s`},
		{"a moment with zeros", message(checks.GoType[time.Time](odd{text: "2024-02-29T12:00:00.000Z"})), ""},
	} {
		if test.got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.what, test.got, test.want)
		}
	}
}

func TestConstraintsAreCheckedOfTheTextsOfGoTypes(t *testing.T) {
	now = ways{}
	var problems checks.Problems
	problems.DecimalAtMost("total", string(checks.Plain[runtime.Decimal](odd{text: "12.5"})), "10")
	checks.AtLeast(&problems, "wait", checks.Plain[runtime.Duration](odd{text: "1s"}), runtime.Duration(time.Minute))
	problems.DecimalAtMost("none", string(checks.Plain[runtime.Decimal](odd{text: "x"})), "10") // GoType reports it
	checks.UniqueTexts(&problems, "all", []odd{{text: "1"}, {text: "2"}, {text: "1", how: &ways{}}})
	const want = "total: is 12.5; it must be at most 10; wait: is 1s; it must be at least 1m0s; all[2]: is the same as all[0]"
	if err := problems.Err(); err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
}
