package payload_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/catalogtest"
	"github.com/busgen/busgen/internal/payload"
	"github.com/busgen/busgen/runtime/gen/wire"
	"github.com/busgen/busgen/templates/testdata/features"
)

func TestDecodingIsLenient(t *testing.T) {
	c, findings := parse.Text("events.yaml", []byte(everyType))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	for name, test := range map[string]struct {
		given []byte
		want  string
	}{
		"all that is required":          {payloadWith(), ""},
		"a field that is missing":       {payloadWith("text", ""), ""},
		"a field that is unknown":       {payloadWith("extra", `[{"a":"]}"},2]`), ""},
		"a field in other letters":      {payloadWith("text", "", "Text", `"x"`), ""},
		"the same in other letters":     {payloadWith("Text", `1`), "text: want a string, got a number"},
		"null anywhere":                 {payloadWith("text", "null", "total", "null", "day", "null", "small", "null", "lines", "[null]"), ""},
		"null as a whole":               {[]byte(" null "), ""},
		"a value of no enum":            {payloadWith("total", `{"currency":"eur"}`), ""},
		"not UTF-8":                     {payloadWith("text", "\"\xff\""), ""},
		"bytes as a list":               {payloadWith("raw", `[0, 255, null]`), ""},
		"bytes as a list of more":       {payloadWith("raw", `[256, "x"]`), "raw[0]: is not a byte; raw[1]: want a number (bytes), got a string"},
		"a time with an escape":         {payloadWith("at", `"2024-02-29T12:30:00\u005a"`), "at: is not a time, as in 2024-02-29T12:30:00Z"},
		"values of other kinds":         {payloadWith("yes", `"x"`, "small", `"1"`, "lines", `{}`, "rates", `[]`, "total", `[]`, "day", `5`), "yes: want true or false (bool), got a string; small: want a number (int32), got a string; day: want a string (date), got a number; total: want an object, got a list; lines: want a list ([]Money), got an object; rates: want an object (map[string]float64), got a list"},
		"numbers that do not fit":       {payloadWith("small", "1e3", "big", "-1", "ratio", "1e999"), "small: is not a value of int32; big: is not a value of uint64; ratio: is not a value of float64"},
		"texts that do not fit":         {payloadWith("raw", `"%"`, "day", `"2023-02-29"`, "wait", `"5"`, "id", `"7"`), "raw: is not base64; day: is not a day, as in 2024-02-29; wait: is not a duration, as in 1h30m; id: is not a UUID"},
		"deep inside":                   {payloadWith("lines", `[{"amount":1},{"amount":"1"}]`, "rates", `{"a b":"x"}`), `lines[1].amount: want a number (int64), got a string; rates["a b"]: want a number (float64), got a string`},
		"the second of the same field":  {[]byte(`{"text":"x","text":1}`), "text: want a string, got a number"},
		"no object":                     {[]byte(`[1]`), "want an object, got a list"},
		"not JSON":                      {[]byte(`{"text":}`), "it is not JSON"},
		"nothing":                       {nil, "it is not JSON"},
		"braces and quotes in the text": {payloadWith("text", `"}]\\\"{"`, "any", `{"\"}":["\\"]}`, "small", `true`), "small: want a number (int32), got true or false"},
	} {
		err := payload.CheckDecode(c, "order.placed", 1, test.given)
		if got := ""; err != nil {
			if got = err.Error(); got != test.want {
				t.Errorf("%s: got %s\nwant %s", name, got, test.want)
			}
		} else if test.want != "" {
			t.Errorf("%s: got nothing, want %s", name, test.want)
		}
	}
	var unknown *payload.UnknownEventError
	if err := payload.CheckDecode(c, "order.place", 1, []byte(`{}`)); !errors.As(err, &unknown) {
		t.Errorf("an event type that is not there: %v", err)
	}
	if err := payload.CheckDecode(c, "order.placed", 2, []byte(`{}`)); err == nil || err.Error() != "it has version 2; events.yaml has version 1" {
		t.Errorf("a version that is not there: %v", err)
	}
}

// A key that is the name of a field is read for that field, and another one for the field that differs only in case.
func TestFieldsWhoseNamesDifferOnlyInCaseAreDecodedEachFromItsOwn(t *testing.T) {
	c, findings := parse.Text("events.yaml", []byte(`version: 1
package: events
events:
  traded: { payload: { e: { type: string, was: f }, at: { type: int, json: E }, x: { type: int, json: Id }, y: { type: string, json: ID } } }
`))
	if findings != nil {
		t.Fatal(findings)
	}
	for given, want := range map[string]string{
		`{"e":"trade","E":1,"Id":2,"ID":"b"}`: "",
		`{"E":1,"f":"trade"}`:                 "",
		`{"E":"trade","e":"trade"}`:           "E: want a number (int), got a string",
		`{"E":1,"e":1}`:                       "e: want a string, got a number",
		`{"E":1,"f":1}`:                       "e: want a string, got a number",
		`{"id":"b"}`:                          "Id: want a number (int), got a string",
	} {
		got := ""
		if err := payload.CheckDecode(c, "traded", 1, []byte(given)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", given, got, want)
		}
	}
}

func TestAnOldPayloadIsDecodedAsItsOwnVersion(t *testing.T) {
	c, findings := parse.Text("events.yaml", []byte(`version: 1
package: events
events:
  order.placed:
    version: 3
    aliases: [order.made]
    payload: { total: string }
    history: { 1: dropped, 2: { payload: { total: int64 } } }
`))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	for version, want := range map[int]string{
		1: "it has version 1; events.yaml has version 3, and those from 2 on",
		2: "total: want a number (int64), got a string",
		3: "<nil>",
		4: "it has version 4; events.yaml has version 3, and those from 2 on",
	} {
		for _, name := range []string{"order.placed", "order.made"} {
			if got := fmt.Sprint(payload.CheckDecode(c, name, version, []byte(`{"total":"5"}`))); got != want {
				t.Errorf("%s %d: %s, want %s", name, version, got, want)
			}
		}
	}
}

// codecs are those of the payloads of the features.
var codecs = map[string]codec{
	"ping": codecOf[features.Ping](), "order.placed": codecOf[features.OrderPlaced](), "order.line.added": codecOf[features.OrderLineAdded](),
	"order.line.removed": codecOf[features.OrderLineRemoved](), "order.paid": codecOf[features.OrderSettled](), "order.computed": codecOf[features.OrderComputed](),
	"order.limited": codecOf[features.OrderLimited](), "hostile.text": codecOf[features.HostileText](), "partition.by.bool": codecOf[features.PartitionByBool](),
	"partition.by.int": codecOf[features.PartitionByInt](), "partition.by.int32": codecOf[features.PartitionByInt32](), "partition.by.uint64": codecOf[features.PartitionByUint64](),
	"partition.by.level": codecOf[features.PartitionByLevel](), "partition.by.enum": codecOf[features.PartitionByEnum](),
	"shape.changed":    codecOf[features.ShapeChanged](),
	"order.moved":      codecOf[features.OrderMoved](),
	"order.emptied":    codecOf[features.OrderEmptied](),
	"answered.plainly": codecOf[features.AnsweredPlainly](), "answered.with_a_list": codecOf[features.AnsweredWithAList](),
	"answered.with_a_union": codecOf[features.AnsweredWithAUnion](), "answered.with_much": codecOf[features.AnsweredWithMuch](),
	"report.requested": codecOf[features.ReportRequested](),
}

// A codec reads and writes payloads as a bus does.
type codec struct {
	decode func(given []byte) error
	recode func(given []byte) ([]byte, error)
}

func codecOf[T any]() codec {
	c := wire.NewCodec[T]()
	return codec{
		decode: func(given []byte) error {
			_, err := c.Decode(given)
			return err
		},
		recode: func(given []byte) ([]byte, error) {
			value, err := c.Decode(given)
			if err != nil {
				return nil, err
			}
			return c.Encode(value)
		},
	}
}

// The last discriminator counts, and the keys of all variants are in all letters.
func TestTheLastDiscriminatorOfAUnionChoosesTheVariant(t *testing.T) {
	c, _, err := parse.Load("../../templates/testdata/features.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]bool{
		`{"kind":"cheque","kind":"in-cash"}`:               true,
		`{"kind":"in-cash","kind":"cheque"}`:               false,
		`{"Kind":"in-cash"}`:                               false,
		`{"kind":"card","LAST_FOUR":"1","tags":null}`:      true,
		`{"kind":"card","last_four":1}`:                    false,
		`{"due_on":"x","kind":"in-cash","more":[{"a":1}]}`: true,
		`null`: true,
		`{}`:   false,
	} {
		text := []byte(`{"payment":` + given + `,"more":[` + given + `]}`)
		byCatalogue, byCode := payload.CheckDecode(c, "order.paid", 1, text), codecs["order.paid"].decode(text)
		if (byCatalogue == nil) != want || (byCode == nil) != want {
			t.Errorf("%s: catalogue: %v, code: %v", text, byCatalogue, byCode)
		}
	}
}

// What a catalogue says of a stored payload is what the code that was generated
// from it does with it.
func TestCheckDecodeAgreesWithGeneratedCode(t *testing.T) {
	c, findings, err := parse.Load("../../templates/testdata/features.yaml")
	if err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
	var all []*catalog.Event
	for _, e := range c.Events {
		if codecs[e.Name.V].decode != nil {
			all = append(all, e)
		} else if e.Name.V != "host.seen" { // what a custom Go type takes is its own affair
			t.Errorf("no codec of %s", e.Name.V)
		}
	}
	decodes, fails := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		event := rapid.SampledFrom(all).Draw(t, "event")
		text := []byte(event.Sample())
		for range rapid.IntRange(0, 3).Draw(t, "times") {
			text = spoiltText(t, text)
		}
		byCatalogue, byCode := payload.CheckDecode(c, event.Name.V, event.Version.V, text), codecs[event.Name.V].decode(text)
		if (byCatalogue == nil) != (byCode == nil) {
			t.Fatalf("%s %s\ncatalogue: %v\ncode:      %v", event.Name.V, text, byCatalogue, byCode)
		}
		if byCode == nil {
			decodes++
		} else {
			fails++
		}
	})
	if decodes == 0 || fails == 0 {
		t.Errorf("%d payloads decode and %d do not", decodes, fails)
	}
}

// spoiltText changes JSON in one place, or its text.
func spoiltText(t *rapid.T, text []byte) []byte {
	var given any
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if decoder.Decode(&given) != nil {
		return text
	}
	switch rapid.IntRange(0, 9).Draw(t, "how") {
	case 0: // another case of a letter
		if i := strings.Index(string(text), `":`); i > 0 {
			return append(append(append([]byte{}, text[:i-1]...), strings.ToUpper(string(text[i-1]))...), text[i:]...)
		}
	case 1: // a second value of a key
		if text[0] == '{' && len(text) > 2 {
			key, _, _ := strings.Cut(string(text[1:]), ":")
			return []byte("{" + key + ":" + rapid.SampledFrom(catalogtest.Spoils).Draw(t, "second") + "," + string(text[1:]))
		}
	case 2:
		return text[:rapid.IntRange(0, len(text)).Draw(t, "cut")]
	}
	text, err := json.Marshal(catalogtest.Spoilt(t, given))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A wire form is what generated code writes for the value that it reads.
func TestGeneratedCodeReadsAndWritesWireForms(t *testing.T) {
	c, findings, err := parse.Load("../../templates/testdata/features.yaml")
	if err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
	forms := 0
	for _, e := range c.Events {
		if e.Name.V == "host.seen" {
			continue // what a custom Go type takes is its own affair
		}
		for _, form := range catalogtest.WireForms(e, e.Version.V) {
			forms++
			if back, err := codecs[e.Name.V].recode(form); err != nil || string(back) != string(form) {
				t.Errorf("%s %s\nis %s, %v", e.Name.V, form, back, err)
			}
		}
	}
	if forms < 30 {
		t.Errorf("%d forms only", forms)
	}
}
