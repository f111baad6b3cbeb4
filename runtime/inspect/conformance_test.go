package inspect_test

import (
	"testing"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

// With -short the suite asks the log in memory only, which is quicker. .ci/run asks this one, too.
func TestConformance(t *testing.T) {
	short.Skip(t, "a hundred buses have a file each")
	conformance.Run(t, inspection.SQLite, nil)
}
