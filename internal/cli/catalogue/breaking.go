package catalogue

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/breaking"
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/diag"
)

func newBreaking(on cli.Engines) *cobra.Command {
	v := breakingVerb{on: on, direction: direction(diag.Both)}
	list := false
	cmd := &cobra.Command{
		Use:   "breaking [events.yaml]",
		Short: "Tell what a change of the catalogue does to stored events",
		Long: `Breaking compares a catalogue with what it was: in a revision of git (--against
main, HEAD~1, v1.2, or main:old/events.yaml if the file has moved), in another
file, or in a file of the same name in another folder. For a name that is both,
write ./base for the file or folder and refs/tags/base for the revision.

There are two answers. Backward: how the new program reads rows that the old one
has stored. Forward: how the old program reads rows of the new one, while both
run or after a rollback. Rows that do not decode, or are lost, are errors; rows
that decode and do not fit the catalogue are warnings; notes are for
information. A new version of a payload, with the old one under history, breaks
nothing backward, but breaks forward: an old program sets aside versions that it
does not know. If you never roll back, use --direction backward. The compiler
says whether Go code still compiles.

To accept a change, write the key of its finding under accepted in the
catalogue, with the reason. The finding is a note then.

With --db it reads every open event and dead letter of a file, and counts those
that the code of this catalogue will not decode, by type, version and reason.

The rules, each with its purpose and examples, are listed by --rules.

` + formatHelp + `
A finding has a direction, too: backward, forward or both; and the key that it
ends with in text, which stays the same while lines move.

Exit status: 0 compatible, 1 breaking (errors or warnings), 2 trouble: with the
command line, with files, with git, or findings in one of the catalogues.`,
		Example: `  busgen breaking --against main
  busgen breaking events/events.yaml --against v1.2 --direction backward
  busgen breaking --against release/events.yaml --format github
  busgen breaking --db shop.db`,
		Args:              cli.AtMostOne("catalogue"),
		ValidArgsFunction: cli.CompleteCatalogue,
		RunE: func(cmd *cobra.Command, args []string) error {
			screen := terminal.ScreenOf(cmd.OutOrStdout())
			return cli.Report(func(args []string) (string, error) {
				if list {
					return breakingRules(screen), nil
				}
				return v.run(cmd, args)
			})(cmd, args)
		},
	}
	formatFlag(cmd, &v.form)
	cmd.Flags().StringVar(&v.against, "against", "", "`revision` of git, file or folder with what the catalogue was")
	cmd.Flags().StringVar(&v.db, "db", "", "`file` of a bus whose rows are to be decoded")
	cmd.Flags().Var(&v.direction, "direction", "who reads whose rows: `backward, forward or both`")
	cmd.RegisterFlagCompletionFunc("direction", cobra.FixedCompletions(directionWords(), cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().BoolVar(&list, "rules", false, "list the rules instead")
	for _, other := range []string{"format", "against", "db", "direction"} {
		cmd.MarkFlagsMutuallyExclusive("rules", other)
	}
	return cmd
}

type breakingVerb struct {
	on        cli.Engines
	against   string
	db        string
	direction direction
	form      format
}

// direction is the value of the flag --direction.
type direction diag.Direction

func directionWords() []string {
	return []string{diag.Backward.String(), diag.Forward.String(), diag.Both.String()}
}

// Set implements [pflag.Value].
func (d *direction) Set(text string) error {
	i := slices.Index(directionWords(), text)
	if i < 0 {
		return fmt.Errorf("want one of %s", strings.Join(directionWords(), ", "))
	}
	*d = direction(i + 1) // the directions are the bits of a set
	return nil
}

// String implements [pflag.Value].
func (d *direction) String() string { return diag.Direction(*d).String() }

// Type implements [pflag.Value].
func (d *direction) Type() string { return "direction" }

func (v *breakingVerb) run(cmd *cobra.Command, args []string) (string, error) {
	if v.against == "" && v.db == "" {
		return "", errors.New("say what to compare with, as in --against main, or whose rows to decode, as in --db shop.db")
	}
	c, err := cli.LoadCatalogue(args)
	if err != nil {
		return v.form.of("", nil, err)
	}
	var all diag.Findings
	var answers []string
	if v.against != "" {
		before, err := formerCatalogue(cmd.Context(), v.against, c.File)
		if err != nil {
			return v.form.of("", nil, err)
		}
		if all, err = breaking.Compare(before, breaking.State{Catalogue: c, Read: parse.Disk{}.ReadFile}); err != nil {
			return "", err
		}
		all = v.wanted(all)
		answers = v.answers(all)
	}
	if v.db != "" {
		rows, err := storedRows(cmd.Context(), c, v.on, v.db)
		if err != nil {
			return "", err
		}
		all = append(all, rows.findings()...)
		all.Sort(c.Files)
		answers = append(answers, rows.answer())
	}
	return v.report(c, all, answers)
}

// wanted leaves out findings about the other direction.
func (v *breakingVerb) wanted(all diag.Findings) diag.Findings {
	return slices.DeleteFunc(all, func(f *diag.Finding) bool {
		return f.Direction&diag.Direction(v.direction) == 0
	})
}

// answers returns a line for each direction that was asked for.
func (v *breakingVerb) answers(all diag.Findings) []string {
	var lines []string
	for _, one := range []struct {
		direction diag.Direction
		text      string
	}{{diag.Backward, "backward (old rows, new program): "}, {diag.Forward, "forward (new rows, old program): "}} {
		if diag.Direction(v.direction)&one.direction == 0 {
			continue
		}
		part := slices.DeleteFunc(slices.Clone(all), func(f *diag.Finding) bool {
			return f.Severity == diag.Note || f.Direction&one.direction == 0
		})
		if len(part) == 0 {
			lines = append(lines, one.text+"compatible")
		} else {
			lines = append(lines, one.text+"breaking, "+cli.Tally(part))
		}
	}
	return lines
}

func (v *breakingVerb) report(c *catalog.Catalogue, all diag.Findings, answers []string) (report string, err error) {
	if report, err = v.form.document(all); err != nil {
		return "", err
	}
	if v.form == text {
		report += strings.Join(answers, "\n") + "\n"
	}
	if all.Worst() >= diag.Warning {
		return report, cli.No(&cli.FindingsError{File: c.File, Findings: all, Reported: true})
	}
	return report, nil
}

// breakingRules describes the rules.
func breakingRules(screen terminal.Screen) string {
	var parts []string
	for _, rule := range breaking.Rules() {
		text := fmt.Sprintf("%s (%s, %s)\n  %s\n", screen.Paint(terminal.Bold, rule.ID), rule.Severity, rule.Direction, rule.Doc)
		if rule.Before != "" {
			text += fmt.Sprintf("\n  before:\n%s\n\n  reported:\n%s\n\n  fine:\n%s\n", excerpt(rule.Before), excerpt(rule.Bad), excerpt(rule.Good))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n")
}
