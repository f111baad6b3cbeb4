package wire

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"
)

// Encoder is implemented by generated payloads, but not by enums: the runtime writes their text or number. WriteJSON
// writes the same as encoding/json, or makes the Writer give up.
type Encoder interface {
	WriteJSON(w *Writer)
}

// Decoder is implemented by pointers to generated payloads. ReadJSON decodes into a
// zero value as encoding/json does, or makes the Reader give up.
type Decoder interface {
	ReadJSON(r *Reader)
}

// Codec turns values of T into JSON and back. The results, errors included, are those
// of encoding/json, whether or not T has generated methods. It is safe for concurrent
// use.
type Codec[T any] struct {
	of    *TypeCodec
	cells sync.Pool // of *cell[T]
}

// cell is the memory of one call: a value that an interface points to cannot be on the stack. It has a scratch of its
// own, because taking one thing from a pool is faster than taking two.
type cell[T any] struct {
	scratch
	value T
}

// NewCodec returns a codec for T, as [NewTypeCodec] does: make one codec for each type
// and keep it.
func NewCodec[T any]() *Codec[T] { return &Codec[T]{of: NewTypeCodec(reflect.TypeFor[T]())} }

// Generated reports whether the codec uses the generated methods of T. If not, it uses
// encoding/json.
func (c *Codec[T]) Generated() bool { return c.of.Generated() }

// Encode returns the JSON of value. The caller owns the result.
func (c *Codec[T]) Encode(value T) ([]byte, error) {
	m := c.cell()
	m.value = value
	encoded, err := c.of.encode(&m.scratch, &m.value)
	c.release(m)
	return encoded, err
}

// Decode returns the value whose JSON is data.
func (c *Codec[T]) Decode(data []byte) (T, error) {
	m := c.cell()
	err := c.of.decode(&m.scratch, data, &m.value)
	value := m.value
	c.release(m)
	return value, err
}

func (c *Codec[T]) cell() *cell[T] {
	if m, ok := c.cells.Get().(*cell[T]); ok {
		return m
	}
	return &cell[T]{scratch: newScratch()}
}

func (c *Codec[T]) release(m *cell[T]) {
	var zero T
	m.value = zero
	if m.small() {
		c.cells.Put(m)
	}
}

// generated reports whether t has the generated methods.
func generated(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[Decoder]()) && (p.Implements(reflect.TypeFor[Encoder]()) || isEnum(t))
}

// isEnum reports whether t is a generated enum.
func isEnum(t reflect.Type) bool {
	return (t.Kind() == reflect.Int || t.Kind() == reflect.String) &&
		reflect.PointerTo(t).Implements(reflect.TypeFor[Decoder]()) && t.Implements(reflect.TypeFor[interface{ Valid() bool }]())
}

// customized reports whether t, or a type of the same package inside of it, has
// handwritten methods that encoding/json calls.
func customized(t reflect.Type, pkg string, seen map[reflect.Type]bool) bool {
	if seen[t] || t.Name() != "" && t.PkgPath() != pkg {
		return false
	}
	seen[t] = true
	p := reflect.PointerTo(t)
	for _, custom := range customizing {
		if t.Name() != "" && p.Implements(custom) && !generatedFor(t, custom) {
			return true
		}
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer, reflect.Map:
		return customized(t.Elem(), pkg, seen)
	case reflect.Struct:
		for i := range t.NumField() {
			// Methods of an embedded field would leave out the others.
			if f := t.Field(i); f.Anonymous || customized(f.Type, pkg, seen) {
				return true
			}
		}
	}
	return false
}

// reflected reports whether t, or a type of the same package inside of it, has a field with a union or with a type of a
// person: generated structs have JSON methods then.
func reflected(t reflect.Type, pkg string, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if t.Name() != "" && t.PkgPath() != pkg {
		return known[t] == none && t.PkgPath() != scalarsPackage && overruled(t) && !generated(t)
	}
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Slice, reflect.Pointer, reflect.Map:
		return reflected(t.Elem(), pkg, seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if reflected(t.Field(i).Type, pkg, seen) {
				return true
			}
		}
	}
	return false
}

// generatedFor reports whether the methods of custom are generated ones. Generated code
// reads and writes the same without calling them. A handwritten method of the same name
// would not compile beside a generated one.
func generatedFor(t, custom reflect.Type) bool {
	if isScalar(t) {
		return custom == reflect.TypeFor[encoding.TextMarshaler]() || custom == reflect.TypeFor[encoding.TextUnmarshaler]()
	}
	if t.Kind() == reflect.Struct { // with former names or defaults
		return custom == reflect.TypeFor[json.Unmarshaler]() && t.Implements(reflect.TypeFor[interface{ UpgradeJSON([]byte) []byte }]())
	}
	return isEnum(t) && (t.Kind() == reflect.Int || custom != reflect.TypeFor[json.Marshaler]())
}

// isScalar reports whether t is a named scalar that has generated text methods. It is an array or a struct then: a
// UUID, a date or a Go type of go_types. The fields of generated structs have tags, and those of such a type do not.
// Others, such as durations, look like named scalars without these methods, and use encoding/json.
func isScalar(t reflect.Type) bool {
	if !reflect.PointerTo(t).Implements(reflect.TypeFor[Decoder]()) {
		return false
	}
	if t.Kind() == reflect.Struct && t.NumField() > 0 {
		_, tagged := t.Field(0).Tag.Lookup("json")
		return !tagged
	}
	return t.Kind() == reflect.Array
}

var customizing = []reflect.Type{
	reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](),
	reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
}
