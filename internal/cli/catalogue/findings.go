package catalogue

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/diag"
)

// format is the value of the flag --format.
type format diag.Format

// formats lists the words of the flag.
func formats() []string {
	var words []string
	for _, f := range diag.Formats() {
		words = append(words, string(f))
	}
	return words
}

// formatHelp is a paragraph of the manual of each verb that has findings.
const formatHelp = `With --format, standard output has the findings in a form for programs, and
nothing else: json (an object with the list findings; each has file, line,
column, end_column, severity, rule, message, hint and related), github
(annotations of GitHub Actions), sarif (SARIF 2.1.0). Columns count characters,
from 1. Without findings the document is empty. The exit status is the same in
each form.`

// formatFlag adds --format.
func formatFlag(cmd *cobra.Command, f *format) {
	*f = "text"
	cmd.Flags().Var(f, "format", "`form` of findings: "+strings.Join(formats(), ", "))
	cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats(), cobra.ShellCompDirectiveNoFileComp))
}

// Set implements [pflag.Value].
func (f *format) Set(text string) error {
	if !slices.Contains(formats(), text) {
		return fmt.Errorf("want one of %s", strings.Join(formats(), ", "))
	}
	*f = format(text)
	return nil
}

// String implements [pflag.Value].
func (f *format) String() string { return string(*f) }

// Type implements [pflag.Value].
func (f *format) Type() string { return "form" }

// reportable is an error that consists of findings.
type reportable interface {
	error
	list() diag.Findings
}

// listOf returns the findings of an error, and whether it consists of findings.
func listOf(err error) (diag.Findings, bool) {
	if found, ok := errors.AsType[*cli.FindingsError](err); ok {
		return found.Findings, true
	}
	if found, ok := errors.AsType[reportable](err); ok {
		return found.list(), true
	}
	return nil, false
}

// foundError has the findings of a verb in a file.
type foundError struct {
	file     string
	findings diag.Findings
}

// Error counts findings by severity: 1 error and 2 notes in events.yaml.
func (e *foundError) Error() string { return tally(e.findings) + " in " + e.file }

// tally counts findings by severity, the worst first.
func tally(findings diag.Findings) string {
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

// report shows the findings. It counts notes if there is nothing worse, because
// then there is no error that counts them.
func (e *foundError) report() string {
	text := rendered(e.findings)
	if e.findings.Worst() == diag.Note {
		text += e.Error() + "\n"
	}
	return text
}

// rendered shows each finding with its line.
func rendered(findings diag.Findings) string {
	var b strings.Builder
	findings.Render(&b) // a Builder cannot fail
	return b.String()
}

// printed marks an error whose findings are in the report.
type printed struct{ error }

func (p *printed) Unwrap() error { return p.error }

// Render shows nothing.
func (p *printed) Render(io.Writer) {}

// of returns what a verb prints: its report for people, or a document for programs
// with the findings of err and the noted ones. There is no document if there was
// trouble.
func (f format) of(report string, noted diag.Findings, err error) (string, error) {
	if f == "text" {
		return report, err
	}
	all, found := listOf(err)
	switch {
	case found:
		err = &printed{err}
	case err != nil:
		return "", err
	}
	text, formatErr := f.document(append(all, noted...))
	return text, errors.Join(formatErr, err)
}

// document returns findings for programs.
func (f format) document(all diag.Findings) (string, error) {
	text, err := all.In(diag.Format(f))
	if f != format(diag.GitHub) {
		text = terminal.CleanJSON(text)
	}
	return text, err
}
