package catalogue

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/diag"
)

// format is the value of the flag --format.
type format diag.Format

const text = format(diag.Text)

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
	*f = text
	cmd.Flags().Var(f, "format", "`form` of findings: "+strings.Join(formats(), ", "))
	cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats(), cobra.ShellCompDirectiveNoFileComp))
}

// Set implements [pflag.Value].
func (f *format) Set(word string) error {
	if !slices.Contains(formats(), word) {
		return fmt.Errorf("want one of %s", strings.Join(formats(), ", "))
	}
	*f = format(word)
	return nil
}

// String implements [pflag.Value].
func (f *format) String() string { return string(*f) }

// Type implements [pflag.Value].
func (f *format) Type() string { return "form" }

// report returns findings as they are printed. In text it counts notes if there
// is nothing worse, because then there is no error that counts them.
func (f format) report(found *cli.FindingsError) (string, error) {
	report, err := f.document(found.Findings)
	if f == text && found.Worst() == diag.Note {
		report += found.Error() + "\n"
	}
	return report, err
}

// of returns what a verb prints: its report for people, or a document for programs
// with the findings of err and the noted ones. There is no document if there was
// trouble.
func (f format) of(report string, noted diag.Findings, err error) (string, error) {
	if f == text {
		return report, err
	}
	var all diag.Findings
	var found *cli.FindingsError
	var stale *staleError
	switch {
	case errors.As(err, &found):
		all, found.Reported = found.Findings, true
	case errors.As(err, &stale):
		all = stale.findings()
	case err != nil:
		return "", err
	}
	document, formatErr := f.document(append(all, noted...))
	return document, errors.Join(formatErr, err)
}

// document returns findings in the format.
func (f format) document(all diag.Findings) (string, error) {
	document, err := all.In(diag.Format(f))
	if f == format(diag.JSON) || f == format(diag.SARIF) {
		document = terminal.CleanJSON(document)
	}
	return document, err
}
