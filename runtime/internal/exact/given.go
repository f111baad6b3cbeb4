package exact

import (
	"encoding/json"
	"reflect"
	"strings"
)

// upToDate returns the JSON that was given for a value with the keys of today: fields
// that are there under former names have their present ones, and missing ones with a
// default have that. It tells an unknown field that is null from an optional one.
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

// isGenerated tells structs of a catalogue, whose fields have all a name in JSON, from
// those of others.
func isGenerated(v reflect.Value) bool {
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("json") == "" {
			return false
		}
	}
	return v.CanInterface() && v.Type().Implements(reflect.TypeFor[validator]())
}

// unknownNull stands for null where there is no field.
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
