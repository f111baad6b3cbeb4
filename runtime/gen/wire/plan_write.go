package wire

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/google/uuid"
)

// append appends the JSON of the value at an address to buf, which is what w has written so far. It hands buf on, and
// w gets it only before other code writes: code that appends to a local variable is faster.
func (p *plan) append(w *Writer, buf []byte, at unsafe.Pointer) []byte {
	switch p.kind {
	case boolean:
		return strconv.AppendBool(buf, *(*bool)(at))
	case integer:
		return strconv.AppendInt(buf, int64(*(*int)(at)), 10)
	case integer32:
		return strconv.AppendInt(buf, int64(*(*int32)(at)), 10)
	case integer64:
		return strconv.AppendInt(buf, *(*int64)(at), 10)
	case unsigned64:
		return strconv.AppendUint(buf, *(*uint64)(at), 10)
	case text, enum:
		return appendString(buf, *(*string)(at))
	case moment:
		if longer, ok := appendMoment(buf, *(*time.Time)(at)); ok {
			return longer
		}
	case uuidOf:
		return appendUUID(buf, (*uuid.UUID)(at))
	case object:
		return p.appendObject(w, buf, at)
	case list:
		return p.appendList(w, buf, (*slice)(at))
	case optional:
		if to := *(*unsafe.Pointer)(at); to != nil {
			return p.elem.append(w, buf, to)
		}
		return append(buf, "null"...)
	}
	w.set(buf)
	p.write(w, at)
	return w.buf
}

// write writes a value of a kind for which Writer has a method, or which writes itself.
func (p *plan) write(w *Writer, at unsafe.Pointer) {
	switch p.kind {
	case float:
		w.Float64(*(*float64)(at))
	case bytesOf:
		w.Bytes(*(*[]byte)(at))
	case moment:
		w.Time(*(*time.Time)(at))
	case document:
		w.JSON(*(*json.RawMessage)(at))
	case asText:
		WriteText(w, p.as(at).(encoding.TextAppender))
	case own:
		p.encoderAt(at).WriteJSON(w)
	case dictionary:
		if p.direct != nil {
			p.direct.write(w, at)
			return
		}
		p.writeMap(w, at)
	}
}

func (p *plan) appendObject(w *Writer, buf []byte, at unsafe.Pointer) []byte {
	if !w.deeper() {
		return buf
	}
	buf = append(buf, '{')
	first := true
	fields := p.fields
	for i := range fields {
		f := &fields[i]
		value := unsafe.Add(at, f.offset)
		if f.omits && *(*unsafe.Pointer)(value) == nil { // a pointer, or the first word of a list or a map
			continue
		}
		if first {
			buf = append(buf, f.key...)
			first = false
		} else {
			buf = append(buf, f.later...)
		}
		buf = f.append(w, buf, value)
	}
	w.depth--
	return append(buf, '}')
}

// slice is how Go keeps a list in memory.
type slice struct {
	first    unsafe.Pointer // nil for a nil list
	len, cap int
}

func (p *plan) appendList(w *Writer, buf []byte, s *slice) []byte {
	if s.first == nil {
		return append(buf, "null"...)
	}
	if !w.deeper() {
		return buf
	}
	buf = append(buf, '[')
	for i := range s.len {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = p.elem.append(w, buf, unsafe.Add(s.first, uintptr(i)*p.elem.size))
	}
	w.depth--
	return append(buf, ']')
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
		w.set(p.elem.append(w, w.buf, unsafe.Add(values, uintptr(entry)*p.elem.size)))
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
