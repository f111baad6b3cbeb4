package cli

import (
	"bytes"
	"encoding/json"

	"github.com/busgen/busgen/internal/cli/terminal"
)

// Document returns a value as JSON for programs, which people can read too.
func Document(value any) (string, error) { return encoded(value, "  ") }

// Line returns a value as one line of JSON.
func Line(value any) (string, error) { return encoded(value, "") }

// Lines returns a line of JSON for each value.
func Lines[T any](values []T) (string, error) {
	var all bytes.Buffer
	for _, value := range values {
		one, err := Line(value)
		if err != nil {
			return "", err
		}
		all.WriteString(one)
	}
	return all.String(), nil
}

func encoded(value any, indent string) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(value)
	return terminal.CleanJSON(b.String()), err
}
