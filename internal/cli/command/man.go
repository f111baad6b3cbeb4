package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/output"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write the manual as pages for man",
		Long: `Man writes a page for busgen and for each of its verbs into a folder, which it
makes: busgen.1, busgen-status.1, busgen-dlq-retry.1 and so on. They have the text
that "busgen help" prints. It is for those who package busgen. No file that is
there is overwritten.

Exit status: 0 done, 2 trouble.`,
		Example: `  busgen man man1
  man ./man1/busgen-dlq-retry.1`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s takes one folder, not %d", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.Report(func(args []string) (string, error) {
				pages := manPages(cmd.Root())
				if err := output.Create(args[0], pages); err != nil {
					return "", fmt.Errorf("cannot write the pages: %w", err)
				}
				return fmt.Sprintf("wrote %d pages to %s\n", len(pages), args[0]), nil
			})(cmd, args)
		},
	}
}

// manPages returns a page for a command and all that are below it.
func manPages(cmd *cobra.Command) []output.File {
	pages := []output.File{{Name: manName(cmd) + ".1", Content: []byte(manPage(cmd))}}
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			pages = append(pages, manPages(below)...)
		}
	}
	return pages
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage writes what a command knows of itself in the language of man. It has no date, so that
// the same version makes the same page.
func manPage(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	name := manName(cmd)
	fmt.Fprintf(&b, ".TH %s 1 \"\" busgen \"busgen manual\"\n", roffWord(strings.ToUpper(name)))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roffText(name), roffText(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.EX\n%s\n.EE\n", roffText(cmd.UseLine()))
	b.WriteString(".SH DESCRIPTION\n")
	// The text is set as it is: its lines are short, and its lists have their own form.
	fmt.Fprintf(&b, ".EX\n%s\n.EE\n", roffText(strings.TrimSpace(cmd.Long)))
	if verbs := availableBelow(cmd); len(verbs) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, below := range verbs {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roffWord(below.CommandPath()), roffText(below.Short))
		}
	}
	if cmd.HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
		cmd.Flags().VisitAll(func(f *pflag.Flag) { writeFlag(&b, f) })
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { writeFlag(&b, f) })
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.EX\n%s\n.EE\n", roffText(strings.Trim(cmd.Example, "\n")))
	}
	var others []string
	if cmd.HasParent() {
		others = append(others, manName(cmd.Parent()))
	}
	for _, below := range availableBelow(cmd) {
		others = append(others, manName(below))
	}
	if len(others) > 0 {
		b.WriteString(".SH SEE ALSO\n")
		for i, other := range others {
			comma := ","
			if i == len(others)-1 {
				comma = ""
			}
			fmt.Fprintf(&b, ".BR %s (1)%s\n", roffWord(other), comma)
		}
	}
	return b.String()
}

func availableBelow(cmd *cobra.Command) (verbs []*cobra.Command) {
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			verbs = append(verbs, below)
		}
	}
	return verbs
}

func writeFlag(b *strings.Builder, f *pflag.Flag) {
	if f.Hidden {
		return
	}
	names := "--" + f.Name
	if f.Shorthand != "" {
		names = "-" + f.Shorthand + ", " + names
	}
	value, usage := pflag.UnquoteUsage(f)
	if value != "" {
		names += " " + value
	}
	fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roffWord(names), roffText(usage))
}

// roffWord is one argument of a macro.
func roffWord(text string) string { return `"` + strings.ReplaceAll(roffText(text), `"`, `\(dq`) + `"` }

// roffText writes text so that man prints it as it is: a backslash is no escape, a minus can be
// copied, and a line that begins with a dot or an apostrophe is no request.
func roffText(text string) string {
	text = strings.NewReplacer(`\`, `\e`, `-`, `\-`, `'`, `\(aq`, "`", "\\(ga", `^`, `\(ha`, `~`, `\(ti`).Replace(text)
	var ascii strings.Builder // not every man reads UTF-8
	for _, r := range text {
		if r < 0x80 {
			ascii.WriteRune(r)
		} else {
			fmt.Fprintf(&ascii, `\[u%04X]`, r)
		}
	}
	lines := strings.Split(ascii.String(), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
