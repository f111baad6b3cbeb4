package wire

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/busgen/busgen/runtime/gen/deep"
)

// Encoder is implemented by generated payloads. WriteJSON writes what
// encoding/json would, or lets the Writer give up.
type Encoder interface {
	WriteJSON(w *Writer)
}

// Decoder is implemented by pointers to generated payloads. ReadJSON fills a
// zero value with what encoding/json would, or lets the Reader give up.
type Decoder interface {
	ReadJSON(r *Reader)
}

// Codec turns values of T into JSON and back. What comes out, errors included,
// is what encoding/json makes of them, whether or not T has generated methods.
// It is safe for concurrent use.
type Codec[T any] struct {
	scratch sync.Pool // of *scratch[T]; empty if T is left to encoding/json
	byHand  bool      // somebody has written JSON methods beside the generated ones
}

// scratch is the memory of one Encode or Decode. The value has its place there
// because what an interface points to cannot be on the stack.
type scratch[T any] struct {
	value   T
	encoder Encoder // of value
	decoder Decoder
	writer  Writer
	reader  Reader
}

// NewCodec returns a codec for T. It looks at T, which takes a while: keep the
// codec.
//
// It uses the methods of T if T is an [Encoder] and *T a [Decoder], with two
// exceptions. One is a T that embeds another struct, whose methods would leave
// out the rest. The other is a T in which a type of the same package has a method
// of json.Marshaler, json.Unmarshaler, encoding.TextMarshaler or
// encoding.TextUnmarshaler: whoever wrote it wants it to be called, and generated
// code does not know of it. Encode then refuses a value that does not come back.
func NewCodec[T any]() *Codec[T] {
	c := &Codec[T]{}
	t := reflect.TypeFor[T]()
	if !generated(t) {
		return c
	}
	if c.byHand = customized(t, t.PkgPath(), map[reflect.Type]bool{}); !c.byHand {
		c.scratch.New = func() any {
			s := new(scratch[T])
			s.encoder, s.decoder = any(&s.value).(Encoder), any(&s.value).(Decoder)
			return s
		}
	}
	return c
}

// Generated says whether it uses the generated methods of T. If not, T is left to
// encoding/json.
func (c *Codec[T]) Generated() bool { return c.scratch.New != nil }

// Encode returns the JSON of value, in memory of its own.
func (c *Codec[T]) Encode(value T) ([]byte, error) {
	if c.scratch.New != nil {
		if encoded := c.write(value); encoded != nil {
			return encoded, nil
		}
	}
	encoded, err := marshal(value)
	if err == nil && c.byHand {
		err = comesBack[T](encoded)
	}
	if err != nil {
		return nil, err
	}
	return encoded, nil
}

// Decode returns the value of which data is the JSON.
func (c *Codec[T]) Decode(data []byte) (T, error) {
	if c.scratch.New != nil {
		if value, ok := c.read(data); ok {
			return value, nil
		}
	}
	return unmarshal[T](data)
}

// largestKept is the size in bytes beyond which memory is not used again.
const largestKept = 64 << 10

// write returns nil if the methods of T give up.
func (c *Codec[T]) write(value T) (encoded []byte) {
	s := c.scratch.Get().(*scratch[T])
	s.value = value
	s.encoder.WriteJSON(&s.writer)
	if written, ok := s.writer.Finish(); ok {
		encoded = bytes.Clone(written)
	}
	s.writer.reset()
	c.release(s)
	return encoded
}

func (c *Codec[T]) read(data []byte) (value T, ok bool) {
	s := c.scratch.Get().(*scratch[T])
	s.reader.data = data
	s.decoder.ReadJSON(&s.reader)
	value, ok = s.value, s.reader.Finish()
	s.reader = Reader{}
	c.release(s)
	return value, ok
}

// release keeps s for another time, but nothing that it points to.
func (c *Codec[T]) release(s *scratch[T]) {
	var zero T
	s.value = zero
	if cap(s.writer.buf) <= largestKept && cap(s.writer.keys) <= largestKept/16 {
		c.scratch.Put(s)
	}
}

// marshal and unmarshal are functions of their own so that their values are on
// the heap only where they are called.
func marshal[T any](value T) ([]byte, error) { return json.Marshal(&value) }

func unmarshal[T any](data []byte) (value T, err error) {
	err = json.Unmarshal(data, &value)
	return value, err
}

// comesBack returns an error unless the JSON of a value is that of what is read from it.
func comesBack[T any](encoded []byte) error {
	back, err := unmarshal[T](encoded)
	if err != nil {
		return fmt.Errorf("it cannot be read back from its JSON, which methods of the program have written: %w", err)
	}
	again, err := marshal(back)
	if err != nil {
		return fmt.Errorf("what is read back from its JSON, which methods of the program have written, has none: %w", err)
	}
	if !deep.SameJSON(json.RawMessage(again), json.RawMessage(encoded)) { // whose keys may be in another order
		return fmt.Errorf("it does not come back from its JSON %.100s, which methods of the program have written, but as %.100s", encoded, again)
	}
	return nil
}

// generated reports whether t has the generated methods.
func generated(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[Encoder]()) && p.Implements(reflect.TypeFor[Decoder]())
}

// customized reports whether t, or a type of the same package inside of it, has
// methods with which encoding/json would treat it in a way of its own.
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

// generatedFor tells whether a type has the methods of custom from generated code,
// which writes and reads the same without them. Those that generated code has cannot
// be written beside it: Go would not compile them.
func generatedFor(t, custom reflect.Type) bool {
	if t.Kind() == reflect.Struct { // with former names or defaults
		return custom == reflect.TypeFor[json.Unmarshaler]() && t.Implements(reflect.TypeFor[interface{ UpgradeJSON([]byte) []byte }]())
	}
	enum := reflect.PointerTo(t).Implements(reflect.TypeFor[Decoder]()) && t.Implements(reflect.TypeFor[interface{ Valid() bool }]())
	switch custom {
	case reflect.TypeFor[json.Marshaler]():
		return enum && t.Kind() == reflect.Int
	}
	return enum && (t.Kind() == reflect.Int || t.Kind() == reflect.String)
}

var customizing = []reflect.Type{
	reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](),
	reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
}
