package cli

import (
	"strings"

	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/plainjson"
)

// Document returns a value as JSON for programs, which people can read too.
func Document(value any) (string, error) {
	text, err := plainjson.Document(value)
	return terminal.CleanJSON(string(text)), err
}

// Line returns a value as one line of JSON.
func Line(value any) (string, error) {
	text, err := plainjson.Marshal(value)
	return terminal.CleanJSON(string(text)) + "\n", err
}

// Lines returns a line of JSON for each value.
func Lines[T any](values []T) (string, error) {
	var all strings.Builder
	for _, value := range values {
		one, err := Line(value)
		if err != nil {
			return "", err
		}
		all.WriteString(one)
	}
	return all.String(), nil
}
