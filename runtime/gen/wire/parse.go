package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MustParse returns the value whose JSON is text. It panics if text does not decode. It
// is for samples in generated code, which the generator has checked. The generator
// cannot check whether a custom Go type accepts its sample.
func MustParse[T any](text string) (value T) {
	var compact bytes.Buffer // so that a json.RawMessage does not hold the blanks of the source code
	err := json.Compact(&compact, []byte(text))
	if err == nil {
		err = json.Unmarshal(compact.Bytes(), &value)
	}
	if err != nil {
		panic(fmt.Sprintf("the example of %T in the catalogue does not fit: %v", value, err))
	}
	return value
}
