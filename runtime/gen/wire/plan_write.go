package wire

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/google/uuid"
)

// write writes the value at an address.
func (p *plan) write(w *Writer, at unsafe.Pointer) {
	switch p.kind {
	case boolean:
		w.Bool(*(*bool)(at))
	case integer:
		w.Int64(int64(*(*int)(at)))
	case integer32:
		w.Int64(int64(*(*int32)(at)))
	case integer64:
		w.Int64(*(*int64)(at))
	case unsigned64:
		w.Uint64(*(*uint64)(at))
	case float:
		w.Float64(*(*float64)(at))
	case text:
		w.String(*(*string)(at))
	case bytesOf:
		w.Bytes(*(*[]byte)(at))
	case moment:
		w.Time(*(*time.Time)(at))
	case uuidOf:
		w.UUID(*(*uuid.UUID)(at))
	case document:
		w.JSON(*(*json.RawMessage)(at))
	case asText:
		WriteText(w, p.as(at).(encoding.TextAppender))
	case own:
		p.encoderAt(at).WriteJSON(w)
	case object:
		p.writeObject(w, at)
	case list:
		p.writeList(w, (*slice)(at))
	case dictionary:
		if p.direct != nil {
			p.direct.write(w, at)
			return
		}
		p.writeMap(w, at)
	case optional:
		if to := *(*unsafe.Pointer)(at); to != nil {
			p.elem.write(w, to)
		} else {
			w.Null()
		}
	}
}

func (p *plan) writeObject(w *Writer, at unsafe.Pointer) {
	if !w.begin('{') {
		return
	}
	first := true
	for i := range p.fields {
		f := &p.fields[i]
		value := unsafe.Add(at, f.offset)
		if f.omits && *(*unsafe.Pointer)(value) == nil { // a pointer, or the first word of a list or a map
			continue
		}
		if first {
			w.buf = append(w.buf, f.key...)
			first = false
		} else {
			w.buf = append(w.buf, f.later...)
		}
		f.write(w, value)
	}
	w.end('}')
}

// slice is how Go keeps a list in memory.
type slice struct {
	first    unsafe.Pointer // nil for a nil list
	len, cap int
}

func (p *plan) writeList(w *Writer, s *slice) {
	if s.first == nil {
		w.Null()
		return
	}
	if !w.begin('[') {
		return
	}
	for i := range s.len {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		p.elem.write(w, unsafe.Add(s.first, uintptr(i)*p.elem.size))
	}
	w.end(']')
}

// entries are those of a map, in memory that is used again.
type entries struct {
	keys   []string
	order  []int         // of the keys
	values reflect.Value // a list with a value for each key
	all    reflect.MapIter
}

func (p *plan) writeMap(w *Writer, at unsafe.Pointer) {
	m := reflect.NewAt(p.of, at).Elem()
	if m.IsNil() {
		w.Null()
		return
	}
	if !w.begin('{') {
		return
	}
	e := takeEntries(w, p)
	e.collect(m)
	slices.SortFunc(e.order, func(a, b int) int { return strings.Compare(e.keys[a], e.keys[b]) })
	values := e.values.UnsafePointer()
	for i, entry := range e.order {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.String(e.keys[entry])
		w.buf = append(w.buf, ':')
		p.elem.write(w, unsafe.Add(values, uintptr(entry)*p.elem.size))
	}
	giveEntries(w, p, e)
	w.end('}')
}

// free has memory for the entries of the next map of a type.
type free map[*plan]*entries

// takeEntries returns memory for the entries of a map. A map within one of the same type gets its own.
func takeEntries(w *Writer, p *plan) *entries {
	free, _ := w.free.(free)
	if e := free[p]; e != nil {
		delete(free, p)
		return e
	}
	return &entries{values: reflect.New(reflect.SliceOf(p.elem.of)).Elem()}
}

// giveEntries keeps the memory for the next map of the type.
func giveEntries(w *Writer, p *plan, e *entries) {
	e.clear()
	if cap(e.keys) > largestKept/16 {
		return
	}
	if w.free == nil {
		w.free = free{}
	}
	w.free.(free)[p] = e
}

// collect copies the entries of a map.
func (e *entries) collect(m reflect.Value) {
	n := m.Len()
	e.keys, e.order = slices.Grow(e.keys[:0], n)[:n], slices.Grow(e.order[:0], n)[:n]
	e.values.Grow(max(n-e.values.Len(), 0))
	e.values.SetLen(n)
	e.all.Reset(m)
	for i := 0; i < n && e.all.Next(); i++ {
		reflect.ValueOf(&e.keys[i]).Elem().SetIterKey(&e.all)
		e.values.Index(i).SetIterValue(&e.all)
		e.order[i] = i
	}
}

// clear lets go of the entries.
func (e *entries) clear() {
	e.all.Reset(reflect.Value{})
	clear(e.keys)
	e.values.Clear()
	e.values.SetLen(0)
}
