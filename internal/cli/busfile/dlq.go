package busfile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
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
	cmd.AddCommand(newDLQList(on), newDLQGroups(on), newDLQShow(on), newDLQRetry(on), newDLQEdit(on), newDLQDiscard(on),
		newDLQPurge(on), newDLQExport(on), newDLQImport(on))
	return cli.Family(cmd)
}

func newDLQList(on cli.Engines) *cobra.Command {
	var filter event.Filter
	var page event.Page
	cmd := onFile(on, &cobra.Command{
		Use:   "list FILE",
		Short: "List dead letters, the newest first",
		Long: `List shows the dead letters that match all conditions, the newest first. "busgen
dlq groups" puts those with the same cause together; start with it when there
are many. On a narrow terminal the error is below its row, cut to one line; "dlq
show" has all of it.

With --json: one line for each, as "busgen dlq export" writes it: event_id,
subscription, type, version, payload, metadata, published_at, dead_at,
reason, fingerprint (its group), failures, redriven, progress, attempts (kind,
started_at, ended_at, error, error_type, member, stack, log). A payload that is
not JSON is in raw_payload, in base64. If there are more, the last line has
next: the mark for --after.

Exit status: 0 done, 1 the file has no such subscription, event type or group, 2
trouble.`,
		Example: `  busgen dlq list shop.db
  busgen dlq list shop.db --type 'order.*' --reason decode --since 7d
  busgen dlq list shop.db --text "connection refused" --json`,
	}, fileVerb{shows: true, times: true, do: func(c *call) (string, error) { return listLetters(c, filter, page) }})
	letterFlags(on, cmd, &filter)
	pageFlags(cmd, &page)
	return cmd
}

func listLetters(c *call, filter event.Filter, page event.Page) (string, error) {
	if err := someLimit(page.Limit); err != nil {
		return "", err
	}
	filter, err := c.known(filter)
	if err != nil {
		return "", err
	}
	letters, next, err := c.file.DeadLetters(c.context(), filter, page)
	if err != nil {
		return "", err
	}
	switch {
	case c.json:
		for i := range letters {
			letters[i].Payload = c.payload(letters[i].Payload)
		}
		return pageOf(letters, next)
	case len(letters) == 0:
		return noLetters(filter), nil
	}
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "ID"}, {Title: "DIED"}, {Title: "TYPE"}, {Title: "SUBSCRIPTION"},
		{Title: "REASON"}, {Title: "ERROR", Least: 24},
	}}
	for _, l := range letters {
		table.Row(cli.ShortID(l.EventID), c.ago(l.DeadAt), l.Type, l.Subscription, l.Reason, l.LastAttempt().Error)
	}
	return table.Render(c.screen) + more(next), nil
}

func newDLQGroups(on cli.Engines) *cobra.Command {
	var filter event.Filter
	cmd := onFile(on, &cobra.Command{
		Use:   "groups FILE",
		Short: "Group dead letters by cause",
		Long: `Groups shows how many different problems made the dead letters. Dead letters
form a group if they died for the same reason, with an error of the same type,
the same message and, after a panic, at the same place. What differs from event
to event is replaced in the message: <id>, <n>, <time>, <addr>, <text>. The
largest group comes first, with its message below.

Every other verb takes the name of a group with --group; its first characters
suffice if no other group begins with them.

With --json: one line for each, with fingerprint (the name of the group),
reason, error_type, message, types, subscriptions, count, first, last, sample
(event_id, subscription).

Exit status: 0 done, 1 the file has no such subscription, event type or group, 2
trouble.`,
		Example: `  busgen dlq groups shop.db
  busgen dlq groups shop.db --since 1h --json`,
	}, fileVerb{quotes: true, times: true, do: func(c *call) (string, error) { return groupLetters(c, filter) }})
	letterFlags(on, cmd, &filter)
	return cmd
}

// messageShown is how wide the message of a group is at most in a list. "dlq show" and --json have all of it.
const messageShown = 300

func groupLetters(c *call, filter event.Filter) (string, error) {
	filter, err := c.known(filter)
	if err != nil {
		return "", err
	}
	groups, err := c.file.FailureGroups(c.context(), filter)
	switch {
	case err != nil:
		return "", err
	case c.json:
		return cli.Lines(groups)
	case len(groups) == 0:
		return noLetters(filter), nil
	}
	return c.groupTable(groups), nil
}

// groupTable lists groups of dead letters, with the error of each below it.
func (c *call) groupTable(groups []event.FailureGroup) string {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "GROUP"}, {Title: "COUNT", Right: true}, {Title: "FIRST", Drop: 1}, {Title: "LAST"}, {Title: "SUBSCRIPTION"},
		{Title: "TYPE"}, {Title: "REASON"},
	}}
	sameMessage := map[string]int{}
	for _, g := range groups {
		sameMessage[g.Message]++
	}
	for _, g := range groups {
		table.Row(g.Fingerprint, terminal.Number(g.Count), c.ago(g.First), c.ago(g.Last),
			strings.Join(g.Subscriptions, ", "), strings.Join(g.Types, ", "), g.Reason)
		note := terminal.Cut(terminal.Clean(g.Message), messageShown)
		if sameMessage[g.Message] > 1 && g.ErrorType != "" { // which may have the code that its error says of itself
			note += " (" + terminal.Clean(g.ErrorType) + ")"
		}
		table.Note(note)
	}
	return table.Render(c.screen)
}

// noLetters reports that no dead letter matches.
func noLetters(filter event.Filter) string {
	if only := (event.Filter{Group: filter.Group}); filter.Group != "" && filter.String() == only.String() {
		return fmt.Sprintf("There are no dead letters in group %s at the moment.\n", filter.Group)
	}
	return "There are no such dead letters.\n"
}

func newDLQShow(on cli.Engines) *cobra.Command {
	return onFile(on, &cobra.Command{
		Use:   "show FILE ID[/SUBSCRIPTION]",
		Short: "Show everything about one dead letter",
		Long: `Show prints a dead letter with its payload, every attempt with its error, the
stack of a panic, and the last lines that the handler wrote to the event's
logger, where it comes from, and what operators have done with it. Attempts
before the last one have three of these lines.

With --json: letter (what "busgen dlq list" has), made_from (the events that it
was made from by correcting their payloads), edited_into (event_id,
subscription), audit (id, at, actor, action, event_id, subscription, count,
detail).

Exit status: 0 done, 2 trouble, 3 there is no such dead letter.`,
		Example: `  busgen dlq show shop.db 018f4f2e-1c3a-7b21
  busgen dlq show shop.db 018f4f2e-1c3a-7b21/charge-card --json`,
	}, fileVerb{shows: true, times: true, takes: oneLetter, do: showLetter})
}

func showLetter(c *call) (string, error) {
	key, err := c.letter()
	if err != nil {
		return "", err
	}
	found, err := c.file.DeadLetter(c.context(), key)
	if err != nil {
		return "", err
	}
	if c.json {
		found.Payload = c.payload(found.Payload)
		return cli.Document(found)
	}
	return c.letterText(found), nil
}

func (c *call) letterText(l event.DeadLetterHistory) string {
	var into []string
	for _, key := range l.EditedInto {
		into = append(into, key.String())
	}
	redriven := ""
	if l.Redriven > 0 {
		redriven = strconv.Itoa(l.Redriven) + " times"
	}
	var b strings.Builder
	b.WriteString(c.facts(
		"Dead letter", l.Key.String(),
		"Type", versioned(l.Type, l.Version),
		"Reason", l.Reason,
		"Group", l.Fingerprint,
		"Died", c.moment(l.DeadAt),
		"Published", c.moment(l.PublishedAt),
		"Redriven", redriven,
		"Metadata", string(l.Metadata),
		"Made from", joinIDs(l.MadeFrom),
		"Edited into", strings.Join(into, ", "),
	))
	b.WriteString(c.attempts(l.Subscription, l.Attempts))
	b.WriteString(c.history(l.Audit))
	b.WriteString(c.payloadText(l.Payload))
	return b.String()
}
