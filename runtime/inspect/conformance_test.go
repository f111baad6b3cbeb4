package inspect_test

import (
	"testing"

	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

// The log in memory, which is quicker, is asked for all with -short, too.
func TestConformance(t *testing.T) { conformance.Run(t, inspection.SQLite, nil, 20) }
