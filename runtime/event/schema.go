package event

import (
	"cmp"
	"fmt"
	"time"
)

// SchemaError says that runtime.Open has refused a file, or another place of a bus, because it has events of a type and version
// with another payload than the catalogue of the program: each of the two has required fields that the other one lacks.
// Handlers would be given empty fields in their place.
type SchemaError struct {
	Event    string
	Version  int
	Problem  string    // in words
	Program  string    // that has stored the other schema
	StoredAt time.Time // when; UTC
}

// Error says what to do.
func (e *SchemaError) Error() string {
	return fmt.Sprintf("there are events %s, version %d, whose payload is not that of the catalogue of this program: %s; %s has stored it on %s. "+
		"Give the new payload a higher version, and keep the stored one under history; if these are two events, call one of them otherwise",
		e.Event, e.Version, e.Problem, cmp.Or(e.Program, "a program"), e.StoredAt.Format(time.DateOnly))
}

// Schema describes the payloads of an event type. Generated code carries it, and the
// bus stores it when it is opened, if it differs from what is stored.
type Schema struct {
	Version  int       // of the payloads that the program publishes
	Text     string    // one line of JSON, for busgen; its form may change
	StoredAt time.Time // when it last changed; UTC
	Program  string    // the program that stored it: the name of its file, and its version
}
