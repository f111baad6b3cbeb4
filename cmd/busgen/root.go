package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/busgen/busgen/internal/suggest"
)

// newRoot builds the command tree. The root does what generate does, so that
// the shortest command is the most frequent one.
func newRoot() *cobra.Command {
	root := newGenerate()
	root.Use = "busgen [events.yaml]"
	root.Short = "Generate Go code from a catalogue of events"
	root.Long = `busgen reads a catalogue, a YAML file that declares the events of a program, and
writes a Go package with a struct for each payload and typed functions that
publish events and subscribe to them.

Without a verb it does what "busgen generate" does. Every verb that reads a
catalogue takes it as its first argument; without one it reads ./events.yaml.
Other verbs look into the file of a bus and steer it, while the program runs or
after it has died.

Exit status: 0 done, 1 the answer is no (findings in the catalogue; generated
code out of date; a damaged file), 2 trouble with the command line or with
files, 3 what was asked for is not there (no such event; no dead letter that
matches). What a verb means by 1 is in its own help, and so is a status of its
own. Ctrl-C and SIGTERM end every verb at once, with 128 + the number of the
signal; it has changed all of its files then, or none.`
	root.Example = `  busgen init                      # start with a catalogue in ./events
  busgen                           # generate from ./events.yaml
  busgen events/events.yaml        # generate from another one
  busgen check events/events.yaml  # in CI: is the checked-in code up to date?
  busgen status shop.db            # how is the bus in shop.db doing?

  //go:generate go tool busgen generate events.yaml`
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && !isCatalogue(args[0]) {
			return unknownVerb(cmd, args[0])
		}
		return atMostOne("catalogue")(cmd, args)
	}
	root.SilenceErrors = true // run prints them
	root.SilenceUsage = true
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(explainFlag)
	cobra.EnableCommandSorting = false // the most used verb comes first
	inGroup(root, catalogueGroup, newGenerate(), newCheck(), newLint(), newBreaking(), newDescribe(), newPolicy(), newDocs(), newExport(), newImport(), newSchema(), newFmt(), newRename(), newNew(), newInit())
	inGroup(root, "The file of a bus:", newStatus(), newEvents(), newDLQ(), newSubscriptions(), newBreakers(), newRunning(), newAudit(), newCheckDB())
	root.AddCommand(newCompletion(), newVersion())
	root.CompletionOptions.DisableDefaultCmd = true // ours has a manual
	root.Version = "see version.go"                 // so that there is a flag
	root.SetVersionTemplate(version())
	helpOrTrouble(root)
	return root
}

// helpOrTrouble makes an error of a help for a verb that is not there, which cobra
// answers with the help of another one.
func helpOrTrouble(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Run = nil
	help.RunE = func(cmd *cobra.Command, args []string) error {
		found, rest, err := root.Find(args)
		switch {
		case found == root && len(args) > 0:
			return unknownVerb(root, args[0])
		case err != nil:
			return err
		case len(rest) > 0:
			return unknownVerbOf(found, rest[0])
		}
		found.InitDefaultHelpFlag()
		return found.Help()
	}
}

// catalogueGroup is the title of the verbs that work on a catalogue.
const catalogueGroup = "Catalogues:"

// inGroup adds commands under a title of the help.
func inGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = title
		root.AddCommand(cmd)
	}
}

// atMostOne accepts one argument, or none; what is for the error.
func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("%s takes one %s, not %d: run it once for each", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no argument, but got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

func unknownVerb(cmd *cobra.Command, arg string) error {
	return fmt.Errorf("there is no verb %q%s (a catalogue's name ends in .yaml)", arg, hint(cmd, "", cmd.SuggestionsFor(arg)))
}

func unknownVerbOf(cmd *cobra.Command, arg string) error {
	return fmt.Errorf("%s has no verb %q%s", cmd.CommandPath(), arg, hint(cmd, "", cmd.SuggestionsFor(arg)))
}

// explainFlag adds to a flag error what was probably meant.
func explainFlag(cmd *cobra.Command, err error) error {
	if invalid := (*pflag.InvalidValueError)(nil); errors.As(err, &invalid) {
		return fmt.Errorf("--%s %s: see \"%s --help\"", invalid.GetFlag().Name, unfit(invalid), cmd.CommandPath())
	}
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if groupOf(cmd) == catalogueGroup && (strings.HasPrefix(name, "catalog") && unknown || strings.HasPrefix(err.Error(), "unknown shorthand flag: 'c'")) {
		return fmt.Errorf("the catalogue is an argument, and no flag: see \"%s --help\"", cmd.CommandPath())
	}
	if !unknown {
		return fmt.Errorf("%w: see \"%s --help\"", err, cmd.CommandPath())
	}
	return fmt.Errorf("there is no flag --%s%s", name, hint(cmd, "--", similarFlags(cmd, name)))
}

// groupOf is the title under which the help lists a verb, or the family that it is of.
func groupOf(cmd *cobra.Command) string {
	if cmd.GroupID == "" && cmd.HasParent() {
		return groupOf(cmd.Parent())
	}
	return cmd.GroupID
}

// hint tells what was meant or, if nothing is close, where to look.
func hint(cmd *cobra.Command, prefix string, candidates []string) string {
	if len(candidates) == 0 {
		return fmt.Sprintf(": see \"%s --help\"", cmd.CommandPath())
	}
	return ": did you mean " + prefix + strings.Join(candidates, " or "+prefix) + "?"
}

// nearest asks whether the name closest to a word was meant, or the first that
// begins with it; it is empty if none is close.
func nearest(word string, names []string) string {
	best := suggest.Closest(word, names)
	if i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, word) }); best == "" && i >= 0 {
		best = names[i]
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", best)
}

// unfit says why a value is none of a flag.
func unfit(invalid *pflag.InvalidValueError) string {
	what := map[string]string{"int": "a whole number", "float64": "a number", "bool": "true or false"}[invalid.GetFlag().Value.Type()]
	switch {
	case what == "":
		return fmt.Sprintf("is %q: %v", invalid.GetValue(), invalid.Unwrap())
	case errors.Is(invalid, strconv.ErrRange):
		return fmt.Sprintf("takes %s that is not as large as %q", what, invalid.GetValue())
	}
	return fmt.Sprintf("takes %s, not %q", what, invalid.GetValue())
}

var flagName = regexp.MustCompile(`--([a-z-]+)`)

// similarFlags has cobra find flags the way it finds commands.
func similarFlags(cmd *cobra.Command, name string) []string {
	flags := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, match := range flagName.FindAllStringSubmatch(cmd.Flags().FlagUsages(), -1) {
		flags.AddCommand(&cobra.Command{Use: match[1], Run: func(*cobra.Command, []string) {}})
	}
	return flags.SuggestionsFor(name)
}
