package busfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
)

func newStatus(on cli.Engines) *cobra.Command {
	var failIf []string
	var watch watching
	cmd := onFile(on, &cobra.Command{
		Use:   "status FILE",
		Short: "Show the state of the bus in a file",
		Long: `Status shows what is wrong, how far each subscription is behind, which process
dispatches from the file, and how many events it holds. Look at it first. It
works beside a running program and on the file of one that has died, and changes
nothing.

What is wrong comes first: a full disk, a process that is gone, open circuit
breakers, pauses, held events, handlers left behind, dead letters. Then come the
subscriptions, those with trouble first, and then the rest. On a narrow terminal
names stay whole: less important columns are left out (PATTERN first, then
RUNNING and WAITING), lines are folded, and what is behind a long name is below
it. Command lines to copy have the whole path of the file.

"Stands still" is about a bus whose processes share subscriptions (nats://):
deliveries wait that could be handled, and for 15 seconds nothing was stored of
the subscription, or of these parts of it, because no process has them, or the
one that has them does not answer, or says that it can do nothing. What waits
for a reason (a pause, a retry, a breaker, a limit, a slow handler) does not
stand still.

"Nothing can be stored" is what the process that dispatches has met, such as
"disk full", or that the file system has less space than a commit needs. A quota
or a fault that only a program meets which merely publishes cannot be seen from
outside.

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
shows the newest look, as much of it as it has lines for, and how many more
there are; otherwise the looks are printed one after the other, and with --json
as one line each. From the second look on there are rates per second since the
look before: events published for a subscription (NEW/s), deliveries that were
HANDLED (or discarded), and deliveries that became dead letters (DIED/s).
DRAINED is when the backlog will be gone at that rate; it "grows", or is "not
shrinking". Status ends when the file can no longer be read.

With --json: at (when it looked), path, size and wal (bytes), schema, owner
(pid, since, alive; null if no bus was ever started), unwritable (why nothing
can be stored; absent if nothing is known), events, more (not all of them are
counted), oldest, newest, types (name, unrouted: no subscription matches it,
events, oldest, newest), subscriptions (name, pattern, paused, unhandled: it has
a backlog and no handler, saturated: its handlers are busy all the time while
its backlog grows, stalled: what stands still (since, parts, pid, host, idle:
the process answers, and can do nothing), backlog, backlog_at_most, partial,
running, waiting, later (how many of these are due later than now), next_due,
held, dead, oldest), dead_letters, pauses (subscription or types, since, actor,
reason), breakers, waitlists and running (as "busgen breakers list", "busgen
limits list" and "busgen running list"), snoozed (event, type, subscription,
snoozes, since). With --watch also rates (seconds since the look
before, published per second), and in each subscription rates (published,
handled and dead per second, and drained_in: seconds, or null). Without --watch
also hour: at (when it ends), published and dead (the number of events and of
dead letters in each of the 60 minutes before, the oldest first; -1 was not
counted), and subscriptions (name, dead).

For monitors, --fail-if makes the exit status 1 when a condition holds. It
compares (>, >=, <, <=, =) one of dead, backlog, waiting, held, running with a
number, or oldest with an age, for all subscriptions together or for one that is
named before a colon. unhandled is the number of subscriptions with "no
handler", saturated the number of saturated ones, and stalled of those that
stand still; dispatchers is 1 if a process dispatches, else 0, and unwritable is
1 if nothing can be stored. A backlog that is not counted to its end counts as
its upper limit. With --watch, status ends at the first look at which a
condition holds.

Exit status: 0 done, 1 a condition of --fail-if holds, or names a subscription
that the file does not have, 2 trouble.`,
		Example: `  busgen status shop.db
  busgen status shop.db --fail-if 'dead>100' --fail-if 'charge-card:oldest>10m'
  busgen status shop.db --watch
  busgen status shop.db --watch --interval 5s --count 3 --json
  busgen status shop.db --json`,
	}, fileVerb{quotes: true, times: true, opens: true, do: func(c *call) (string, error) {
		return status(c, failIf, watch)
	}})
	cmd.Flags().StringArrayVar(&failIf, "fail-if", nil,
		"exit with 1 if this `condition` holds: dead>100, charge-card:oldest>10m")
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
	status, err := c.lookAtStatus(event.Status{})
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
func (c *call) statusDocument(status event.Status) (string, error) {
	if err := c.open(); err != nil {
		return "", err
	}
	defer c.release()
	hour, err := c.file.Hour(c.context())
	if err != nil {
		return "", err
	}
	return cli.Document(struct {
		event.Status
		Hour event.Hour `json:"hour"`
	}{status, hour})
}

// lookAtStatus opens the file, reads the status, and closes the file.
func (c *call) lookAtStatus(before event.Status) (event.Status, error) {
	if err := c.open(); err != nil {
		return event.Status{}, err
	}
	defer c.release() // between two looks, a program that ends can put its file in order
	return c.file.StatusSince(c.context(), before)
}

// statusText formats a status for people. What is wrong comes first, then the subscriptions, then the rest: a terminal
// may have 24 lines.
func (c *call) statusText(status event.Status) string {
	head := fmt.Sprintf("%s: %s", terminal.Clean(status.Path), terminal.Bytes(status.Size))
	if !strings.Contains(status.Path, "://") { // only a file has one
		head += fmt.Sprintf(", and %s in its write-ahead log", terminal.Bytes(status.WAL))
	}
	paragraphs := []string{c.screen.Fold(head) + c.troubles(status)}
	if len(status.Subscriptions) > 0 {
		paragraphs = append(paragraphs, c.subscriptionTable(status.Subscriptions, status.Breakers))
	}
	rest := ""
	if o := status.Owner; o != nil && o.Alive {
		rest = c.screen.Fold(fmt.Sprintf("Process %d dispatches since %s.", o.PID, c.moment(o.Since)))
	}
	rest += c.screen.Fold(c.extent(status))
	if status.Rates != nil {
		rest += c.screen.Fold(terminal.Rate(status.Rates.Published) + " events are published per second.")
	}
	if len(status.Running) > 0 && !leftBehind(status.Running) {
		rest += c.andLine(c.running(status.Running), "running list")
	}
	paragraphs = append(paragraphs, rest)
	if len(status.Types) > 0 {
		types := c.typeTable(status.Types)
		if status.More {
			types += fmt.Sprintf("(of the newest %s events)\n", terminal.Number(status.Events))
		}
		paragraphs = append(paragraphs, types)
	}
	if len(status.Snoozed) > 0 {
		paragraphs = append(paragraphs, c.snoozedTable(status.Snoozed))
	}
	return strings.Join(paragraphs, "\n")
}

func (c *call) extent(status event.Status) string {
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

func (c *call) typeTable(types []event.TypeCount) string {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "TYPE"}, {Title: "EVENTS", Right: true}, {Title: "OLDEST", Drop: 1}, {Title: "NEWEST", Drop: 2},
		{Style: always(terminal.Yellow)},
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

// ease tells how well a subscription does: what needs an operator comes first.
func ease(s event.SubscriptionState, open []event.Breaker) int {
	switch {
	case len(s.Stalled) > 0, s.Unhandled, s.Saturated, slices.ContainsFunc(open, func(b event.Breaker) bool {
		return s.Name == b.Subscription || s.Name == b.Group
	}):
		return 0
	case s.Paused, s.Held > 0:
		return 1
	case s.Dead > 0:
		return 2
	}
	return 3
}

// subscriptionTable lists subscriptions, those with trouble first. Zeros are left out, and so is a column
// that has only zeros.
func (c *call) subscriptionTable(subscriptions []event.SubscriptionState, open []event.Breaker) string {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "SUBSCRIPTION"}, {Title: "PATTERN", Drop: 1}, {Title: "BACKLOG", Right: true},
		{Title: "RUNNING", Right: true, Drop: 2},
		{Title: "WAITING", Right: true, Drop: 3}, {Title: "HELD", Right: true},
		{Title: "DEAD", Right: true, Style: always(terminal.Red)},
		{Title: "OLDEST"}, {Title: "NEW/s", Right: true, Drop: 4}, {Title: "HANDLED/s", Right: true, Drop: 5},
		{Title: "DIED/s", Right: true, Drop: 6, Style: always(terminal.Red)}, {Title: "DRAINED"},
		{Style: always(terminal.Yellow)},
	}}
	subscriptions = slices.Clone(subscriptions)
	slices.SortStableFunc(subscriptions, func(a, b event.SubscriptionState) int {
		return cmp.Compare(ease(a, open), ease(b, open))
	})
	for _, s := range subscriptions {
		backlog := terminal.Number(s.Backlog)
		if s.Backlog >= event.MaxBacklog || s.BacklogAtMost > s.Backlog {
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
		if len(s.Stalled) > 0 {
			notes = append(notes, "stands still")
		}
		published, handled, died, drained := rates(s)
		table.Row(s.Name, s.Pattern, backlog, some(s.Running), some(s.Waiting), some(s.Held), some(s.Dead), c.ago(s.Oldest),
			published, handled, died, drained, strings.Join(notes, ", "))
	}
	return table.Render(c.screen)
}

// snoozedTable lists events that handlers have snoozed again and again.
func (c *call) snoozedTable(snoozed []event.Snoozed) string {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "SNOOZED"}, {Title: "TYPE"}, {Title: "SUBSCRIPTION"}, {Title: "TIMES", Right: true}, {Title: "SINCE"},
	}}
	for _, one := range snoozed {
		table.Row(cli.ShortID(one.Event), one.Type, one.Subscription, terminal.Number(one.Snoozes), c.ago(one.Since))
	}
	return table.Render(c.screen)
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
