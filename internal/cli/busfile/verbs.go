// Package busfile has the verbs about the file of a bus: what is in it, how the
// bus is doing, and what an operator can change.
//
// Each verb has a file of its own, and families such as dlq have several. A
// verb is a cobra command that [onFile] completes with a [fileVerb]: which
// arguments it takes behind FILE, which of the common flags it has, and a
// function that gets a [call] with the open file and returns the report. call.go
// asks before something is destroyed, shows times and payloads, and gives errors
// their exit status. letters.go has the flags and arguments that choose dead
// letters, arguments.go completes names and checks them against those in the file, and
// sweep.go is for the verbs that change many deliveries.
package busfile

import (
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
)

// Verbs returns the verbs in the order of the help. Besides files they take the addresses of
// the engines.
func Verbs(on ...cli.Engine) []*cobra.Command {
	return []*cobra.Command{
		newStatus(on), newInspect(on), newEvents(on), newDLQ(on), newSubscriptions(on), newBreakers(on),
		family("limits", newLimitsList(on)), family("schedules", newSchedulesList(on)), family("running", newRunningList(on)),
		newErase(on), family("audit", newAuditList(on)), newCheckDB(on),
	}
}

// family is the family of what can only be listed.
func family(name string, list *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: list.Short, Long: list.Short + ".\n\nExit status: that of the verb.", Example: list.Example,
	}
	cmd.AddCommand(list)
	return cli.Family(cmd)
}
