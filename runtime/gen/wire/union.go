package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// VariantJSON returns the JSON of a variant of a union: the JSON of the struct that variant points to, with the
// discriminator as its first field, which has the given key and name.
//
//go:noinline
func VariantJSON(key, name string, variant any) ([]byte, error) {
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

// VariantName returns the name of a variant from its JSON, or "" for null. It returns an
// error if the name is not one of known.
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
