package step

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// A result is stored with its shape: the fields and types of its JSON, in one line. If the shape is still the same when the
// result is read, it fits. If not, it is compared with the type field by field: encoding/json alone would read what is
// missing as zero and skip what it does not know, which is the wrong amount of money with no error.

var (
	marshaler       = reflect.TypeFor[json.Marshaler]()
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// shape is what is known of a type.
type shape struct {
	text    string
	problem string // why it cannot be stored; empty if it can
}

var shapes sync.Map // of reflect.Type to shape

func shapeFor(t reflect.Type) shape {
	if known, ok := shapes.Load(t); ok {
		return known.(shape)
	}
	d := describer{}
	text := d.describe(t, "")
	known, _ := shapes.LoadOrStore(t, shape{text, d.problem})
	return known.(shape)
}

// shapeOf returns the shape of a type.
func shapeOf(t reflect.Type) string { return shapeFor(t).text }

// unstorable says why values of a type cannot be results; empty if they can.
func unstorable(t reflect.Type) string { return shapeFor(t).problem }

// describer describes a type.
type describer struct {
	within  []reflect.Type // of the structs that it is in
	problem string
}

func (d *describer) refuse(path, format string, args ...any) string {
	if d.problem == "" {
		if path != "" {
			path = " (" + strings.TrimPrefix(path, ".") + ")"
		}
		d.problem = "its result" + path + " cannot be stored as JSON: " + fmt.Sprintf(format, args...)
	}
	return "?"
}

// has tells whether a type, or a pointer to it, implements an interface.
func has(t, of reflect.Type) bool { return t.Implements(of) || reflect.PointerTo(t).Implements(of) }

// isOpaque tells whether a type writes or reads its own JSON.
func isOpaque(t reflect.Type) bool {
	return isNamed(t) && (has(t, marshaler) || has(t, unmarshaler))
}

// isText tells whether a type is written or read as a text of its own.
func isText(t reflect.Type) bool {
	return isNamed(t) && (has(t, textMarshaler) || has(t, textUnmarshaler))
}

func isNamed(t reflect.Type) bool {
	return t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface
}

func (d *describer) describe(t reflect.Type, path string) string {
	if isOpaque(t) || isText(t) {
		writes, reads := has(t, marshaler) || has(t, textMarshaler), has(t, unmarshaler) || has(t, textUnmarshaler)
		if writes && !reads {
			return d.refuse(path, "%v has a method that writes it, and none that reads it", t)
		}
		return t.String()
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return t.Kind().String()
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return d.refuse(path, "%v is an interface, and nothing says as what it is to be read", t)
		}
		return "any"
	case reflect.Pointer:
		return "*" + d.describe(t.Elem(), path)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 && !isOpaque(t.Elem()) && !isText(t.Elem()) {
			return "bytes"
		}
		return "[]" + d.describe(t.Elem(), path+"[]")
	case reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), d.describe(t.Elem(), path+"[]"))
	case reflect.Map:
		switch k := t.Key(); {
		case has(k, textMarshaler) && has(k, textUnmarshaler), k.Kind() == reflect.String, k.Kind() >= reflect.Int && k.Kind() <= reflect.Uintptr:
		default:
			return d.refuse(path, "the keys of a map are texts or integers, and %v has others", t)
		}
		return "map[" + t.Key().String() + "]" + d.describe(t.Elem(), path+"[]")
	case reflect.Struct:
		return d.structure(t, path)
	}
	return d.refuse(path, "it is a %v", t)
}

func (d *describer) structure(t reflect.Type, path string) string {
	if slices.Contains(d.within, t) {
		return "^" + t.String()
	}
	d.within = append(d.within, t)
	defer func() { d.within = d.within[:len(d.within)-1] }()
	fields := fieldsOf(t)
	if len(fields) == 0 && t.NumField() > 0 {
		return d.refuse(path, "%v has no exported field", t)
	}
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = f.name
		if f.optional {
			texts[i] += "?"
		}
		texts[i] += " " + d.describe(f.of, path+"."+f.name)
	}
	slices.Sort(texts) // the order of JSON means nothing
	return "{" + strings.Join(texts, ", ") + "}"
}

// field is a field of a struct as encoding/json sees it.
type field struct {
	name     string
	of       reflect.Type
	optional bool // it may be left out
	quoted   bool // it is written within a text
}

// fieldsOf returns the fields of a struct and of those that are embedded. Of two with one name the one that is embedded less
// deeply counts.
func fieldsOf(t reflect.Type) (fields []field) {
	seen, visited := map[string]bool{}, map[reflect.Type]bool{}
	for next := []reflect.Type{t}; len(next) > 0; {
		var deeper []reflect.Type
		found := map[string]int{} // in this depth
		first := len(fields)
		for _, of := range next {
			if visited[of] {
				continue
			}
			visited[of] = true
			for i := range of.NumField() {
				f := of.Field(i)
				name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
				inner := f.Type
				if inner.Kind() == reflect.Pointer {
					inner = inner.Elem()
				}
				switch {
				case f.Tag.Get("json") == "-", !f.IsExported() && !(f.Anonymous && inner.Kind() == reflect.Struct):
				case f.Anonymous && name == "" && inner.Kind() == reflect.Struct && !isOpaque(inner) && !isText(inner):
					deeper = append(deeper, inner)
				case f.IsExported():
					if name == "" {
						name = f.Name
					}
					if found[name]++; seen[name] {
						continue
					}
					has := strings.Split(options, ",")
					fields = append(fields, field{
						name: name, of: f.Type, quoted: slices.Contains(has, "string"),
						optional: f.Type.Kind() == reflect.Pointer || slices.Contains(has, "omitempty") || slices.Contains(has, "omitzero"),
					})
				}
			}
		}
		fields = append(fields[:first], slices.DeleteFunc(slices.Clone(fields[first:]), func(f field) bool { return found[f.name] > 1 })...)
		for name := range found {
			seen[name] = true
		}
		next = deeper
	}
	return fields
}

// mismatch says in words where stored JSON does not fit a type; empty if it does.
func mismatch(stored json.RawMessage, t reflect.Type, path string) string {
	stored = bytes.TrimSpace(stored)
	at := strings.TrimPrefix(path, ".")
	if at == "" {
		at = "the result"
	}
	kind := kindOf(stored)
	switch {
	case isOpaque(t):
		return ""
	case isText(t):
		return wants(at, kind, "a text")
	case kind == "null":
		switch t.Kind() {
		case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
			return ""
		}
		return fmt.Sprintf("%s is null, and %v has no null", at, t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return mismatch(stored, t.Elem(), path)
	case reflect.Interface:
		return ""
	case reflect.Bool:
		return wants(at, kind, "true or false")
	case reflect.String:
		return wants(at, kind, "a text")
	case reflect.Slice, reflect.Array:
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !isOpaque(t.Elem()) && !isText(t.Elem()) {
			return wants(at, kind, "a text")
		}
		return elements(stored, kind, t, at, path)
	case reflect.Map:
		return entries(stored, kind, t, at, path)
	case reflect.Struct:
		return members(stored, kind, t, at, path)
	}
	if problem := wants(at, kind, "a number"); problem != "" {
		return problem
	}
	if err := json.Unmarshal(stored, reflect.New(t).Interface()); err != nil {
		return fmt.Sprintf("%s is %s, which is no %v", at, stored, t)
	}
	return ""
}

func elements(stored json.RawMessage, kind string, t reflect.Type, at, path string) string {
	if problem := wants(at, kind, "a list"); problem != "" {
		return problem
	}
	var all []json.RawMessage
	json.Unmarshal(stored, &all) // it is what was written
	if t.Kind() == reflect.Array && len(all) != t.Len() {
		return fmt.Sprintf("%s has %d elements, and %v has %d", at, len(all), t, t.Len())
	}
	for i, one := range all {
		if problem := mismatch(one, t.Elem(), fmt.Sprintf("%s[%d]", path, i)); problem != "" {
			return problem
		}
	}
	return ""
}

func entries(stored json.RawMessage, kind string, t reflect.Type, at, path string) string {
	if problem := wants(at, kind, "an object"); problem != "" {
		return problem
	}
	var all map[string]json.RawMessage
	json.Unmarshal(stored, &all)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if problem := mismatch(all[key], t.Elem(), fmt.Sprintf("%s[%q]", path, key)); problem != "" {
			return problem
		}
	}
	return ""
}

func members(stored json.RawMessage, kind string, t reflect.Type, at, path string) string {
	if problem := wants(at, kind, "an object"); problem != "" {
		return problem
	}
	var all map[string]json.RawMessage
	json.Unmarshal(stored, &all)
	for _, f := range fieldsOf(t) {
		one, stored := all[f.name]
		delete(all, f.name)
		switch {
		case !stored && f.optional:
		case !stored:
			return fmt.Sprintf("the field %s of %s is missing: if it may be, make it a pointer or give it omitempty", f.name, at)
		case !f.quoted:
			if problem := mismatch(one, f.of, path+"."+f.name); problem != "" {
				return problem
			}
		}
	}
	if len(all) > 0 {
		return fmt.Sprintf("%s has a field %s, which %v has not", at, slices.Min(slices.Collect(maps.Keys(all))), t)
	}
	return ""
}

func wants(at, kind, want string) string {
	if kind == want {
		return ""
	}
	return fmt.Sprintf("%s is %s, and not %s", at, kind, want)
}

// kindOf says of what kind JSON is.
func kindOf(stored json.RawMessage) string {
	if len(stored) == 0 {
		return "nothing"
	}
	switch stored[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}
