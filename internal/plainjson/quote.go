package plainjson

import (
	"encoding/json"
	"strings"
)

// Quote writes a text as JSON, without the escapes that are for browsers.
func Quote(text string) json.RawMessage {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.Encode(text) // a text has no error
	return json.RawMessage(strings.TrimSuffix(out.String(), "\n"))
}
