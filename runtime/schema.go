package runtime

import (
	"strings"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/privacy"
)

// SchemaError says that [Open] has refused a file, or another place of a bus, because it has events of a type and version
// with another payload than the catalogue of the program: each of the two has required fields that the other one lacks.
// Handlers would be given empty fields in their place.
//
//	type SchemaError struct {
//		Event    string
//		Version  int
//		Problem  string    // in words
//		Program  string    // that has stored the other schema
//		StoredAt time.Time // when; UTC
//	}
type SchemaError = engine.SchemaError

// fits returns what tells whether payloads that programs with another schema have stored are those of t.
func fits(t AnyEventType) func(stored engine.Schema) error {
	own := t.definition().(*eventType).private
	return func(stored engine.Schema) error {
		d := own().Compare(privacy.Read(stored.Text), stored.Version)
		if !d.Clash() {
			return nil
		}
		return &SchemaError{
			Event: t.Name(), Version: stored.Version, Problem: "it lacks " + strings.Join(d.Lacks, ", ") + ", and has " + strings.Join(d.Extra, ", ") + " instead",
			Program: stored.Program, StoredAt: stored.StoredAt,
		}
	}
}
