package runtime_test

import (
	"slices"
	"testing"

	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestConformance(t *testing.T) { conformance.Run(t, conformance.SQLite, nil) }

// suites has the names of the tests that any engine runs.
var suites = func() map[string]bool {
	names := map[string]bool{}
	for _, name := range slices.Concat(conformance.Names(conformance.SQLite), conformance.Names(inspection.SQLite)) {
		names[name] = true
	}
	return names
}()
