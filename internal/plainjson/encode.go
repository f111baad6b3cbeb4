package plainjson

import (
	"bytes"
	"encoding/json"
)

// Marshal returns the JSON of value in one line, without the escapes of <, > and & that are for HTML.
func Marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Document is [Marshal] with an indented result that ends in a newline.
func Document(value any) ([]byte, error) {
	text, err := Marshal(value)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	json.Indent(&b, text, "", "  ") // it is JSON
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// Quote returns a string as JSON; see [Marshal].
func Quote(text string) json.RawMessage {
	quoted, _ := Marshal(text) // a string has no error
	return quoted
}

// Unquote returns the value of a JSON string, and nothing for null.
func Unquote(raw []byte) (text string) {
	json.Unmarshal(raw, &text)
	return text
}
