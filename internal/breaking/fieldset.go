package breaking

import (
	"slices"

	"github.com/busgen/busgen/internal/catalog"
)

// A fieldSet has the fields of a payload or of a struct, and the reserved names.
type fieldSet struct {
	fields   []*catalog.Field
	byKey    map[string][]*catalog.Field // by name and former name
	reserved []catalog.Value[string]
	reserves map[string]bool
}

func newFieldSet(fields []*catalog.Field, reserved []catalog.Value[string]) fieldSet {
	s := fieldSet{fields, map[string][]*catalog.Field{}, reserved, map[string]bool{}}
	for _, f := range fields {
		for _, key := range keysOf(f) {
			s.byKey[key] = append(s.byKey[key], f)
		}
	}
	for _, name := range reserved {
		s.reserves[name.V] = true
	}
	return s
}

func fieldsOf(t *catalog.Type) fieldSet { return newFieldSet(t.Fields, t.Reserved) }

// reader returns the field that reads a key of the JSON, or nil if there is none.
func (s fieldSet) reader(key string) *catalog.Field {
	for _, f := range s.byKey[key] {
		if !f.Removed {
			return f
		}
	}
	return nil
}

// keysOf lists the keys under which a field is read.
func keysOf(f *catalog.Field) []string {
	keys := []string{f.Name.V}
	for _, was := range f.Was {
		keys = append(keys, was.V)
	}
	return keys
}

// writerOf returns the field that shares a name, present or former, with reader, which
// therefore reads its stored values; nil if there is none.
func writerOf(fields []*catalog.Field, reader *catalog.Field) *catalog.Field {
	for _, key := range keysOf(reader) {
		if i := slices.IndexFunc(fields, func(f *catalog.Field) bool { return slices.Contains(keysOf(f), key) }); i >= 0 {
			return fields[i]
		}
	}
	return nil
}

func fieldNamed(fields []*catalog.Field, name string) *catalog.Field {
	if i := slices.IndexFunc(fields, func(f *catalog.Field) bool { return f.Name.V == name }); i >= 0 {
		return fields[i]
	}
	return nil
}
