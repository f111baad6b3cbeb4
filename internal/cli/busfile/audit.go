package busfile

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/beforehand"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

func newAuditList(on cli.Engines) *cobra.Command {
	var filter auditFilter
	cmd := onFile(on, &cobra.Command{
		Use:   "list FILE",
		Short: "List what operators have done to a file",
		Long: `List shows who has changed what in the file, the newest first: with this
command, with a program that inspects the file, and by the bus itself (redrive,
rename). COUNT is the number of deliveries. ID names an action for "busgen
events discard --undo --action".

With --json: one line for each, with id, at, actor, action, event_id (of an
action on one event), subscription, count, detail. If there are more, the last
line has next: the mark for --after.

Exit status: 0 done, 1 the file has no such subscription, 2 trouble, 3 there is
no such event.`,
		Example: `  busgen audit list shop.db
  busgen audit list shop.db --actor ada --since 03:00
  busgen audit list shop.db --action discard,purge --since 1w --json
  busgen audit list shop.db --event 018f4f2e-1c3a-7b21`,
	}, fileVerb{times: true, do: func(c *call) (string, error) { return audit(c, filter) }})
	filter.flags(on, cmd)
	return cmd
}

// auditFilter has the flags of audit.
type auditFilter struct {
	event.AuditFilter
	page  event.Page
	event string
}

func (f *auditFilter) flags(on cli.Engines, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Actor, "actor", "", "only what this `name` has done")
	flags.StringSliceVar(&f.Actions, "action", nil, "only these `actions`: "+strings.Join(inspect.Actions(), ", "))
	flags.StringVar(&f.Subscription, "subscription", "", "only what was done to this subscription, by `name`")
	flags.StringVar(&f.event, "event", "", "only what has changed this event, alone or with others, by its `id`")
	timeFlags(cmd, &f.Since, &f.Until, "only what was done")
	pageFlags(cmd, &f.page)
	completeFlag(on, cmd, "subscription", subscriptionNames)
	completeFlag(on, cmd, "event", newestEvents)
	cmd.RegisterFlagCompletionFunc("action", cobra.FixedCompletions(inspect.Actions(), cobra.ShellCompDirectiveNoFileComp))
}

func audit(c *call, f auditFilter) (string, error) {
	if err := someLimit(f.page.Limit); err != nil {
		return "", err
	}
	if f.Subscription != "" {
		if err := unknownIsNo(beforehand.Subscriptions(c.context(), c.file, []string{f.Subscription})); err != nil {
			return "", err
		}
	}
	if f.event != "" {
		var err error
		if f.Event, err = c.file.FindEvent(c.context(), f.event); err != nil {
			return "", err
		}
	}
	entries, next, err := c.file.Audit(c.context(), f.AuditFilter, f.page)
	switch {
	case err != nil:
		return "", err
	case c.json:
		return pageOf(entries, next)
	case len(entries) == 0:
		return "No such action is on record.\n", nil
	}
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "ID", Right: true}, {Title: "WHEN"}, {Title: "WHO"}, {Title: "ACTION"}, {Title: "EVENT"},
		{Title: "SUBSCRIPTION"}, {Title: "COUNT", Right: true}, {Title: "DETAIL", Least: 10},
	}}
	for _, a := range entries {
		event := ""
		if a.EventID != [16]byte{} {
			event = cli.ShortID(a.EventID)
		}
		table.Row(terminal.Number(int(a.ID)), c.ago(a.At), a.Actor, a.Action, event, a.Subscription,
			terminal.Number(a.Count), a.Detail)
	}
	return table.Render(c.screen) + more(next), nil
}
