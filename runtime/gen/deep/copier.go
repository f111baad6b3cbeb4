package deep

import (
	std "maps"
	"reflect"
	"sync"
	"time"
	"unsafe"

	"github.com/google/uuid"
)

// A Copier makes deep copies of values of one type, without code that is made for that type. It is safe for concurrent
// use.
type Copier struct {
	of     reflect.Type
	parts  []part  // of a struct: the fields that an assignment would share
	elem   *Copier // of what a pointer, a list or a map refers to
	list   any     // a nil pointer to a list of the type; nil for other types
	arrays []any   // of a list whose items an assignment copies: nil pointers to arrays of 1, 2, … items
	shares bool    // an assignment is no deep copy
	open   bool    // it is being made, so shares is not known yet
}

// part is a field of a struct.
type part struct {
	*Copier
	offset uintptr
}

// CopierOf returns the copier of a type, or nil for a type with parts that only their own code can copy: interfaces,
// and structs with fields that are not exported and refer to something.
func CopierOf(t reflect.Type) *Copier {
	if c, ok := copiers.Load(t); ok {
		return c.(*Copier)
	}
	c := copying{}.of(t)
	copiers.Store(t, c)
	return c
}

var copiers sync.Map // of *Copier by reflect.Type, nil for a type that has none

// Into copies the value that from points to into the one that to points to. Both are pointers to values of the type.
func (c *Copier) Into(to, from any) {
	v, old := reflect.ValueOf(to), reflect.ValueOf(from)
	v.Elem().Set(old.Elem())
	c.separate(v.UnsafePointer(), old.UnsafePointer())
}

// copying has the copiers that are being made, because a type can contain itself.
type copying map[reflect.Type]*Copier

// of returns nil if there is no copier.
func (m copying) of(t reflect.Type) *Copier {
	if c := m[t]; c != nil {
		return c
	}
	c := &Copier{of: t, open: true}
	m[t] = c
	defer func() { c.open = false }()
	if t == reflect.TypeFor[time.Time]() {
		return c // its location is never changed
	}
	ok := true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		c.shares = true
		c.elem = m.of(t.Elem())
		if t.Kind() == reflect.Slice {
			c.list = reflect.Zero(reflect.PointerTo(t)).Interface()
			if c.elem != nil && !c.elem.shares && !c.elem.open {
				for n := range shortList {
					c.arrays = append(c.arrays, reflect.Zero(reflect.PointerTo(reflect.ArrayOf(n+1, t.Elem()))).Interface())
				}
			}
		}
		ok = c.elem != nil && (t.Kind() != reflect.Map || t.Key().Kind() == reflect.String)
	case reflect.Array:
		elem := m.of(t.Elem())
		ok = elem != nil && !elem.shares
	case reflect.Struct:
		ok = m.fields(t, c)
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		ok = false
	}
	if !ok {
		return nil
	}
	return c
}

func (m copying) fields(t reflect.Type, c *Copier) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		of := m.of(f.Type)
		if of == nil || of.shares && !f.IsExported() {
			return false
		}
		if of.shares || of.open {
			c.shares = true
			c.parts = append(c.parts, part{of, f.Offset})
		}
	}
	return true
}

// separate gives the value at an address, which was assigned from another one, its own copy of everything that both
// share.
func (c *Copier) separate(to, from unsafe.Pointer) {
	if !c.shares {
		return
	}
	switch c.of.Kind() {
	case reflect.Struct:
		for _, p := range c.parts {
			p.separate(unsafe.Add(to, p.offset), unsafe.Add(from, p.offset))
		}
	case reflect.Pointer:
		if old := *(*unsafe.Pointer)(from); old != nil {
			v := reflect.New(c.elem.of)
			v.Elem().Set(reflect.NewAt(c.elem.of, old).Elem())
			*(*unsafe.Pointer)(to) = v.UnsafePointer()
			c.elem.separate(v.UnsafePointer(), old)
		}
	case reflect.Slice:
		c.separateList((*slice)(to), (*slice)(from))
	case reflect.Map:
		if separate := maps[c.of]; separate != nil {
			separate(to)
		} else {
			c.separateMap(to)
		}
	}
}

// slice is how Go keeps a list in memory.
type slice struct {
	first    unsafe.Pointer // nil for a nil list
	len, cap int
}

// shortList is how many items a list has at most that is copied as an array, which takes less time.
const shortList = 4

// nothing is where the items of empty lists are.
var nothing struct{}

func (c *Copier) separateList(to, from *slice) {
	if from.first == nil {
		return
	}
	if n := from.len; 0 < n && n <= len(c.arrays) {
		old := reflect.ValueOf(at(c.arrays[n-1], from.first)).Elem()
		items := reflect.New(old.Type())
		items.Elem().Set(old)
		*to = slice{items.UnsafePointer(), n, n}
		return
	}
	*to = slice{first: unsafe.Pointer(&nothing)}
	v := c.listAt(to)
	v.Grow(from.len)
	v.SetLen(from.len)
	reflect.Copy(v, c.listAt(from))
	if !c.elem.shares {
		return
	}
	for i := range from.len {
		at := uintptr(i) * c.elem.of.Size()
		c.elem.separate(unsafe.Add(to.first, at), unsafe.Add(from.first, at))
	}
}

func (c *Copier) listAt(list *slice) reflect.Value {
	return reflect.ValueOf(at(c.list, unsafe.Pointer(list))).Elem()
}

// at returns a pointer of the same type to an address. reflect.NewAt would look up the type of the pointer each time.
func at(nilPointer any, address unsafe.Pointer) any {
	(*pointer)(unsafe.Pointer(&nilPointer)).to = address
	return nilPointer
}

// pointer is how Go keeps a pointer in an interface.
type pointer struct{ of, to unsafe.Pointer }

// maps has functions for maps that can be copied without reflection.
var maps = map[reflect.Type]func(at unsafe.Pointer){}

func init() {
	flat[string]()
	flat[bool]()
	flat[int]()
	flat[int32]()
	flat[int64]()
	flat[uint64]()
	flat[float64]()
	flat[time.Time]()
	flat[uuid.UUID]()
}

// flat adds the function for maps with values of a type.
func flat[V any]() {
	maps[reflect.TypeFor[map[string]V]()] = func(at unsafe.Pointer) {
		m := (*map[string]V)(at)
		*m = std.Clone(*m)
	}
}

func (c *Copier) separateMap(at unsafe.Pointer) {
	v := reflect.NewAt(c.of, at).Elem()
	if v.IsNil() {
		return
	}
	to := reflect.MakeMapWithSize(c.of, v.Len())
	key, value, old := reflect.New(c.of.Key()).Elem(), reflect.New(c.elem.of), reflect.New(c.elem.of)
	for all := v.MapRange(); all.Next(); {
		key.SetIterKey(all)
		value.Elem().SetIterValue(all)
		old.Elem().Set(value.Elem())
		c.elem.separate(value.UnsafePointer(), old.UnsafePointer())
		to.SetMapIndex(key, value.Elem())
	}
	v.Set(to)
}
