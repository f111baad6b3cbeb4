package templates

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
)

func TestAnUpcastStubCopiesTheUnchangedFields(t *testing.T) {
	c, findings, err := parse.Load("../internal/catalog/parse/testdata/cases/valid_history/events.yaml")
	if err != nil || len(findings) > 0 {
		t.Fatal(findings, err)
	}
	placed := c.Events[0]
	got, err := Upcast(placed, 2)
	want := `// UpcastOrderPlacedV2 converts a stored payload of version 2.
func UpcastOrderPlacedV2(old OrderPlacedV2) (OrderPlaced, error) {
	return OrderPlaced{
		OrderID: old.OrderID,
		Total:   old.Total,
		// Lines: …, which is []string
	}, nil
}
`
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, err := Upcast(placed, 3); err == nil {
		t.Error("an upcast from the present version")
	}
}

// withUpcasts adds the functions that the user of a catalogue writes.
func withUpcasts(c *catalog.Catalogue) (string, error) {
	text := "package " + c.Package.V + "\n"
	for _, e := range c.Events {
		for _, old := range e.History {
			one, err := Upcast(e, old.Version.V)
			if err != nil {
				return "", err
			}
			text += "\n" + one
		}
	}
	return text, nil
}
