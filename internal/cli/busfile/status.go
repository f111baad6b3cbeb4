package busfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/inspect"
)

func newStatus(on cli.Engines) *cobra.Command {
	var failIf []string
	var watch watching
	cmd := onFile(on, &cobra.Command{
		Use:   "status FILE",
		Short: "Show the state of the bus in a file",
		Long: `Status shows which process dispatches from the file, how many events it holds,
how far each subscription is behind, what is paused, and how many dead letters
there are. Look at it first. It works beside a running program and on the file
of one that has died, and changes nothing.

BACKLOG is the number of events that a subscription has not settled. It includes
events that are RUNNING (a handler is at work, or was when its process died),
WAITING (for a retry, a delay or a snooze) and HELD (their type is paused, or a
newer program has published them in a version that this one does not know: these
are listed). DEAD is the number of its dead letters. OLDEST is the age of the
oldest event of the backlog: the number to watch. "no handler" means that the
process that dispatches does not handle the subscription: it was renamed or
forgotten. "no subscription" means that no subscription matches the events of a
type.

Status takes milliseconds however large the file is: it counts only the newest
10,000 events, and a backlog up to 10,000, and for that it reads no more than
100,000 events. "≤ 523,000" means that counting has stopped: that many events of
the log are left to go through, whether or not they match the subscription, and
where it has found none, OLDEST is the age of the first that it has not read.
Events that a handler has snoozed a hundred times, or for more
than a day, are listed: perhaps they wait for something that will never happen.

With --watch it looks again every second (or as --interval says) until it has
looked --count times or is interrupted; the exit status is then 0. A terminal
shows the newest look; otherwise the looks are printed one after the other, and
with --json as one line each. From the second look on there are rates per second
since the look before: events published for a subscription (NEW/s), deliveries
that were HANDLED (or discarded), and deliveries that became dead letters
(DIED/s). DRAINED is when the backlog will be gone at that rate; it "grows", or
is "not shrinking". Status ends when the file can no longer be read.

With --json: at (when it looked), path, size and wal (bytes), schema, owner
(pid, since, alive; null if no bus was ever started), events, more (not all of
them are counted), oldest, newest, types (name, unrouted: no subscription
matches it, events, oldest, newest), subscriptions (name, pattern, paused,
unhandled: it has a backlog and no handler, saturated: its handlers are busy all
the time while its backlog grows, backlog, backlog_at_most, partial, running,
waiting, held, dead, oldest), dead_letters, pauses (subscription or
types, since, actor, reason), breakers and running (as "busgen breakers list"
and "busgen running"), snoozed (event, type, subscription, snoozes, since). With
--watch also rates (seconds since the look before, published per second), and in
each subscription rates (published, handled and dead per second, and drained_in:
seconds, or null). Without --watch also hour: at (when it ends), published and
dead (the number of events and of dead letters in each of the 60 minutes before,
the oldest first; -1 was not counted), and subscriptions (name, dead).

For monitors, --fail-if makes the exit status 1 when a condition holds. It
compares (>, >=, <, <=, =) one of dead, backlog, waiting, held, running with a
number, or oldest with an age, for all subscriptions together or for one that is
named before a colon. unhandled is the number of subscriptions with "no
handler", and saturated the number of saturated ones; dispatchers is 1 if a
process dispatches, else 0. A backlog that is not counted to its end counts as
its upper limit. With --watch, status ends at the first look at which a
condition holds.

Exit status: 0 done, 1 a condition of --fail-if holds, or names a subscription
that the file does not have, 2 trouble.`,
		Example: `  busgen status shop.db
  busgen status shop.db --fail-if 'dead>100' --fail-if 'charge-card:oldest>10m'
  busgen status shop.db --watch
  busgen status shop.db --watch --interval 5s --count 3 --json
  busgen status shop.db --json`,
	}, fileVerb{quotes: true, times: true, opens: true, do: func(c *call) (string, error) { return status(c, failIf, watch) }})
	cmd.Flags().StringArrayVar(&failIf, "fail-if", nil, "exit with 1 if this `condition` holds: dead>100, charge-card:oldest>10m")
	watch.flags(cmd)
	return cmd
}

func status(c *call, failIf []string, watch watching) (string, error) {
	if err := watch.check(c.cmd); err != nil {
		return "", err
	}
	if err := c.open(); err != nil {
		return "", err
	}
	conditions, err := c.thresholds(failIf)
	c.release()
	switch {
	case err != nil:
		return "", err
	case watch.on:
		return "", c.watchStatus(conditions, watch)
	}
	status, err := c.lookAtStatus(inspect.Status{})
	if err != nil {
		return "", err
	}
	report := c.statusText(status)
	if c.json {
		report, err = c.statusDocument(status)
	}
	return report, errors.Join(err, fails(conditions, status, c.now))
}

// statusDocument formats a status and the last hour as JSON.
func (c *call) statusDocument(status inspect.Status) (string, error) {
	if err := c.open(); err != nil {
		return "", err
	}
	defer c.release()
	hour, err := c.file.Hour(c.context())
	if err != nil {
		return "", err
	}
	return cli.Document(struct {
		inspect.Status
		Hour inspect.Hour `json:"hour"`
	}{status, hour})
}

// lookAtStatus opens the file, reads the status, and closes the file.
func (c *call) lookAtStatus(before inspect.Status) (inspect.Status, error) {
	if err := c.open(); err != nil {
		return inspect.Status{}, err
	}
	defer c.release() // between two looks, a program that ends can put its file in order
	return c.file.StatusSince(c.context(), before)
}

// statusText formats a status for people.
func (c *call) statusText(status inspect.Status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", terminal.Clean(status.Path), terminal.Bytes(status.Size))
	if !strings.Contains(status.Path, "://") { // only a file has one
		fmt.Fprintf(&b, ", and %s in its write-ahead log", terminal.Bytes(status.WAL))
	}
	b.WriteString("\n")
	b.WriteString(c.owner(status.Owner))
	if status.CrashLoop {
		b.WriteString(c.screen.Paint(terminal.Red, "Crash loop:") +
			" the last process ended within 10 s of its start, while handlers were running.\nDeliveries that another crash would make dead letters wait until a process has lived for 10 s.\n")
	}
	fmt.Fprintf(&b, "%s\n", c.extent(status))
	if status.Rates != nil {
		fmt.Fprintf(&b, "%s events are published per second.\n", terminal.Rate(status.Rates.Published))
	}
	if len(status.Types) > 0 {
		b.WriteString("\n" + c.typeTable(status.Types))
		if status.More {
			fmt.Fprintf(&b, "(of the newest %s events)\n", terminal.Number(status.Events))
		}
	}
	if len(status.Subscriptions) > 0 {
		b.WriteString("\n" + c.subscriptionTable(status.Subscriptions))
	}
	if len(status.Pauses) > 0 {
		b.WriteString("\n" + c.pauseLines(status.Pauses))
	}
	if lines := c.newerLines(status.Subscriptions); lines != "" {
		b.WriteString("\n" + lines)
	}
	if len(status.Breakers) > 0 {
		b.WriteString("\n" + c.breakerLines(status.Breakers))
	}
	if len(status.Running) > 0 {
		b.WriteString("\n" + c.runningLine(status.Running))
	}
	if len(status.Snoozed) > 0 {
		b.WriteString("\n" + c.snoozedTable(status.Snoozed))
	}
	if status.DeadLetters > 0 {
		fmt.Fprintf(&b, "\n%s: %s\n", terminal.Counted(status.DeadLetters, "dead letter"), c.line("dlq groups"))
	}
	return b.String()
}

func (c *call) owner(owner *inspect.Owner) string {
	switch {
	case owner == nil:
		return c.screen.Paint(terminal.Yellow, "No process has ever dispatched from it.") + "\n"
	case owner.Alive:
		return fmt.Sprintf("Process %d dispatches since %s.\n", owner.PID, c.moment(owner.Since))
	}
	return c.screen.Paint(terminal.Red, "No process dispatches from it.") +
		fmt.Sprintf(" The last one was %d, started %s.\n", owner.PID, c.moment(owner.Since))
}

func (c *call) extent(status inspect.Status) string {
	if status.Events == 0 {
		return "There are no events in it."
	}
	count := terminal.Counted(status.Events, "event")
	if status.More {
		count = "More than " + count
	}
	return fmt.Sprintf("%s, the oldest from %s, the newest from %s.", count,
		c.moment(status.Oldest), c.moment(status.Newest))
}

func (c *call) typeTable(types []inspect.TypeCount) string {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "TYPE", Least: 12}, {Title: "EVENTS", Right: true}, {Title: "OLDEST"}, {Title: "NEWEST"}, {Style: always(terminal.Yellow)},
	}}
	for _, t := range types {
		note := ""
		if t.Unrouted {
			note = "no subscription"
		}
		table.Row(t.Name, terminal.Number(t.Events), c.ago(t.Oldest), c.ago(t.Newest), note)
	}
	return table.Render(c.screen)
}

// subscriptionTable lists subscriptions. Zeros are left out, and so is a column
// that has only zeros.
func (c *call) subscriptionTable(subscriptions []inspect.SubscriptionState) string {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "SUBSCRIPTION", Least: 12}, {Title: "PATTERN", Least: 10}, {Title: "BACKLOG", Right: true}, {Title: "RUNNING", Right: true},
		{Title: "WAITING", Right: true}, {Title: "HELD", Right: true}, {Title: "DEAD", Right: true, Style: always(terminal.Red)},
		{Title: "OLDEST"}, {Title: "NEW/s", Right: true}, {Title: "HANDLED/s", Right: true},
		{Title: "DIED/s", Right: true, Style: always(terminal.Red)}, {Title: "DRAINED"}, {Style: always(terminal.Yellow)},
	}}
	for _, s := range subscriptions {
		backlog := terminal.Number(s.Backlog)
		if s.Backlog >= inspect.MaxBacklog || s.BacklogAtMost > s.Backlog {
			backlog = "≤ " + terminal.Number(s.BacklogAtMost)
		}
		var notes []string
		if s.Paused {
			notes = append(notes, "paused")
		}
		if s.Unhandled {
			notes = append(notes, "no handler")
		}
		if s.Saturated {
			notes = append(notes, "saturated")
		}
		published, handled, died, drained := rates(s)
		table.Row(s.Name, s.Pattern, backlog, some(s.Running), some(s.Waiting), some(s.Held), some(s.Dead), c.ago(s.Oldest),
			published, handled, died, drained, strings.Join(notes, ", "))
	}
	return table.Render(c.screen)
}

// snoozedTable lists events that handlers have snoozed again and again.
func (c *call) snoozedTable(snoozed []inspect.Snoozed) string {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "SNOOZED", Least: 8}, {Title: "TYPE", Least: 12}, {Title: "SUBSCRIPTION", Least: 12}, {Title: "TIMES", Right: true}, {Title: "SINCE"},
	}}
	for _, one := range snoozed {
		table.Row(cli.ShortID(one.Event), one.Type, one.Subscription, terminal.Number(one.Snoozes), c.ago(one.Since))
	}
	return table.Render(c.screen)
}

func (c *call) pauseLines(pauses []inspect.PauseState) string {
	var b strings.Builder
	for _, p := range pauses {
		what := "subscription " + p.Subscription
		if p.Types != "" {
			what = "events of type " + p.Types
		}
		by := ""
		if p.Actor != "" {
			by = ", by " + p.Actor
		}
		if p.Reason != "" {
			by += ": " + p.Reason
		}
		fmt.Fprintf(&b, "%s: %s, since %s%s\n", c.screen.Paint(terminal.Yellow, "Paused"), terminal.Clean(what), c.moment(p.Since), terminal.Clean(by))
	}
	return b.String()
}

// newerLines lists versions that the dispatching program does not know.
func (c *call) newerLines(subscriptions []inspect.SubscriptionState) string {
	var b strings.Builder
	for _, s := range subscriptions {
		for _, n := range s.Newer {
			fmt.Fprintf(&b, "%s: %s of %s for %s, since %s: no program that knows this version has taken over\n", c.screen.Paint(terminal.Yellow, "Held"),
				terminal.Counted(n.Events, "event"), terminal.Clean(versioned(n.Type, n.Version)), terminal.Clean(s.Name), c.moment(n.Since))
		}
	}
	return b.String()
}

// some formats a number; 0 is empty.
func some(n int) string {
	if n == 0 {
		return ""
	}
	return terminal.Number(n)
}

func always(style terminal.Style) func(string) terminal.Style {
	return func(string) terminal.Style { return style }
}
