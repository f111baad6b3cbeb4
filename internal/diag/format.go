package diag

import (
	"strings"

	"github.com/busgen/busgen/internal/plainjson"
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
		text, err := plainjson.Document(objectOf(fs))
		return string(text), err
	case GitHub:
		return annotations(fs), nil
	case SARIF:
		text, err := plainjson.Document(logOf(fs))
		return string(text), err
	}
	var text strings.Builder
	err := fs.Render(&text)
	return text.String(), err
}
