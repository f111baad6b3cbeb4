package busfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/standing"
	"github.com/busgen/busgen/runtime/event"
)

func newEventsSteps(on cli.Engines) *cobra.Command {
	var subscription string
	cmd := onFile(on, &cobra.Command{
		Use:   "steps FILE ID",
		Short: "Show what handlers have done of one event, step by step",
		Long: `Steps prints, for each subscription whose handler works in steps (package step),
whether it waits in one, and what it has stored: the step, its kind, when, how
long it took, in which attempt, and its result. The kinds are do, tx, sleep,
await (it waits for an event), event, none (no event has come in time), lost
(the result could not be stored) and undo. RUN is one more for each replay, and
each retry from the start. A step with an undo function has "yes" in UNDO, and
"done" when it is undone. The beginning of the id is enough if no other id
begins with it.

Results are hidden without --show-sensitive, because no catalogue says what is
sensitive in them.

With --json: event, and deliveries (as in "events show", without those that have
no steps): subscription, state, due_at, suspended, undoing, run, and steps (run,
member, name, kind, awaits, result, bytes, undoes, attempt, started_at, at).

Exit status: 0 done, 2 trouble, 3 there is no such event or subscription, or the
event has no steps.`,
		Example: `  busgen events steps shop.db 018f4f2e-1c3a-7b21
  busgen events steps shop.db 018f4f2e-1c3a-7b21 --subscription fulfil --json`,
	}, fileVerb{shows: true, times: true, takes: oneEvent, do: func(c *call) (string, error) { return showSteps(c, subscription) }})
	cmd.Flags().StringVar(&subscription, "subscription", "", "only what this `subscription` has done")
	return cmd
}

func showSteps(c *call, subscription string) (string, error) {
	id, err := c.file.FindEvent(c.context(), c.args[0])
	if err != nil {
		return "", err
	}
	e, err := c.file.Event(c.context(), id)
	if err != nil {
		return "", err
	}
	if subscription != "" {
		names, err := subscriptionNames(c.context(), c.file)
		if err != nil {
			return "", err
		}
		if !slices.Contains(names, subscription) {
			return "", &event.NotFoundError{Thing: "subscription", Name: subscription, Known: names}
		}
	}
	with := []event.DeliveryState{}
	for _, d := range e.Deliveries {
		if len(d.Steps) > 0 && (subscription == "" || d.Subscription == subscription) {
			with = append(with, d)
		}
	}
	switch {
	case c.json:
		return cli.Document(struct {
			Event      string                `json:"event"`
			Deliveries []event.DeliveryState `json:"deliveries"`
		}{id.String(), with})
	case len(with) == 0:
		return "", &event.NotFoundError{Thing: "step of event", Name: id.String()}
	}
	var b strings.Builder
	for i, d := range with {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s, %s\n", terminal.Clean(d.Subscription), standing.InSteps(d, c.moment))
		b.WriteString(c.stepTable(d))
	}
	return b.String(), nil
}

func (c *call) stepTable(d event.DeliveryState) string {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "RUN", Right: true}, {Title: "MEMBER", Drop: 1}, {Title: "STEP"}, {Title: "KIND"}, {Title: "AT"}, {Title: "TOOK", Right: true},
		{Title: "ATTEMPT", Right: true, Drop: 2}, {Title: "UNDO"}, {Title: "RESULT", Least: 10},
	}}
	for _, s := range standing.Steps(d, c.moment) {
		table.Row(terminal.Number(s.Run), s.Member, s.Name, s.Kind, c.ago(s.At), terminal.Span(s.Took), terminal.Number(s.Attempt), s.Undo, s.Says)
	}
	return table.Render(c.screen)
}
