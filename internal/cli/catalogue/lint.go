package catalogue

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/lint"
)

func newLint() *cobra.Command {
	var form format
	var list bool
	cmd := &cobra.Command{
		Use:   "lint [events.yaml]",
		Short: "Find likely mistakes in a catalogue",
		Long: `Lint finds mistakes that generate accepts: events without a description,
attempts that can never be made, secrets in payloads. The rules, each with its
purpose and examples, are listed by --rules.

A rule is a note, a warning or an error, and the catalogue may say otherwise
under its key lint, and except events and types by name or pattern:

  lint:
    field-doc: warning
    past-tense: off
    event-doc: { severity: error, except: [ui.*] }

` + formatHelp + `

Exit status: 0 nothing but notes, 1 warnings or errors (findings of the
catalogue are errors), 2 trouble with the command line or with files.`,
		Example: `  busgen lint
  busgen lint events/events.yaml --format sarif
  busgen lint --rules`,
		Args:              cli.AtMostOne("catalogue"),
		ValidArgsFunction: cli.CompleteCatalogue,
		RunE: func(cmd *cobra.Command, args []string) error {
			screen := terminal.ScreenOf(cmd.OutOrStdout())
			return cli.Report(func(args []string) (string, error) {
				if list {
					return lintRules(screen), nil
				}
				return lintCatalogue(args, form)
			})(cmd, args)
		},
	}
	formatFlag(cmd, &form)
	cmd.Flags().BoolVar(&list, "rules", false, "list the rules instead")
	cmd.MarkFlagsMutuallyExclusive("rules", "format")
	return cmd
}

func lintCatalogue(args []string, form format) (report string, err error) {
	c, err := cli.LoadCatalogue(args)
	if err != nil {
		return form.of("", nil, cli.Refused(err))
	}
	all, err := lint.Run(c, parse.Disk{}.ReadFile)
	if err != nil {
		return "", err
	}
	found := &cli.FindingsError{File: c.File, Findings: all, Reported: true}
	if report, err = form.report(found); err != nil {
		return "", err
	}
	if found.Worst() >= diag.Warning {
		return report, cli.No(found)
	}
	return report, nil
}

// lintRules describes the rules.
func lintRules(screen terminal.Screen) string {
	var parts []string
	for _, rule := range lint.Rules() {
		parts = append(parts, fmt.Sprintf("%s (%s)\n  %s\n\n  reported:\n%s\n\n  fine:\n%s\n",
			screen.Paint(terminal.Bold, rule.ID), rule.Severity, rule.Doc, excerpt(rule.Bad), excerpt(rule.Good)))
	}
	return strings.Join(parts, "\n")
}

func excerpt(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimPrefix(text, "\n"), "\n", "\n    ")
}
