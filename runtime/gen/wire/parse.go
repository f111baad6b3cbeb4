package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MustParse returns the value of which text is the JSON. It panics if there is
// none: it is for samples in generated code, which the generator has checked. A
// custom Go type that refuses its own sample is the one thing that it cannot check.
func MustParse[T any](text string) (value T) {
	var compact bytes.Buffer // values that keep their JSON shall not keep the blanks of the source code
	err := json.Compact(&compact, []byte(text))
	if err == nil {
		err = json.Unmarshal(compact.Bytes(), &value)
	}
	if err != nil {
		panic(fmt.Sprintf("the example of %T in the catalogue does not fit: %v", value, err))
	}
	return value
}
