package cli

import "github.com/spf13/cobra"

// A Group is verbs under a title of the help.
type Group struct {
	Title string // may be empty
	Verbs []*cobra.Command
}

// Root completes a root command: it puts verbs below it, in their order, and
// explains command lines that are wrong.
func Root(root *cobra.Command, groups ...Group) *cobra.Command {
	root.SilenceErrors = true // Run prints them
	root.SilenceUsage = true
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(ExplainFlag)
	root.CompletionOptions.DisableDefaultCmd = true // ours has a manual
	cobra.EnableCommandSorting = false              // the most used verb comes first
	for _, group := range groups {
		if group.Title != "" {
			root.AddGroup(&cobra.Group{ID: group.Title, Title: group.Title})
		}
		for _, cmd := range group.Verbs {
			cmd.GroupID = group.Title
			root.AddCommand(cmd)
		}
	}
	helpOrTrouble(root)
	return root
}

// helpOrTrouble makes help for a verb that does not exist an error. Cobra
// answers it with the help of another verb.
func helpOrTrouble(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Run = nil
	help.RunE = func(cmd *cobra.Command, args []string) error {
		found, rest, err := root.Find(args)
		switch {
		case found == root && len(args) > 0:
			return UnknownVerb(root, args[0])
		case err != nil:
			return err
		case len(rest) > 0:
			return unknownVerbOf(found, rest[0])
		}
		found.InitDefaultHelpFlag()
		return found.Help()
	}
}
