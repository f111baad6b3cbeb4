package lint

import (
	"fmt"

	"github.com/busgen/busgen/internal/catalog"
)

// Finding is a finding of a catalogue with its severity.
type Finding struct {
	*catalog.Finding
	Severity Severity
	// Subject is what the finding is about: the name of an event, of a type, or
	// of a policy's pattern. It is empty for what the reader of catalogues found.
	Subject string
	// Direction is what package breaking says of who cannot read whose rows:
	// backward, forward or both. It is empty for everybody else.
	Direction string
	// Key names a finding of package breaking, so that the catalogue can accept it: the rule, the
	// event or type, the version of a payload, the place inside. It stays the same while lines move.
	Key string
}

// Errors makes findings of what the reader of catalogues found. All of it is an
// error: nothing can be generated from such a file.
func Errors(found catalog.Findings) []Finding {
	all := make([]Finding, len(found))
	for i, f := range found {
		all[i] = Finding{Finding: f, Severity: Error}
	}
	return all
}

// Severity says how bad a finding is.
type Severity int

// The severities, from the mildest.
const (
	Off     Severity = iota // not reported at all
	Note                    // worth a look; the answer of the verb stays yes
	Warning                 // probably a mistake
	Error                   // must not stay
)

var severityWords = []string{"off", "note", "warning", "error"}

// String returns the word of the catalogue language.
func (s Severity) String() string { return severityWords[s] }

// ParseSeverity reads the word that String returns.
func ParseSeverity(word string) (Severity, error) {
	for i, known := range severityWords {
		if word == known {
			return Severity(i), nil
		}
	}
	return 0, fmt.Errorf("there is no severity %q: it is off, note, warning or error", word)
}
