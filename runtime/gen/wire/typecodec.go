package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/busgen/busgen/runtime/gen/deep"
)

// TypeCodec is a [Codec] that takes pointers to values of its type. The compiler makes it
// once for all types, and not once for each. It is safe for concurrent use.
type TypeCodec struct {
	of       reflect.Type
	generate bool // it uses the generated methods
	byHand   bool // there are handwritten JSON methods beside the generated ones
}

// NewTypeCodec returns a codec for values of type t. It inspects t with reflection: make one
// codec for each type and keep it.
//
// The codec uses the methods of t if t is an [Encoder] and the pointer to t a [Decoder], with
// two exceptions. One is a type that embeds another struct: the promoted methods of that struct
// would leave out the other fields. The other is a type in which a type of the same package
// has a handwritten method of json.Marshaler, json.Unmarshaler, encoding.TextMarshaler or
// encoding.TextUnmarshaler, which generated code would not call. In that case Encode
// returns an error for a value that its JSON does not restore.
func NewTypeCodec(t reflect.Type) *TypeCodec {
	c := &TypeCodec{of: t}
	if generated(t) {
		c.byHand = customized(t, t.PkgPath(), map[reflect.Type]bool{})
		c.generate = !c.byHand
	}
	return c
}

// Generated reports whether the codec uses generated methods. If not, it uses
// encoding/json.
func (c *TypeCodec) Generated() bool { return c.generate }

// scratch is the memory of one Encode or Decode.
type scratch struct {
	writer Writer
	reader Reader
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// largestKept is the size in bytes above which a buffer is not reused.
const largestKept = 64 << 10

func (s *scratch) release() {
	if cap(s.writer.buf) <= largestKept && cap(s.writer.keys) <= largestKept/16 {
		scratches.Put(s)
	}
}

// Encode returns the JSON of the value that value points to. The caller owns the result.
func (c *TypeCodec) Encode(value any) ([]byte, error) {
	if c.generate {
		if encoded := write(value.(Encoder)); encoded != nil {
			return encoded, nil
		}
	}
	encoded, err := json.Marshal(value)
	if err == nil && c.byHand {
		err = c.comesBack(encoded)
	}
	if err != nil {
		return nil, err
	}
	return encoded, nil
}

// Decode reads data, the JSON of a value, into the zero value that into points to. After an
// error it may have been filled in part.
func (c *TypeCodec) Decode(data []byte, into any) error {
	if c.generate {
		if read(data, into.(Decoder)) {
			return nil
		}
		reflect.ValueOf(into).Elem().SetZero()
	}
	return json.Unmarshal(data, into)
}

// write returns nil if the generated methods give up.
func write(value Encoder) (encoded []byte) {
	s := scratches.Get().(*scratch)
	value.WriteJSON(&s.writer)
	if written, ok := s.writer.Finish(); ok {
		encoded = bytes.Clone(written)
	}
	s.writer.reset()
	s.release()
	return encoded
}

func read(data []byte, into Decoder) bool {
	s := scratches.Get().(*scratch)
	s.reader.data = data
	into.ReadJSON(&s.reader)
	ok := s.reader.Finish()
	s.reader = Reader{}
	s.release()
	return ok
}

// comesBack decodes JSON and encodes it again. It returns an error unless the result is
// the same JSON.
func (c *TypeCodec) comesBack(encoded []byte) error {
	back := reflect.New(c.of).Interface()
	if err := json.Unmarshal(encoded, back); err != nil {
		return fmt.Errorf("it cannot be read back from its JSON, which methods of the program have written: %w", err)
	}
	again, err := json.Marshal(back)
	if err != nil {
		return fmt.Errorf("what is read back from its JSON, which methods of the program have written, has none: %w", err)
	}
	if !deep.SameJSON(json.RawMessage(again), json.RawMessage(encoded)) { // whose keys may be in another order
		return fmt.Errorf("it does not come back from its JSON %.100s, which methods of the program have written, but as %.100s", encoded, again)
	}
	return nil
}
