package wire

import (
	"encoding/json"
	"fmt"
)

// MustParse returns the value of which text is the JSON. It panics if there is
// none: it is for samples in generated code, which the generator has checked. A
// custom Go type that refuses its own sample is the one thing that it cannot check.
func MustParse[T any](text string) (value T) {
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		panic(fmt.Sprintf("the example of %T in the catalogue does not fit: %v", value, err))
	}
	return value
}
