package busfile

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/standing"
	"github.com/busgen/busgen/runtime/event"
)

func newLimitsList(on cli.Engines) *cobra.Command {
	return onFile(on, &cobra.Command{
		Use:   "list FILE",
		Short: "List who waits: customers of a limit, keys of an order",
		Long: `List shows for what most deliveries wait: room in a limit, for one value of
its field or for all, or their partition key, whose deliveries are handled one
after the other. They wait in the file, and hold up nothing else. There are up
to 20 lines, that with the most deliveries first. WAITING counts the deliveries
that are parked, up to 100,000 in all; the few that the process has in memory
are not among them. LONGEST is when the first of them was published. HELD BY is
who has the places of the limit: handlers that have been at work for more than a
second, each with its subscription, its event and since when, as in "busgen
running". A limit in which such handlers have places has a line even if nothing
is parked for it. Not shown are handlers that are quick, and events that hold a
place between two attempts.

With --json: one line for each, with subscription, kind (limit, key, breaker or
pause), limit, key, waiting, since, held_by (as "busgen running list").

Exit status: 0 done, 2 trouble.`,
		Example: `  busgen limits list shop.db
  busgen limits list shop.db --json`,
	}, fileVerb{times: true, do: listLimits})
}

func listLimits(c *call) (string, error) {
	waitlists, err := c.file.Waitlists(c.context())
	if err != nil {
		return "", err
	}
	running, err := c.file.Running(c.context())
	if err != nil {
		return "", err
	}
	lines := standing.Waitlists(waitlists, running)
	switch {
	case c.json:
		return cli.Lines(lines)
	case len(lines) == 0:
		return "No delivery is parked for a limit or a key.\n", nil
	}
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "SUBSCRIPTION"}, {Title: "WAITS FOR"}, {Title: "KEY"}, {Title: "WAITING", Right: true}, {Title: "LONGEST"}, {Title: "HELD BY"},
	}}
	for _, l := range lines {
		longest := ""
		if l.Waiting > 0 {
			longest = c.ago(l.Since)
		}
		table.Row(l.Subscription, waitlistKind(l.Waitlist), l.Key, terminal.Number(l.Waiting), longest, c.holders(l.HeldBy))
	}
	return table.Render(c.screen), nil
}

// holders names the deliveries that hold places of a limit.
func (c *call) holders(all []event.Running) string {
	if len(all) == 0 {
		return ""
	}
	first := all[0]
	text := first.Subscription + " " + cli.ShortID(first.Event) + " " + c.ago(first.Started)
	if more := len(all) - 1; more > 0 {
		text += " and " + terminal.Number(more) + " more"
	}
	return text
}

// waitlistKind says what the deliveries of a waitlist wait for.
func waitlistKind(l event.Waitlist) string {
	switch l.Kind {
	case event.WaitlistLimit:
		return "limit " + l.Limit
	case event.WaitlistKey:
		return "partition key"
	}
	return l.Kind
}

// manyWait is from how many parked deliveries on the status names their waitlist.
const manyWait = 100

// waitlistLines lists in the status for what many deliveries wait.
func (c *call) waitlistLines(waitlists []event.Waitlist) string {
	var b strings.Builder
	for _, l := range waitlists[:min(len(waitlists), 3)] {
		if l.Waiting < manyWait {
			continue
		}
		who := terminal.Clean(cmp.Or(l.Key, "all keys"))
		b.WriteString(c.trouble(terminal.Yellow, "Waiting", ": "+terminal.Number(l.Waiting)+" deliveries of "+who+" wait for "+
			terminal.Clean(waitlistKind(l))+" in "+terminal.Clean(l.Subscription)+", the first since "+c.moment(l.Since)+"."))
	}
	return b.String()
}
