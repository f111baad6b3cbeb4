package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// OlderField describes how a field can be stored in older events.
type OlderField struct {
	Name    string   // its present name
	Was     []string // its former names; the first that occurs counts
	Default string   // the JSON of its default, for a field that is missing or null; empty for none
}

// Upgrade returns the JSON of a struct with present names. If a field has only former
// names, the first name of Was that occurs is replaced with the present one. A missing
// field gets its default. As in encoding/json, the case of keys counts only for names of
// fields that differ in nothing else. Upgrade returns data unchanged if it is not an object.
func Upgrade(data []byte, fields ...OlderField) []byte {
	keys, ok := keysOf(data)
	if !ok {
		return data
	}
	names := make([]string, len(keys)) // by which keys are replaced; empty for those that stay
	for i, key := range keys {
		if slices.ContainsFunc(fields, func(f OlderField) bool { return f.Name == key.name }) {
			names[i] = key.name
		}
	}
	var defaults []string
	for _, f := range fields {
		if f.Default != "" {
			defaults = append(defaults, strconv.Quote(f.Name)+":"+f.Default)
		}
		for _, name := range append([]string{f.Name}, f.Was...) {
			if rename(keys, names, name, f.Name) {
				break
			}
		}
	}
	opening := bytes.IndexByte(data, '{') + 1
	upgraded := append(slices.Clone(data[:opening]), strings.Join(defaults, ",")...)
	if defaults != nil && len(keys) > 0 {
		upgraded = append(upgraded, ',')
	}
	done := opening
	for i, key := range keys {
		if names[i] != "" {
			upgraded = strconv.AppendQuote(append(upgraded, data[done:key.start]...), names[i])
			done = key.end
		}
	}
	return append(upgraded, data[done:]...)
}

// key is a key of an object, with its place in the data.
type key struct {
	name       string
	start, end int
}

// rename replaces the name of all keys called from, and reports whether there are any. A key with the present name of
// a field is not called as a field is whose name differs in case.
func rename(keys []key, names []string, from, to string) (found bool) {
	for i, key := range keys {
		if names[i] == from || names[i] == "" && strings.EqualFold(key.name, from) {
			names[i], found = to, true
		}
	}
	return found
}

// keysOf lists the keys of an object, in their order.
func keysOf(data []byte) (keys []key, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, false
	}
	for decoder.More() {
		start := int(decoder.InputOffset())
		token, err := decoder.Token()
		name, isText := token.(string)
		if err != nil || !isText {
			return nil, false
		}
		start += bytes.IndexByte(data[start:], '"')
		keys = append(keys, key{name, start, int(decoder.InputOffset())})
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return nil, false
		}
	}
	_, err := decoder.Token()
	return keys, err == nil
}
