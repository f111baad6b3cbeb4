// Package custom has types as programs bring them along.
package custom

import (
	"encoding/json"
	"strconv"
	"strings"
)

// PointerJSON has JSON methods of its pointer.
type PointerJSON struct{ n int }

func (p *PointerJSON) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]int{"<n>": p.n}) }
func (p *PointerJSON) UnmarshalJSON(text []byte) error {
	var m map[string]int
	err := json.Unmarshal(text, &m)
	p.n = m["<n>"]
	return err
}

// ValueJSON writes itself with a method of the value.
type ValueJSON struct{ n int }

func (v ValueJSON) MarshalJSON() ([]byte, error)     { return strconv.AppendInt(nil, int64(v.n), 10), nil }
func (v *ValueJSON) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &v.n) }

// PointerText has text methods of its pointer.
type PointerText struct{ text string }

func (p *PointerText) MarshalText() ([]byte, error) { return []byte("<" + p.text + ">"), nil }
func (p *PointerText) UnmarshalText(text []byte) error {
	p.text = strings.Trim(string(text), "<>")
	return nil
}

// OneWay has a method to write itself, and is read as the text that it is.
type OneWay string

func (o *OneWay) MarshalJSON() ([]byte, error) {
	return json.Marshal("way: " + strings.TrimPrefix(string(*o), "way: "))
}

func (o OneWay) Equal(other OneWay) bool {
	return strings.TrimPrefix(string(o), "way: ") == strings.TrimPrefix(string(other), "way: ")
}

// Plain has no methods.
type Plain struct {
	Name  string `json:"name,omitempty"`
	Inner *PointerJSON
	Many  map[string]ValueJSON
}

// Ints is an instance of a generic type.
type Ints = List[int]

type List[T any] struct{ items []T }

func (l *List[T]) MarshalJSON() ([]byte, error)    { return json.Marshal(l.items) }
func (l *List[T]) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &l.items) }

// Labels is a list with methods of its own.
type Labels []string

func (l *Labels) MarshalText() ([]byte, error) { return []byte(strings.Join(*l, ",")), nil }
func (l *Labels) UnmarshalText(text []byte) error {
	*l = strings.Split(string(text), ",")
	return nil
}

// Bag is a map without methods.
type Bag map[string]int

// Zero says of all its values that they are zero.
type Zero struct{ N int }

func (Zero) IsZero() bool { return true }

// Samples are values of each type.
var Samples = []any{
	PointerJSON{}, PointerJSON{-7}, ValueJSON{}, ValueJSON{8}, PointerText{}, PointerText{"a & b"}, OneWay(""), OneWay("x"),
	Plain{}, Plain{"a", &PointerJSON{3}, map[string]ValueJSON{"b": {4}, "a": {}}}, Ints{}, Ints{[]int{1, 2}},
	Labels{"a"}, Labels{"a", "b\u2028"}, Bag(nil), Bag{}, Bag{"b": 1, "a": 2}, Zero{}, Zero{5},
}
