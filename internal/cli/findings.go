package cli

import (
	"errors"

	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/diag"
)

// FindingsError stops a verb because of findings in a file. [Explain] shows them.
type FindingsError struct {
	File string
	diag.Findings
	// Reported says that the report has the findings, so that Explain leaves them out.
	Reported bool
}

// Error counts findings by severity: 1 error and 2 notes in events.yaml.
func (e *FindingsError) Error() string { return Tally(e.Findings) + " in " + e.File }

// Tally counts findings by severity, the worst first. There must be one at least.
func Tally(findings diag.Findings) string {
	var parts []string
	for severity := diag.Error; severity > diag.Off; severity-- {
		if n := findings.Count(severity); n > 0 {
			parts = append(parts, terminal.Counted(n, severity.String()))
		}
	}
	text := parts[0]
	for i, part := range parts[1:] {
		text += []string{", ", " and "}[min(1, (i+2)/len(parts))] + part
	}
	return text
}

// Refused makes the findings of a catalogue the answer no.
func Refused(err error) error {
	if _, found := errors.AsType[*FindingsError](err); found {
		return No(err)
	}
	return err
}
