package inspect_test

import (
	"testing"

	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestConformance(t *testing.T) { conformance.Run(t, inspection.SQLite, nil) }
