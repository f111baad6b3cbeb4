package busfile

import (
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
)

func newDLQ(on cli.Engines) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dlq",
		Short: "Look into the dead letters of a file, and deal with them",
		Long: `A dead letter is a delivery that was given up: an event that one subscription
could not handle. It is kept with its payload and the error of every attempt
until somebody deals with it: retries it once the cause is gone, corrects its
payload, discards or purges it.

To name a dead letter, use the id of its event, or as much of its beginning as
no other id begins with. If the event is dead for several subscriptions, add the
name of one of them behind a slash: 018f4f2e-1c3a-7b21/charge-card.

All verbs work beside a running program, which notices changes within 200 ms,
and on the file of a program that is down. Every change is recorded in the file,
with the name of who made it.

Exit status: that of the verb.`,
		Example: `  busgen dlq groups shop.db
  busgen dlq retry shop.db --group 5b9de41c02ff --canary 5 --limit 500`,
	}
	cmd.AddCommand(newDLQList(on), newDLQGroups(on), newDLQShow(on), newDLQRetry(on), newDLQEdit(on), newDLQDiscard(on), newDLQPurge(on), newDLQExport(on), newDLQImport(on))
	return cli.Family(cmd)
}
