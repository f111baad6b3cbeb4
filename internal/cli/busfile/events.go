package busfile

import (
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

func newEvents(on cli.Engines) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List, show and publish the events of a file, discard and replay them",
		Long: `An event is stored once, and delivered to every subscription that matches its
type. These verbs publish, and show what was published and what became of it.

Exit status: that of the verb.`,
		Example: `  busgen events list shop.db --status pending
  busgen events tail shop.db
  busgen events show shop.db 018f4f2e-1c3a-7b21
  busgen events tree shop.db 018f4f2e-1c3a-7b21`,
	}
	cmd.AddCommand(newEventsList(on), newEventsTail(on), newEventsShow(on), newEventsTree(on), newEventsExport(on), newEventsPublish(on),
		newEventsTryNow(on), newEventsDiscard(on), newEventsCancel(on), newEventsReplay(on))
	return cli.Family(cmd)
}

func newEventsList(on cli.Engines) *cobra.Command {
	var filter event.Filter
	var page event.Page
	var childOf string
	cmd := onFile(on, &cobra.Command{
		Use:   "list FILE",
		Short: "List events, the newest first",
		Long: `List shows the newest events that match all conditions. STATUS is that of all
deliveries together: pending (some subscription has not settled it), processing
(a handler is at work), dlq (it is a dead letter of some subscription), done.
--subscription and --state ask for one delivery: waiting is one that waits for a
retry, a delay or a limit, held one of a paused type or an unknown version.
FAILED counts the failed attempts. The id is cut: its first 18 characters are
enough for every verb that takes one.

The globs of --type are those of the catalogue: a * at the end stands for one or
more parts of a name. Times are UTC. To find a rare type, list reads the whole
log, which takes up to a second for each million events; --since limits that.

With --json: one line for each, with id, type, version, status, published_at,
due_at (of a delayed event), failures, correlation_id, parent_id, published_by
and hops (of an event that a handler has published), payload, metadata. If there
are more, the last line has next: the mark for --after. Other tools can rely on
these lines: later versions of busgen add fields, and rename and remove none.

Exit status: 0 done, 1 the file has no such event type or subscription, 2
trouble.`,
		Example: `  busgen events list shop.db
  busgen events list shop.db --type 'order.*' --status dlq --since 2h
  busgen events list shop.db --subscription charge-card --state waiting
  busgen events list shop.db --text ada@example.org --limit 5
  busgen events list shop.db --correlation checkout-7 --json
  busgen events list shop.db --child-of 018f4f2e-1c3a-7b21`,
	}, fileVerb{shows: true, times: true, do: func(c *call) (report string, err error) {
		if filter.ChildOf, err = c.parent(childOf); err != nil {
			return "", err
		}
		return listEvents(c, filter, page)
	}})
	eventFlags(on, cmd, &filter)
	cmd.Flags().StringVar(&filter.Status, "status", "",
		"only events with this `status`: "+strings.Join(inspect.Statuses(), ", "))
	cmd.Flags().StringSliceVar(&filter.Subscriptions, "subscription", nil, "only events for one of these subscriptions, by `name`")
	cmd.Flags().StringVar(&filter.State, "state", "",
		"only events whose delivery to it, or to any, is in this `state`: "+strings.Join(inspect.States(), ", "))
	childOfFlag(cmd, &childOf)
	completeFlag(on, cmd, "subscription", subscriptionNames)
	cmd.RegisterFlagCompletionFunc("status",
		cobra.FixedCompletions(inspect.Statuses(), cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("state",
		cobra.FixedCompletions(inspect.States(), cobra.ShellCompDirectiveNoFileComp))
	pageFlags(cmd, &page)
	return cmd
}

// eventFlags adds the flags that choose events.
func eventFlags(on cli.Engines, cmd *cobra.Command, f *event.Filter) {
	contentFlags(on, cmd, f)
	timeFlags(cmd, &f.Since, &f.Until, "only events published")
}

// contentFlags adds those of them that are not about time.
func contentFlags(on cli.Engines, cmd *cobra.Command, f *event.Filter) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.Types, "type", nil, "only events whose type matches one of these `globs`")
	flags.StringVar(&f.Text, "text", "", "only events with this `text` in the payload, the metadata or an error")
	flags.StringVar(&f.CorrelationID, "correlation", "", "only events with this correlation `id`")
	completeFlag(on, cmd, "type", typeNames)
}

func childOfFlag(cmd *cobra.Command, childOf *string) {
	cmd.Flags().StringVar(childOf, "child-of", "",
		"only what handlers of the event with this `id` have published, and its dead-letter notices")
}

// parent returns the event that --child-of names, if it does.
func (c *call) parent(childOf string) (id uuid.UUID, err error) {
	if childOf == "" {
		return id, nil
	}
	return c.file.FindEvent(c.context(), childOf)
}

func listEvents(c *call, filter event.Filter, page event.Page) (string, error) {
	if err := someLimit(page.Limit); err != nil {
		return "", err
	}
	filter, err := c.known(filter)
	if err != nil {
		return "", err
	}
	events, next, err := c.search(filter, page)
	if err != nil {
		return "", err
	}
	switch {
	case c.json:
		return pageOf(c.presentable(events), next)
	case len(events) == 0:
		return "There are no such events.\n", nil
	}
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "ID"}, {Title: "PUBLISHED"}, {Title: "TYPE"}, {Title: "STATUS", Style: styleOf},
		{Title: "FAILED", Right: true}, {Title: "DUE"}, {Title: "PAYLOAD", Least: 10},
	}}
	for _, e := range events {
		due := ""
		if e.Due.After(c.now) {
			due = c.ago(e.Due)
		}
		table.Row(cli.ShortID(e.ID), c.ago(e.PublishedAt), e.Type, e.Status, some(e.Failures), due, string(e.Payload))
	}
	return table.Render(c.screen) + more(next), nil
}

// searchedAtOnce is how many events a search looks through before it says how far it is. Tests make it small.
var searchedAtOnce = 20_000

// search lists events. A search for a text looks through the whole log, so on a terminal it says how far back it is.
func (c *call) search(filter event.Filter, page event.Page) (events []event.Event, next string, err error) {
	if filter.Text == "" || !filter.Until.IsZero() || page.Offset > 0 { // a search begins an hour after Until
		return c.file.Events(c.context(), filter, page)
	}
	progress := c.progress()
	defer progress.Done()
	for {
		found, err := c.file.SearchEvents(c.context(), filter, page, searchedAtOnce)
		events = append(events, found.Events...)
		if err != nil || found.Back.IsZero() || len(found.Events) == page.Limit {
			return events, found.Next, err
		}
		progress.Say("looked back to " + found.Back.Format(time.DateTime+" MST") + ", found " +
			terminal.Counted(len(events), "event"))
		page.After, page.Limit = found.Next, page.Limit-len(found.Events)
	}
}

// styleOf returns the colour of the status of an event and the state of a delivery.
func styleOf(state string) terminal.Style {
	switch state {
	case event.StatusDLQ, event.StateDead:
		return terminal.Red
	case event.StatusPending, event.StateWaiting, event.StateHeld:
		return terminal.Yellow
	case event.StatusDone:
		return terminal.Green
	}
	return terminal.Plain
}
