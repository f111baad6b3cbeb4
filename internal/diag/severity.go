package diag

import "fmt"

// Severity says how bad a finding is.
type Severity int

// The severities, from the mildest.
const (
	Off     Severity = iota // not reported
	Note                    // worth knowing; it does not change the exit status
	Warning                 // probably a mistake
	Error                   // certainly a mistake
)

var severityWords = []string{"off", "note", "warning", "error"}

// SeverityWords lists the words of the severities, from the mildest.
func SeverityWords() []string { return append([]string(nil), severityWords...) }

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

// Direction says which program reads events that another one has stored. It is a set.
type Direction int

// The directions.
const (
	Backward Direction = 1 << iota // the new program reads events of the old one
	Forward                        // the old program reads events of the new one
	Both     = Backward | Forward
)

// String returns the word that the command takes and prints; it is empty for no direction.
func (d Direction) String() string {
	return map[Direction]string{Backward: "backward", Forward: "forward", Both: "both"}[d]
}
