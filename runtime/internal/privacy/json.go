package privacy

import (
	"encoding/json"

	"github.com/busgen/busgen/internal/plainjson"
)

// member is an entry of an object. Objects keep their order, and keys that they have twice.
type member struct {
	key   string
	value json.RawMessage
}

// members returns the entries of an object; text is valid JSON or empty. Other values have none.
func members(text []byte) (all []member) {
	s := plainjson.Scanner{Rest: text}
	if len(text) == 0 || s.Next() != "an object" {
		return nil
	}
	s.Entries(func(key json.RawMessage) {
		all = append(all, member{unquote(key), s.Value()})
	})
	return all
}

// items returns the items of a list; text is valid JSON. Other values have none.
func items(text []byte) (all []json.RawMessage) {
	s := plainjson.Scanner{Rest: text}
	if s.Next() != "a list" {
		return nil
	}
	s.Items(func(int) { all = append(all, s.Value()) })
	return all
}

// what says what a value is; see [plainjson.Scanner.Next].
func what(text []byte) string {
	s := plainjson.Scanner{Rest: text}
	return s.Next()
}

func object(all []member) json.RawMessage {
	b := []byte{'{'}
	for i, m := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, quote(m.key)...), ':'), m.value...)
	}
	return append(b, '}')
}

func list(all []json.RawMessage) json.RawMessage {
	b := []byte{'['}
	for i, item := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, item...)
	}
	return append(b, ']')
}

func quote(text string) json.RawMessage { return plainjson.Quote(text) }

func unquote(raw []byte) string { return plainjson.Unquote(raw) }

// leaves calls visit with the text of each string and number of a value, and each key if they matter.
func leaves(text []byte, keys bool, visit func(leaf string)) {
	switch what(text) {
	case "an object":
		for _, m := range members(text) {
			if keys {
				visit(m.key)
			}
			leaves(m.value, keys, visit)
		}
	case "a list":
		for _, item := range items(text) {
			leaves(item, keys, visit)
		}
	case "a string":
		visit(unquote(trim(text)))
	case "a number":
		visit(string(trim(text)))
	}
}

// trim returns the value without blanks around it.
func trim(text []byte) json.RawMessage {
	s := plainjson.Scanner{Rest: text}
	s.Next()
	return s.Value()
}
