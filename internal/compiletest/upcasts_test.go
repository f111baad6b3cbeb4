package compiletest

import (
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/templates"
)

func TestAnOldVersionWithoutItsUpcastDoesNotCompile(t *testing.T) {
	c, findings := parse.Text("events.yaml", []byte(`
version: 1
package: events
events:
  order.placed:
    version: 3
    payload: { order_id: uuid, total: int64 }
    history:
      1: { payload: { order_id: uuid } }
      2: { payload: { order_id: uuid, total: string } }
`))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	generated, err := templates.Files(c, templates.Target{})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, file := range generated {
		files[file.Name] = string(file.Content)
	}
	const right = `package events

func UpcastOrderPlacedV1(old OrderPlacedV1) (OrderPlacedV2, error) {
	return OrderPlacedV2{OrderID: old.OrderID}, nil
}

func UpcastOrderPlacedV2(old OrderPlacedV2) (OrderPlaced, error) {
	return OrderPlaced{OrderID: old.OrderID}, nil
}
`
	tests := map[string]struct {
		from, to string
		says     []string // nothing: it compiles
	}{
		"both are there": {},
		"one is missing": {"UpcastOrderPlacedV2(old", "upcast(old", []string{"undefined: UpcastOrderPlacedV2"}},
		"one returns another version": {"V1(old OrderPlacedV1) (OrderPlacedV2, error) {\n\treturn OrderPlacedV2", "V1(old OrderPlacedV1) (OrderPlaced, error) {\n\treturn OrderPlaced",
			[]string{"UpcastOrderPlacedV1", "(OrderPlaced, error)"}},
		"one cannot fail": {"(OrderPlaced, error) {\n\treturn OrderPlaced{OrderID: old.OrderID}, nil", "OrderPlaced {\n\treturn OrderPlaced{OrderID: old.OrderID}",
			[]string{"UpcastOrderPlacedV2", "OrderPlaced"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files["upcasts.go"] = strings.Replace(right, test.from, test.to, 1)
			if test.from != "" && files["upcasts.go"] == right {
				t.Fatal("the change changes nothing")
			}
			_, found := compile(t, eventsPath, files, nil)
			if test.says == nil {
				requireNone(t, found)
				return
			}
			if len(found) == 0 {
				t.Fatal("it compiles")
			}
			for _, part := range test.says {
				if !strings.Contains(found[0].message, part) {
					t.Errorf("the compiler says %s, want %q in it", found[0].message, part)
				}
			}
		})
	}
}
