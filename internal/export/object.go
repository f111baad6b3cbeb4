package export

import (
	"bytes"

	"github.com/busgen/busgen/internal/plainjson"
)

// object is a JSON object whose keys stay in the order in which they were set.
type object []member

type member struct {
	key   string
	value any
}

// add appends a key that the object does not have yet.
func (o *object) add(key string, value any) { *o = append(*o, member{key, value}) }

// set adds a key, or replaces its value. It looks for the key, so it is for small
// objects.
func (o *object) set(key string, value any) {
	for i := range *o {
		if (*o)[i].key == key {
			(*o)[i].value = value
			return
		}
	}
	o.add(key, value)
}

// text sets a key to a string, unless the string is empty.
func (o *object) text(key, value string) {
	if value != "" {
		o.set(key, value)
	}
}

// get returns the value of a key, nil if there is none.
func (o object) get(key string) any {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, value := range []any{m.key, m.value} {
			if j > 0 {
				b.WriteByte(':')
			}
			text, err := plainjson.Marshal(value)
			if err != nil {
				return nil, err
			}
			b.Write(text)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
