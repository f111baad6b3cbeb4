package runtime

import (
	"strings"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/privacy"
)

// fits returns what tells whether payloads that programs with another schema have stored are those of t.
func fits(t AnyEventType) func(stored event.Schema) error {
	own := t.definition().(*eventType).private
	return func(stored event.Schema) error {
		d := own().Compare(privacy.Read(stored.Text), stored.Version)
		if !d.Clash() {
			return nil
		}
		return &event.SchemaError{
			Event: t.Name(), Version: stored.Version, Problem: "it lacks " + strings.Join(d.Lacks, ", ") + ", and has " + strings.Join(d.Extra, ", ") + " instead",
			Program: stored.Program, StoredAt: stored.StoredAt,
		}
	}
}
