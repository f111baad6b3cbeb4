package privacy

import (
	"encoding/json"
	"strings"

	"github.com/busgen/busgen/internal/plainjson"
)

// Restore returns a payload that an operator has typed over another one with hidden values, with the stored values
// where these are as they were shown. All are valid JSON. In a list, that is an item that is as it was shown, at its
// place: which of the others it was could not be told. It is false if a hidden value stands anywhere else.
func Restore(typed, shown, stored json.RawMessage) (restored json.RawMessage, ok bool) {
	switch {
	case !strings.Contains(string(typed), Hidden):
		return typed, true
	case plainjson.Same(typed, shown):
		return stored, true
	}
	switch what(typed) {
	case "an object":
		all := members(typed)
		for i, m := range all {
			if all[i].value, ok = Restore(m.value, named(shown, m.key), named(stored, m.key)); !ok || strings.Contains(m.key, Hidden) {
				return nil, false
			}
		}
		return object(all), true
	case "a list":
		all, before, kept := items(typed), items(shown), items(stored)
		for i, item := range all {
			switch {
			case !strings.Contains(string(item), Hidden):
			case i < min(len(before), len(kept)) && plainjson.Same(item, before[i]):
				all[i] = kept[i]
			default:
				return nil, false
			}
		}
		return list(all), true
	}
	return nil, false
}

// named returns the value of an object by its key; null for none.
func named(value json.RawMessage, key string) json.RawMessage {
	for _, m := range members(value) {
		if m.key == key {
			return m.value
		}
	}
	return json.RawMessage("null")
}
