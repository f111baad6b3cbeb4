package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// OlderField says how events that were stored before hold a field.
type OlderField struct {
	Name    string   // that it has today
	Was     []string // names that it had before
	Default string   // JSON that stands in for it if it is missing or null; empty for none
}

// Upgrade returns the JSON of a struct with the keys that its fields have today: a
// field that is there only under former names gets its present name, the first of
// Was that is there, and one that is missing gets its default. The case of keys does
// not count, as in encoding/json. Data that is not an object is returned as it is.
func Upgrade(data []byte, fields ...OlderField) []byte {
	keys, ok := keysOf(data)
	if !ok {
		return data
	}
	names := make([]string, len(keys)) // by which keys are replaced; empty for those that stay
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

// key is one of an object, with the place in which it stands.
type key struct {
	name       string
	start, end int
}

// rename gives the keys of one name another, and tells whether there were some.
func rename(keys []key, names []string, from, to string) (found bool) {
	for i, key := range keys {
		if strings.EqualFold(key.name, from) {
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
