package templates

import "github.com/busgen/busgen/internal/catalog"

// hasCodec reports whether a type is written and read without encoding/json. Types with
// a union or a custom Go type in them are not: a union is read in two steps, and a
// custom type has its own JSON methods.
func hasCodec(t *catalog.TypeRef) bool { return !t.Reflected() }

// hasJSONMethods reports whether the Go type has the methods WriteJSON and ReadJSON itself.
func hasJSONMethods(t *catalog.TypeRef) bool {
	return t.Kind == catalog.Named && !isPlanned(t) || t.Scalar != nil
}

// isPlanned reports whether t is a struct that the runtime writes and reads without methods for it.
func isPlanned(t *catalog.TypeRef) bool { return t.IsStruct() && typeShape(t.Named).planned() }

// planned reports whether the runtime finds out by itself how the struct is written and read: its fields are present
// under their names, and of the types of the catalogue language.
func (s shape) planned() bool {
	return s.all(hasCodec) && !s.hasOlder() && !s.any(hasGoType)
}

// hasGoType reports whether values of t, but for those of declared types inside of it, are of a type of go_types.
func hasGoType(t *catalog.TypeRef) bool {
	return t.Go != nil || t.Elem != nil && hasGoType(t.Elem)
}

// structRef is the type of a field that has a declared type.
func structRef(t *catalog.Type) *catalog.TypeRef {
	return &catalog.TypeRef{Kind: catalog.Named, Named: t, Text: t.GoName}
}

// shape is a struct to emit: the payload of an event, or a type.
type shape struct {
	receiver  string // of its methods
	goName    string
	fields    []*catalog.Field
	recursive bool // a value can contain another
}

// The receivers of methods. They are the same for every type, so that none
// collides with a variable of the method.
const (
	payloadReceiver = "p"
	valueReceiver   = "v"
)

func eventShape(e *catalog.Event) shape {
	return shape{receiver: payloadReceiver, goName: e.GoName, fields: e.Fields}
}

func typeShape(t *catalog.Type) shape {
	return shape{receiver: valueReceiver, goName: t.GoName, fields: t.Fields, recursive: t.Recursive}
}

// all reports whether is returns true for the types of all fields.
func (s shape) all(is func(*catalog.TypeRef) bool) bool {
	for _, f := range s.fields {
		if !is(f.Type) {
			return false
		}
	}
	return true
}

// any reports whether is returns true for the type of at least one field.
func (s shape) any(is func(*catalog.TypeRef) bool) bool {
	return !s.all(func(t *catalog.TypeRef) bool { return !is(t) })
}

// descends reports whether a recursive method passes its descent to the method of t,
// because a value of t can contain a value of the shape.
func descends(within bool, t *catalog.TypeRef) bool {
	return within && t.Kind == catalog.Named && hasDescent(t.Named)
}

// hasDescent reports whether the unexported methods and functions of t take a descent.
// Those of another package cannot be called, and its types cannot contain types of this
// package.
func hasDescent(t *catalog.Type) bool { return t.Recursive && t.Package == nil }
