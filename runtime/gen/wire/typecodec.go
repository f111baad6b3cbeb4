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
	of     reflect.Type
	plan   *plan // nil if only encoding/json knows the JSON
	byHand bool  // there are handwritten JSON methods in generated types
}

// NewTypeCodec returns a codec for values of type t. It inspects t with reflection: make one
// codec for each type and keep it.
//
// The codec does without encoding/json for structs of the types that the catalogue language has, and for a type that
// is an [Encoder] and whose pointer is a [Decoder]. Exceptions are a type that embeds another struct, and one in
// which a type has a handwritten method of json.Marshaler, json.Unmarshaler, encoding.TextMarshaler or
// encoding.TextUnmarshaler. If that is in a generated type, Encode returns an error for a value that its JSON does
// not restore.
func NewTypeCodec(t reflect.Type) *TypeCodec {
	return newTypeCodec(t, generated(t))
}

// GeneratedTypeCodec is NewTypeCodec for the payload of an event type that generated code describes. Its structs have
// no methods that say so.
func GeneratedTypeCodec(t reflect.Type) *TypeCodec {
	return newTypeCodec(t, generated(t) || !reflected(t, t.PkgPath(), map[reflect.Type]bool{}))
}

func newTypeCodec(t reflect.Type, generated bool) *TypeCodec {
	c := &TypeCodec{of: t, plan: planOf(t)}
	if c.plan == nil && generated {
		c.byHand = customized(t, t.PkgPath(), map[reflect.Type]bool{})
	}
	return c
}

// Generated reports whether the codec does without encoding/json, and without methods that a person wrote.
func (c *TypeCodec) Generated() bool { return c.plan != nil }

// scratch is the memory of one Encode or Decode.
type scratch struct {
	writer  Writer
	reader  Reader
	results []byte // memory that the next results share
}

// sharedResults is how many bytes the results of several Encodes share, which are then allocated once. A program that
// keeps one of them keeps the memory of all, so it is not much, and a result of more than an eighth of it has memory of
// its own. Go allocates this size faster than 4 KiB: it asks for room for five at once, and of those of 4 KiB for two.
const sharedResults = 4864

// keep returns a copy of what was written.
func (s *scratch) keep(written []byte) []byte {
	n := len(written)
	if n > sharedResults/8 {
		return bytes.Clone(written)
	}
	if cap(s.results)-len(s.results) < n {
		s.results = make([]byte, 0, sharedResults)
	}
	at := len(s.results)
	s.results = s.results[:at+n] // append would also write the pointer again, as set says
	copy(s.results[at:], written)
	return s.results[at : at+n : at+n] // an append to it gets memory of its own
}

var scratches = sync.Pool{New: func() any { s := newScratch(); return &s }}

func newScratch() scratch { return scratch{reader: Reader{texts: []byte{}}} }

// largestKept is the size in bytes above which a buffer is not reused.
const largestKept = 64 << 10

// small reports whether the memory is not too large to be kept for the next call.
func (s *scratch) small() bool {
	return cap(s.writer.buf) <= largestKept && cap(s.writer.keys) <= largestKept/16
}

func (s *scratch) release() {
	if s.small() {
		scratches.Put(s)
	}
}

// Encode returns the JSON of the value that value points to. The caller owns the result. Results of up to 608 bytes
// share memory, 4864 bytes at a time.
func (c *TypeCodec) Encode(value any) ([]byte, error) {
	s := scratches.Get().(*scratch)
	encoded, err := c.encode(s, value)
	s.release()
	return encoded, err
}

// encode is Encode with the memory of the caller.
func (c *TypeCodec) encode(s *scratch, value any) ([]byte, error) {
	if c.plan != nil {
		if encoded := c.plan.encode(s, value); encoded != nil {
			return encoded, nil
		}
	}
	encoded, err := json.Marshal(inUTC(value))
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
	s := scratches.Get().(*scratch)
	err := c.decode(s, data, into)
	s.release()
	return err
}

// decode is Decode with the memory of the caller.
func (c *TypeCodec) decode(s *scratch, data []byte, into any) error {
	if c.plan != nil {
		if c.plan.decode(s, data, into) {
			return nil
		}
		reflect.ValueOf(into).Elem().SetZero()
	}
	return json.Unmarshal(data, into)
}

// encode returns the JSON of what value points to, or nil if the Writer gives up.
func (p *plan) encode(s *scratch, value any) (encoded []byte) {
	s.writer.set(p.append(&s.writer, s.writer.buf, reflect.ValueOf(value).UnsafePointer()))
	if written, ok := s.writer.Finish(); ok {
		encoded = s.keep(written)
	}
	s.writer.reset()
	return encoded
}

// decode returns false if the Reader gives up.
func (p *plan) decode(s *scratch, data []byte, into any) bool {
	s.reader.data = data
	p.read(&s.reader, reflect.ValueOf(into).UnsafePointer())
	ok := s.reader.Finish()
	s.reader.data, s.reader.at, s.reader.depth, s.reader.gaveUp = nil, 0, 0, false // its texts stay
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
