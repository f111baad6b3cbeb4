package parse_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/short"
)

// An alias stays what it is: what it stands for is not repeated.
func TestAliasesThatExplodeAreRefusedAtOnce(t *testing.T) {
	var text strings.Builder
	text.WriteString("version: 1\npackage: p\nx0: &a0 [lol]\n")
	for i := 1; i < 100; i++ {
		fmt.Fprintf(&text, "x%d: &a%d [*a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d]\n", i, i, i-1)
	}
	text.WriteString("events: *a99\n")
	if _, findings := parse.Text("events.yaml", []byte(text.String())); len(findings) < 100 {
		t.Errorf("got %d findings", len(findings))
	}
}

// Places in one very long line are found without copying it. This took minutes.
func TestACatalogueCanBeOneLongLine(t *testing.T) {
	short.Visit(t, "it reads large catalogues")
	var text strings.Builder
	text.WriteString("{version: 1, package: p, events: {")
	for i := range 20_000 {
		fmt.Fprintf(&text, "e%d.happened: { payload: { id: uuid } }, ", i)
	}
	text.WriteString("}}")
	if c, findings := parse.Text("events.yaml", []byte(text.String())); c == nil || len(c.Events) != 20_000 {
		t.Errorf("got %.300v", findings)
	}
}
