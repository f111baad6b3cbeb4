package edit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/edit"
)

func TestNamedScalarsAreRenamedAndFormatted(t *testing.T) {
	const before = "version: 1\npackage: p\ntypes:\n  OrderID: uuid # of all shops\n  Mail: { format: email, doc: A., type: string }\nevents:\n  a.done:\n    payload:\n      id: OrderID\n      ids: \"[]OrderID?\"\n"
	formatted, err := edit.Format([]byte(before))
	if err != nil {
		t.Fatal(err)
	}
	want := replace(before, "{ format: email, doc: A., type: string }", "{ doc: A., type: string, format: email }")
	if diff := cmp.Diff(want, string(formatted)); diff != "" {
		t.Error(diff)
	}
	change, err := edit.RenameType(one(want), "OrderID", "OrderNumber")
	if err != nil {
		t.Fatal(err)
	}
	want = replace(want, "  OrderID: uuid", "  OrderNumber: uuid", "id: OrderID", "id: OrderNumber", "[]OrderID?", "[]OrderNumber?")
	if diff := cmp.Diff(want, string(change.Files[0].Text)); diff != "" {
		t.Error(diff)
	}
}
