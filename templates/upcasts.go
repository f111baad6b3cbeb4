package templates

import (
	"bytes"
	"fmt"
	"go/format"

	"github.com/busgen/busgen/internal/catalog"
)

// Upcast returns a first version of the function that turns payloads of an old
// version into the next: it copies what has kept its name and its type. It is
// written once, for a person to go on with, and never generated again.
func Upcast(e *catalog.Event, version int) (string, error) {
	for i, old := range e.History {
		if old.Version.V != version {
			continue
		}
		next := e.Fields
		if i+1 < len(e.History) {
			next = e.History[i+1].Type.Fields
		}
		return upcast(old, nextShape(e, i), next)
	}
	return "", fmt.Errorf("the history of event %s has no version %d", e.Name.V, version)
}

// upcast writes
//
//	func Upcast<Event>V1(old <Event>V1) (<Event>, error) {
//		return <Event>{
//			<Field>: old.<Field>,
//			// <Field>: …, // <type>
//		}, nil
//	}
func upcast(old *catalog.OldShape, goName string, next []*catalog.Field) (string, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// %s converts a stored payload of version %d.\n", old.UpcastName(), old.Version.V)
	fmt.Fprintf(&b, "func %s(old %s) (%s, error) {\n\treturn %s{\n", old.UpcastName(), old.Type.GoName, goName, goName)
	for _, f := range next {
		if same := fieldLike(old.Type.Fields, f); same != nil {
			fmt.Fprintf(&b, "%s: old.%s,\n", f.GoName, same.GoName)
		} else {
			fmt.Fprintf(&b, "// %s: …, which is %s\n", f.GoName, oneLine(f.Type.Text))
		}
	}
	b.WriteString("\t}, nil\n}\n")
	formatted, err := format.Source(b.Bytes())
	return string(formatted), err
}

// fieldLike returns the field that the catalogue calls the same, with the same Go type.
func fieldLike(fields []*catalog.Field, like *catalog.Field) *catalog.Field {
	for _, f := range fields {
		if f.Label() == like.Label() && fmt.Sprintf("%#v", goType(f.Type)) == fmt.Sprintf("%#v", goType(like.Type)) {
			return f
		}
	}
	return nil
}
