package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// MarshalVariant returns the JSON of a variant of a union: that of the struct, with
// the name of the variant in front, under the key that tells variants apart.
func MarshalVariant[T any](key, name string, variant T) ([]byte, error) {
	fields, err := json.Marshal(&variant)
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
