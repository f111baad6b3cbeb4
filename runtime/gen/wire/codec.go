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

// Encoder is implemented by generated payloads. WriteJSON writes the same as
// encoding/json, or makes the Writer give up.
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
	scratch sync.Pool // of *scratch[T]; has no New if only encoding/json is used
	byHand  bool      // there are handwritten JSON methods beside the generated ones
}

// scratch is the memory of one Encode or Decode. It holds the value, because a value
// that an interface points to cannot be on the stack.
type scratch[T any] struct {
	value   T
	encoder Encoder // of value
	decoder Decoder
	writer  Writer
	reader  Reader
}

// NewCodec returns a codec for T. It inspects T with reflection: make one codec for each
// type and keep it.
//
// The codec uses the methods of T if T is an [Encoder] and *T a [Decoder], with two
// exceptions. One is a T that embeds another struct: the promoted methods of that struct
// would leave out the other fields. The other is a T in which a type of the same package
// has a handwritten method of json.Marshaler, json.Unmarshaler, encoding.TextMarshaler or
// encoding.TextUnmarshaler, which generated code would not call. In that case Encode
// returns an error for a value that its JSON does not restore.
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

// Generated reports whether the codec uses the generated methods of T. If not, it uses
// encoding/json.
func (c *Codec[T]) Generated() bool { return c.scratch.New != nil }

// Encode returns the JSON of value. The caller owns the result.
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

// Decode returns the value whose JSON is data.
func (c *Codec[T]) Decode(data []byte) (T, error) {
	if c.scratch.New != nil {
		if value, ok := c.read(data); ok {
			return value, nil
		}
	}
	return unmarshal[T](data)
}

// largestKept is the size in bytes above which a buffer is not reused.
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

// release puts s back into the pool, without references to the value.
func (c *Codec[T]) release(s *scratch[T]) {
	var zero T
	s.value = zero
	if cap(s.writer.buf) <= largestKept && cap(s.writer.keys) <= largestKept/16 {
		c.scratch.Put(s)
	}
}

// marshal and unmarshal are separate functions so that their values are moved to the
// heap only when they are called.
func marshal[T any](value T) ([]byte, error) { return json.Marshal(&value) }

func unmarshal[T any](data []byte) (value T, err error) {
	err = json.Unmarshal(data, &value)
	return value, err
}

// comesBack decodes JSON and encodes it again. It returns an error unless the result is
// the same JSON.
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

// generatedFor reports whether the methods of custom are generated ones. Generated code
// reads and writes the same without calling them. A handwritten method of the same name
// would not compile beside a generated one.
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
