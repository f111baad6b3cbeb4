package wire

import "encoding/json"

// Custom wraps a value in a map whose type is not generated. encoding/json calls methods
// with pointer receivers only for addressable values, and values in maps are not
// addressable.
type Custom[T any] struct{ value T }

// NewCustom wraps value.
func NewCustom[T any](value T) Custom[T] { return Custom[T]{value} }

// Get returns the value.
func (c Custom[T]) Get() T { return c.value }

// MarshalJSON implements [json.Marshaler].
func (c Custom[T]) MarshalJSON() ([]byte, error) { return json.Marshal(&c.value) }

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Custom[T]) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &c.value) }

// EachItem calls convert for each item and returns the results, or nil for nil.
func EachItem[A, B any](list []A, convert func(A) B) []B {
	if list == nil {
		return nil
	}
	converted := make([]B, len(list))
	for i := range list {
		converted[i] = convert(list[i])
	}
	return converted
}

// EachEntry calls convert for each value and returns the results under the same keys, or
// nil for nil.
func EachEntry[A, B any](m map[string]A, convert func(A) B) map[string]B {
	if m == nil {
		return nil
	}
	converted := make(map[string]B, len(m))
	for key, value := range m {
		converted[key] = convert(value)
	}
	return converted
}
