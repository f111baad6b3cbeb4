package busfile

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
)

func newRunningList(on cli.Engines) *cobra.Command {
	return onFile(on, &cobra.Command{
		Use:   "list FILE",
		Short: "List handlers that have been at work for more than a second",
		Long: `List shows the handlers that have been at work for more than a second, the
oldest first: each with its event, its start and its deadline. The process that
dispatches records them every second. A narrow terminal does not show WORKER.

A handler that has ignored its deadline is left behind: its attempt has failed,
its delivery is retried or dead, and another worker has taken its place. It is
listed until it returns, because it costs a goroutine and may still do things.

With --json: one line for each, with subscription, group, worker (from 0),
event, type, attempt, started, deadline, abandoned (left behind), limits (in
which it has a place, each with its key).

Exit status: 0 done, 2 trouble.`,
		Example: `  busgen running list shop.db
  busgen running list shop.db --json`,
	}, fileVerb{times: true, do: listRunning})
}

func listRunning(c *call) (string, error) {
	running, err := c.file.Running(c.context())
	switch {
	case err != nil:
		return "", err
	case c.json:
		return cli.Lines(running)
	case len(running) == 0:
		return "No handler has been at work for more than a second.\n", nil
	}
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "SUBSCRIPTION"}, {Title: "WORKER", Right: true, Drop: 1}, {Title: "ID"}, {Title: "TYPE"},
		{Title: "ATTEMPT", Right: true}, {Title: "STARTED"}, {Title: "DEADLINE"}, {Style: always(terminal.Red)},
	}}
	for _, r := range running {
		left := ""
		if r.Abandoned {
			left = "left behind"
		}
		deadline := "none"
		if !r.Deadline.IsZero() {
			deadline = c.ago(r.Deadline)
		}
		table.Row(r.Subscription, strconv.Itoa(r.Worker), cli.ShortID(r.Event), r.Type, strconv.Itoa(r.Attempt),
			c.ago(r.Started), deadline, left)
	}
	return table.Render(c.screen), nil
}

// atWork describes a handler that is at work with the event.
func (c *call) atWork(r event.Running) string {
	deadline := "it has no timeout"
	if !r.Deadline.IsZero() {
		deadline = "its deadline is " + terminal.Time(r.Deadline, c.now)
	}
	text := fmt.Sprintf("%s is at work with it, attempt %d, worker %d, since %s; %s", terminal.Clean(r.Subscription),
		r.Attempt, r.Worker, terminal.Time(r.Started, c.now), deadline)
	if r.Abandoned {
		text += c.screen.Paint(terminal.Red, ": left behind")
	}
	return text + "\n"
}

// running counts the handlers in the status.
func (c *call) running(running []event.Running) string {
	text := fmt.Sprintf("%s at work for more than a second", terminal.Counted(len(running), "handler"))
	if leftBehind(running) {
		left := 0
		for _, r := range running {
			if r.Abandoned {
				left++
			}
		}
		text += ", " + c.screen.Paint(terminal.Red, fmt.Sprintf("%d of them left behind at the deadline", left))
	}
	return text
}

// leftBehind reports whether a handler has ignored its deadline.
func leftBehind(running []event.Running) bool {
	return slices.ContainsFunc(running, func(r event.Running) bool { return r.Abandoned })
}
