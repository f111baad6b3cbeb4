package wire

import (
	"encoding"
	"encoding/json"
	"reflect"
	"time"
	"unsafe"

	"github.com/google/uuid"
)

// read reads a value into memory that is zero.
func (p *plan) read(r *Reader, at unsafe.Pointer) {
	switch p.kind {
	case boolean:
		*(*bool)(at) = r.Bool()
	case integer:
		*(*int)(at) = r.Int()
	case integer32:
		*(*int32)(at) = r.Int32()
	case integer64:
		*(*int64)(at) = r.Int64()
	case unsigned64:
		*(*uint64)(at) = r.Uint64()
	case float:
		*(*float64)(at) = r.Float64()
	case text:
		*(*string)(at) = r.String()
	case bytesOf:
		*(*[]byte)(at) = r.Bytes()
	case moment:
		*(*time.Time)(at) = r.Time()
	case uuidOf:
		r.readUUID((*uuid.UUID)(at))
	case document:
		*(*json.RawMessage)(at) = r.JSON()
	case asText:
		r.Check(p.as(at).(encoding.TextUnmarshaler).UnmarshalText(r.Text()))
	case own, enum:
		p.decoderAt(at).ReadJSON(r)
	case object:
		p.readObject(r, at)
	case list:
		p.readList(r, at)
	case dictionary:
		if p.direct != nil {
			p.direct.read(r, at)
			return
		}
		p.readMap(r, at)
	case optional:
		if !r.null() {
			value := reflect.New(p.elem.of).UnsafePointer()
			*(*unsafe.Pointer)(at) = value
			p.elem.read(r, value)
		}
	}
}

func (p *plan) readObject(r *Reader, at unsafe.Pointer) {
	r.begin('{')
	first := true
	fields := p.fields
	for i := range fields {
		f := &fields[i]
		key := f.later
		if first {
			key = f.key
		}
		if r.skipWord(key) {
			first = false
			f.read(r, unsafe.Add(at, f.offset))
		}
	}
	r.EndObject()
}

func (p *plan) readList(r *Reader, at unsafe.Pointer) {
	if r.null() || !r.begin('[') {
		return
	}
	items := reflect.NewAt(p.of, at).Elem()
	s := (*slice)(at)
	*s = slice{first: unsafe.Pointer(&nothing)} // it is empty, and not nil
	for r.next('[', ']') {
		if s.len == s.cap {
			items.Grow(1)
		}
		s.len++ // Grow has made the memory zero
		p.elem.read(r, unsafe.Add(s.first, uintptr(s.len-1)*p.elem.size))
	}
}

// nothing is where the items of empty lists are.
var nothing struct{}

func (p *plan) readMap(r *Reader, at unsafe.Pointer) {
	if r.null() || !r.begin('{') {
		return
	}
	m := reflect.MakeMap(p.of)
	var key string
	name, value := reflect.ValueOf(&key).Elem(), reflect.New(p.elem.of)
	for r.next('{', '}') {
		key = r.String()
		r.expect(':')
		value.Elem().SetZero()
		p.elem.read(r, value.UnsafePointer())
		m.SetMapIndex(name, value.Elem())
	}
	reflect.NewAt(p.of, at).Elem().Set(m)
}
