package diag

import (
	"bytes"
	"encoding/json"
)

// Format is a form in which findings are printed.
type Format string

// The formats. Text is for people, and the others are for programs.
const (
	Text   Format = "text"
	JSON   Format = "json"
	GitHub Format = "github" // annotations of GitHub Actions
	SARIF  Format = "sarif"  // SARIF 2.1.0
)

// Formats lists the formats.
func Formats() []Format { return []Format{Text, JSON, GitHub, SARIF} }

// In returns the findings as a whole document in a format. Without findings the document is there and
// says so; in Text and GitHub it is empty.
func (fs Findings) In(format Format) (string, error) {
	switch format {
	case JSON:
		return encoded(objectOf(fs))
	case GitHub:
		return annotations(fs), nil
	case SARIF:
		return encoded(logOf(fs))
	}
	var text bytes.Buffer
	err := fs.Render(&text)
	return text.String(), err
}

// encoded returns a value as indented JSON, with <, > and & as they are.
func encoded(value any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(value)
	return b.String(), err
}
