package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// shells lists the shells that cobra can complete for.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// Completion returns the verb that prints a script for a shell.
func Completion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion (bash | zsh | fish | powershell)",
		Short: "Print a script that makes a shell complete busgen's commands",
		Long: `Completion prints a script. A shell that has read it completes verbs, flags and
files, and names that are in the file of a bus: subscriptions, events, dead
letters. That of bash needs the package bash-completion.

Exit status: 0 done, 2 trouble.`,
		Example: `  busgen completion bash > /etc/bash_completion.d/busgen
  busgen completion zsh > "${fpath[1]}/_busgen"
  busgen completion fish > ~/.config/fish/completions/busgen.fish`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(shells, args[0]) {
				return fmt.Errorf("%s needs a shell: %s", cmd.CommandPath(), strings.Join(shells, ", "))
			}
			return nil
		},
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			}
			return root.GenPowerShellCompletionWithDesc(out)
		},
	}
}
