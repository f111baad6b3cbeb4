package payload

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/plainjson"
)

// Check returns nil if the JSON is a payload of the given version that generated code decodes and
// finds valid. It is stricter than decoding: every required field without a default must be there, and
// no field that the catalogue does not know. A field may be there under a former name instead of its
// own. The error is an *[Error] with everything that is wrong, or an *[UnknownEventError].
func Check(c *catalog.Catalogue, eventType string, version int, payload []byte) error {
	return check(c, eventType, version, payload, &checker{stored: true})
}

// CheckDecode returns nil if generated code decodes the JSON of a stored event.
// Decoding is lenient, so that events of other versions of the catalogue can be read:
//
//   - It skips unknown fields. Missing fields have their default or are zero.
//   - It finds renamed fields under their former names, and ignores the case of keys.
//   - null leaves every field as it is.
//   - Enums take every string or whole number. It does not check constraints.
//
// What a custom Go type accepts, only its code knows. CheckDecode assumes that it accepts the JSON form
// that the catalogue declares for it.
//
// The error is an *[Error] whose messages do not quote the payload, or an *[UnknownEventError].
func CheckDecode(c *catalog.Catalogue, eventType string, version int, payload []byte) error {
	return check(c, eventType, version, payload, &checker{lenient: true})
}

// Lacking returns the paths of the required fields that a stored payload lacks, and that have no default: generated
// code decodes it, and handlers find zero values there. It returns none for a payload that does not decode.
func Lacking(c *catalog.Catalogue, eventType string, version int, payload []byte) []string {
	with := &checker{lenient: true}
	if check(c, eventType, version, payload, with) != nil {
		return nil
	}
	return with.lacking
}

// CheckValue strictly checks the JSON of a value of type t. The JSON must be well-formed.
func CheckValue(t *catalog.TypeRef, text json.RawMessage) []plainjson.Problem {
	c := checker{scan: plainjson.Scanner{Rest: text}}
	c.value(t)
	return c.problems
}

// CheckField strictly checks the JSON of the value of a field, with its constraints. The JSON must be
// well-formed.
func CheckField(f *catalog.Field, text json.RawMessage) []plainjson.Problem {
	c := checker{scan: plainjson.Scanner{Rest: text}}
	c.field(f)
	return c.problems
}

// checkFields strictly checks the JSON of a payload with these fields. The JSON must be well-formed.
func checkFields(fields []*catalog.Field, text json.RawMessage) []plainjson.Problem {
	c := checker{scan: plainjson.Scanner{Rest: text}}
	c.object(fields)
	return c.problems
}

func check(c *catalog.Catalogue, eventType string, version int, payload []byte, with *checker) error {
	e, err := eventOf(c, eventType)
	if err != nil {
		return err
	}
	with.scan.Rest = payload
	fields, known := e.FieldsOf(version)
	switch {
	case !known:
		with.report("%s", unknownVersion(c, e, version))
	case !json.Valid(payload) && with.lenient:
		with.report("it is not JSON")
	case !json.Valid(payload):
		with.report("it is not JSON: %v", json.Unmarshal(payload, new(any)))
	default:
		if !with.lenient {
			with.problems = plainjson.Check(payload)
		}
		if with.problems == nil {
			with.object(fields)
		}
	}
	if with.problems == nil {
		return nil
	}
	return &Error{EventType: eventType, Problems: with.problems}
}

// eventOf finds an event type; the error is an *[UnknownEventError].
func eventOf(c *catalog.Catalogue, name string) (*catalog.Event, error) {
	if e := c.EventNamed(name); e != nil {
		return e, nil
	}
	return nil, &UnknownEventError{EventType: name, Catalogue: c.File, hint: diag.DidYouMean(name, c.EventNames())}
}

// unknownVersion says which versions of an event can be read.
func unknownVersion(c *catalog.Catalogue, e *catalog.Event, version int) string {
	text := fmt.Sprintf("it has version %d; %s has version %d", version, c.File, e.Version.V)
	if len(e.History) > 0 {
		text += ", and those from " + strconv.Itoa(e.History[0].Version.V) + " on"
	}
	return text
}

// UnknownEventError says that an event type is not in a catalogue.
type UnknownEventError struct {
	EventType string
	Catalogue string // the name of the file
	hint      string
}

// Error names the closest event type of the catalogue.
func (e *UnknownEventError) Error() string {
	text := fmt.Sprintf("event type %s is not in %s", e.EventType, e.Catalogue)
	if e.hint != "" {
		text += "; " + e.hint
	}
	return text
}

// Error lists everything that is wrong with a payload.
type Error struct {
	EventType string
	Problems  []plainjson.Problem // in the order of the payload
}

// Error joins the problems with semicolons.
func (e *Error) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.String()
	}
	return strings.Join(texts, "; ")
}
