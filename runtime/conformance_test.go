package runtime_test

import (
	"testing"

	"github.com/busgen/busgen/runtime/internal/conformance"
)

func TestConformance(t *testing.T) { conformance.Run(t, conformance.SQLite, nil) }
