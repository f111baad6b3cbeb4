package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// MarshalVariant returns the JSON of a variant of a union: that of the struct, with
// the name of the variant in front, under the key that tells variants apart.
func MarshalVariant(key, name string, variant any) ([]byte, error) {
	fields, err := json.Marshal(variant)
	if err != nil {
		return nil, err
	}
	front := "{" + strconv.Quote(key) + ":" + strconv.Quote(name)
	if len(fields) > len("{}") {
		front += ","
	}
	return append([]byte(front), fields[1:]...), nil
}

// VariantName reads the name of a variant from its JSON. It returns an error
// unless the name is one of known, and no name for null.
func VariantName(data []byte, key string, known ...string) (string, error) {
	if string(data) == "null" {
		return "", nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return "", err
	}
	var name string
	if err := json.Unmarshal(fields[key], &name); err != nil {
		return "", fmt.Errorf("an object with a text %q is needed, which is one of %s", key, strings.Join(known, ", "))
	}
	for _, one := range known {
		if name == one {
			return name, nil
		}
	}
	return "", fmt.Errorf("%q is %q, which is not one of %s", key, name, strings.Join(known, ", "))
}

// UnmarshalVariant reads a variant of type T.
func UnmarshalVariant[T any](data []byte) (value T, err error) {
	err = json.Unmarshal(data, &value)
	return value, err
}

// EachItem returns the list of what convert makes of each item, or nil for nil.
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

// EachEntry returns the map of what convert makes of each value, or nil for nil.
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
