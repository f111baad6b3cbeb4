package exact

import (
	"encoding/json"
	"reflect"
	"strings"
)

// upToDate returns the given JSON with present names: it renames fields with former
// names and adds missing fields that have a default. It replaces null in an unknown
// field with [unknownNull], to tell it from an optional field that is not set.
func upToDate(given any, v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return upToDate(given, v.Elem())
		}
	case reflect.Slice:
		if list, ok := given.([]any); ok && len(list) == v.Len() {
			for i := range list {
				list[i] = upToDate(list[i], v.Index(i))
			}
		}
	case reflect.Map:
		if entries, ok := given.(map[string]any); ok {
			for key := range entries {
				if value := v.MapIndex(reflect.ValueOf(key)); value.IsValid() {
					entries[key] = upToDate(entries[key], value)
				}
			}
		}
	case reflect.Struct:
		if isGenerated(v) {
			return structUpToDate(given, v)
		}
	}
	return given
}

// isGenerated reports whether a struct is generated from a catalogue: all its fields
// have a name in JSON, and it has a Validate method.
func isGenerated(v reflect.Value) bool {
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("json") == "" {
			return false
		}
	}
	return v.CanInterface() && v.Type().Implements(reflect.TypeFor[validator]())
}

// unknownNull replaces null in a field that the struct does not have.
type unknownNull struct{}

func structUpToDate(given any, v reflect.Value) any {
	if older, ok := v.Interface().(interface{ UpgradeJSON([]byte) []byte }); ok {
		if encoded, err := json.Marshal(given); err == nil {
			given, _ = parseTree(older.UpgradeJSON(encoded))
		}
	}
	fields, ok := given.(map[string]any)
	if !ok {
		return given
	}
	known := map[string]bool{}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		known[name] = true
		if value, ok := fields[name]; ok {
			fields[name] = upToDate(value, v.Field(i))
		}
	}
	for name, value := range fields {
		if value == nil && !known[name] {
			fields[name] = unknownNull{}
		}
	}
	return fields
}
