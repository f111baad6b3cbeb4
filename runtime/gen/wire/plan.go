package wire

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode"
	"unsafe"

	"github.com/google/uuid"
)

// A plan says how values of one type are written and read: what encoding/json finds out with reflection for each
// value, found out once. It has no code of its own for the type, so generated structs need none either.
//
// There is a plan only for a type whose JSON is known to be that of encoding/json: structs with tags, and the types
// of the catalogue language. A type with other methods that encoding/json calls has none.
type plan struct {
	kind   kind
	of     reflect.Type
	size   uintptr // of a value
	fields []field // of a struct
	elem   *plan   // of a list, a map or a pointer
	direct *direct // of a map that needs no reflection
	// encoder and decoder hold a pointer to some value of a type with methods of its own. An enum needs no encoder.
	encoder Encoder
	decoder Decoder
}

// field is a field of a struct.
type field struct {
	*plan
	offset uintptr
	key    string // with the colon, and the escapes of encoding/json
	later  string // key with the comma before it, if it is not the first in the object
	omits  bool   // it is left out if it is nil
}

// kind is how the values of a plan are written and read.
type kind uint8

const (
	none kind = iota // the plan is not complete yet
	boolean
	integer
	integer32
	integer64
	unsigned64
	float
	text
	bytesOf  // []byte
	moment   // time.Time
	uuidOf   // uuid.UUID
	document // json.RawMessage
	asText   // it has the text methods of package runtime
	own      // it has the methods WriteJSON and ReadJSON
	enum     // of strings; it has the method ReadJSON
	object
	list
	dictionary // map[string]T
	optional   // a pointer
)

// scalarsPackage has types whose JSON is what their methods AppendText and UnmarshalText say.
const scalarsPackage = "github.com/busgen/busgen/runtime"

var (
	known = map[reflect.Type]kind{
		reflect.TypeFor[bool](): boolean, reflect.TypeFor[int](): integer, reflect.TypeFor[int32](): integer32, reflect.TypeFor[int64](): integer64,
		reflect.TypeFor[uint64](): unsigned64, reflect.TypeFor[float64](): float, reflect.TypeFor[string](): text, reflect.TypeFor[[]byte](): bytesOf,
		reflect.TypeFor[time.Time](): moment, reflect.TypeFor[uuid.UUID](): uuidOf, reflect.TypeFor[json.RawMessage](): document,
	}
	// basic has the kinds of named types without methods. Lists, maps and pointers are not among them: encoding/json
	// may call methods of what is in those.
	basic = map[reflect.Kind]kind{
		reflect.Bool: boolean, reflect.Int: integer, reflect.Int32: integer32, reflect.Int64: integer64, reflect.Uint64: unsigned64,
		reflect.Float64: float, reflect.String: text,
	}
)

var plans sync.Map // of *plan by reflect.Type, nil for a type that has none

// planOf returns the plan of a type, or nil if only encoding/json knows its JSON.
func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := planning{}.of(t)
	plans.Store(t, p)
	return p
}

// planning has the plans that are being made, because a type can contain itself.
type planning map[reflect.Type]*plan

// of returns nil if there is no plan.
func (m planning) of(t reflect.Type) *plan {
	if p := m[t]; p != nil {
		return p
	}
	p := &plan{of: t, size: t.Size()}
	m[t] = p
	if p.kind = m.kindOf(t, p); p.kind == none {
		return nil
	}
	return p
}

// kindOf completes a plan.
func (m planning) kindOf(t reflect.Type, p *plan) kind {
	if k := known[t]; k != none {
		return k
	}
	if t.Name() != "" {
		switch {
		case t.PkgPath() == scalarsPackage && (t.Name() == "Date" || t.Name() == "Duration"):
			return asText
		case generated(t):
			if customized(t, t.PkgPath(), map[reflect.Type]bool{}) {
				return none
			}
			p.methods()
			switch {
			case p.encoder != nil:
				return own
			case t.Kind() == reflect.String:
				return enum
			}
			return integer
		case overruled(t):
			return none
		case t.Kind() != reflect.Struct:
			return basic[t.Kind()]
		}
	}
	switch t.Kind() {
	case reflect.Struct:
		return m.object(t, p)
	case reflect.Slice:
		return m.holding(list, t, p) // one of bytes is known, and there is no plan for bytes with a name
	case reflect.Map:
		if t.Key() == reflect.TypeFor[string]() {
			p.direct = directs[t]
			return m.holding(dictionary, t, p)
		}
	case reflect.Pointer:
		if t.Elem().Kind() != reflect.Pointer {
			return m.holding(optional, t, p)
		}
	}
	return none
}

// holding completes the plan of a type that consists of values of another.
func (m planning) holding(k kind, t reflect.Type, p *plan) kind {
	if p.elem = m.of(t.Elem()); p.elem == nil {
		return none
	}
	return k
}

// object completes the plan of a struct. All of its fields have tags, as those of generated structs have.
func (m planning) object(t reflect.Type, p *plan) kind {
	names := map[string]bool{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || !isKey(name) || names[name] || name == "-" && options == "" && !strings.HasSuffix(f.Tag.Get("json"), ",") {
			return none
		}
		names[name] = true
		of := m.of(f.Type)
		if of == nil || !omission(options, f.Type) {
			return none
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return none
		}
		p.fields = append(p.fields, field{plan: of, offset: f.Offset, key: string(quoted) + ":", later: "," + string(quoted) + ":", omits: options != ""})
	}
	return object
}

// omission reports whether the options of a tag say nothing, or that nil is left out and nothing else.
func omission(options string, t reflect.Type) bool {
	switch k := t.Kind(); options {
	case "":
		return true
	case "omitempty":
		return k == reflect.Pointer
	case "omitzero":
		return k == reflect.Slice || k == reflect.Map // without a name, and so without a method IsZero
	}
	return false
}

// isKey reports whether encoding/json takes a name from a tag.
func isKey(name string) bool {
	for _, c := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return name != ""
}

// overruled reports whether a type has methods that encoding/json calls.
func overruled(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	for _, custom := range customizing {
		if p.Implements(custom) {
			return true
		}
	}
	return false
}

// as returns the value at an address, as a pointer to it in an interface.
func (p *plan) as(at unsafe.Pointer) any { return reflect.NewAt(p.of, at).Interface() }

// methods completes the plan of a type that writes and reads itself.
func (p *plan) methods() {
	value := reflect.New(p.of).Interface()
	p.encoder, _ = value.(Encoder)
	p.decoder = value.(Decoder)
}

// pointed is how Go keeps an interface in memory that holds a pointer.
type pointed struct{ methods, pointer unsafe.Pointer }

// encoderAt returns the value at an address as an Encoder: it saves looking for the method again.
func (p *plan) encoderAt(at unsafe.Pointer) Encoder {
	e := p.encoder
	(*pointed)(unsafe.Pointer(&e)).pointer = at
	return e
}

func (p *plan) decoderAt(at unsafe.Pointer) Decoder {
	d := p.decoder
	(*pointed)(unsafe.Pointer(&d)).pointer = at
	return d
}

// WriteStruct writes a struct without methods of its own. value is a pointer to it. If the struct is one that only
// encoding/json can write, the Writer gives up.
func WriteStruct(w *Writer, value any) {
	v := reflect.ValueOf(value)
	if p := planOf(v.Type().Elem()); p != nil {
		w.set(p.append(w, w.buf, v.UnsafePointer()))
		return
	}
	w.giveUp()
}

// ReadStruct reads what WriteStruct has written into the zero value that into points to.
func ReadStruct(r *Reader, into any) {
	v := reflect.ValueOf(into)
	if p := planOf(v.Type().Elem()); p != nil {
		p.read(r, v.UnsafePointer())
		return
	}
	r.giveUp()
}
