package runtime_test

import (
	"testing"

	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestConformance(t *testing.T) { conformance.Run(t, conformance.SQLite, nil) }

// suites has the names of the tests that any engine runs, with the folders, from the root of the module, of their tests
// on SQLite.
var suites = func() map[string]string {
	folders := map[string]string{}
	for _, name := range conformance.Names(conformance.SQLite) {
		folders[name] = "runtime"
	}
	for _, name := range conformance.Names(inspection.SQLite) {
		folders[name] = "runtime/inspect"
	}
	return folders
}()
