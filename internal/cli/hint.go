package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// UnknownVerb explains a first argument that is neither a verb nor a catalogue.
func UnknownVerb(cmd *cobra.Command, arg string) error {
	return fmt.Errorf("there is no verb %q%s (a catalogue's name ends in .yaml)", arg, hint(cmd, "", cmd.SuggestionsFor(arg)))
}

func unknownVerbOf(cmd *cobra.Command, arg string) error {
	return fmt.Errorf("%s has no verb %q%s", cmd.CommandPath(), arg, hint(cmd, "", cmd.SuggestionsFor(arg)))
}

// ExplainFlag adds to a flag error what was probably meant.
func ExplainFlag(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Errorf("--%s %s: see \"%s --help\"", invalid.GetFlag().Name, unfit(invalid), cmd.CommandPath())
	}
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		return fmt.Errorf("%w: see \"%s --help\"", err, cmd.CommandPath())
	}
	return fmt.Errorf("there is no flag --%s%s", name, hint(cmd, "--", similarFlags(cmd, name)))
}

// hint says what was meant or, if nothing is close, where to look.
func hint(cmd *cobra.Command, prefix string, candidates []string) string {
	if len(candidates) == 0 {
		return fmt.Sprintf(": see \"%s --help\"", cmd.CommandPath())
	}
	return ": did you mean " + prefix + strings.Join(candidates, " or "+prefix) + "?"
}

// unfit says why a flag does not take a value.
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

// similarFlags makes cobra find flags the way it finds commands.
func similarFlags(cmd *cobra.Command, name string) []string {
	flags := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, match := range flagName.FindAllStringSubmatch(cmd.Flags().FlagUsages(), -1) {
		flags.AddCommand(&cobra.Command{Use: match[1], Run: func(*cobra.Command, []string) {}})
	}
	return flags.SuggestionsFor(name)
}
