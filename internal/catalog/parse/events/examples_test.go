package events_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/catalog/parse/events"
)

func TestALineOfACatalogueDoesNotTakeAThousandTimesItsMemory(t *testing.T) {
	defer func(before int) { *events.MaxSamples = before }(*events.MaxSamples)
	*events.MaxSamples = 1 << 20
	var text strings.Builder
	text.WriteString("version: 1\npackage: p\ntypes:\n  Big: { fields: { text: { type: string, min_length: 30000 } } }\nevents:\n")
	for i := range 100 {
		fmt.Fprintf(&text, "  e%d.x: { payload: { b: Big } }\n", i)
	}
	_, findings := parse.Text("events.yaml", []byte(text.String()))
	if len(findings) != 1 || findings[0].Pos.Line != 40 || findings[0].Message != "the generated examples would be larger than 1 MiB in total" {
		t.Errorf("got %.300v", findings)
	}
}
