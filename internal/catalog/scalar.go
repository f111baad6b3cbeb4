package catalog

import "strings"

// A named scalar is a Go type of its own for values of a built-in type: OrderID for uuid. A [TypeRef] that names one
// has the Kind of the built-in type, and fields have the constraints of their named scalars. So only what is about Go
// need know of it, and exports: stored events, their schemas and the record have the built-in type.

// IsScalar tells a named scalar from the others.
func (t *Type) IsScalar() bool { return t.Scalar != nil }

// Settle makes a reference to a named scalar, which was read as one to any declared type, that of the built-in type.
func (t *TypeRef) Settle() {
	if t.Kind == Named && t.Named.IsScalar() {
		t.Kind, t.Go, t.Named, t.Scalar = t.Named.Scalar.Kind, t.Named.Scalar.Go, nil, t.Named
	}
}

// WithScalars returns constraints of values of type t, with those of the named scalars in it.
func (c Constraints) WithScalars(t *TypeRef) Constraints {
	switch {
	case t.Scalar != nil:
		return t.Scalar.Constraints
	case t.IsCollection():
		if each := c.OfEach().WithScalars(t.Elem); each != (Constraints{}) {
			c.Each = &each
		}
	}
	return c
}

// Uses returns the declared type or the named scalar at the bottom of t, or nil.
func (t *TypeRef) Uses() *Type {
	for t.Elem != nil {
		t = t.Elem
	}
	if t.Scalar != nil {
		return t.Scalar
	}
	return t.Named
}

// WireText returns the text of t as a catalogue without named scalars has it: []uuid? for []OrderID?.
func (t *TypeRef) WireText() string {
	bottom := t
	for bottom.Elem != nil {
		bottom = bottom.Elem
	}
	if bottom.Scalar == nil {
		return t.Text
	}
	_, mark := CutMark(t.Text)
	return t.Text[:strings.LastIndexByte(t.Text, ']')+1] + bottom.Scalar.Scalar.Text + mark
}
