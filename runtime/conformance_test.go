package runtime_test

import (
	"testing"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

// With -short the suite asks the log in memory only, which is quicker. .ci/run asks this one, too.
func TestConformance(t *testing.T) {
	short.Skip(t, "hundreds of buses have a file each")
	conformance.Run(t, conformance.SQLite, nil)
}

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
