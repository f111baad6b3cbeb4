package busfile

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/standing"
	"github.com/busgen/busgen/runtime/event"
)

func newSubscriptionsShow(on cli.Engines) *cobra.Command {
	return onFile(on, &cobra.Command{
		Use:   "show FILE NAME",
		Short: "Say why a subscription stands still, or that it goes on",
		Long: `Show says first what keeps a subscription from handling its events: a pause and
who made it, a circuit breaker, no process or no handler, a limit, a version
that the program does not know. Then come all else that is to be said of it, how
far it is behind, and its dead letters by their cause. "busgen help status"
explains the columns.

With --json: the subscription as in "busgen subscriptions list", with why, a
list of level (bad, warn or good), text and since, the most important one first,
and with groups, its dead letters as in "busgen dlq groups".

Exit status: 0 done, 2 trouble, 3 there is no such subscription.`,
		Example: `  busgen subscriptions show shop.db charge-card`,
	}, fileVerb{
		takes:  arguments{least: 1, most: 1, what: "the name of a subscription", candidates: subscriptionNames},
		quotes: true, times: true, do: showSubscription,
	})
}

// causesShown is how many causes of dead letters are shown.
const causesShown = 5

func showSubscription(c *call) (string, error) {
	status, err := c.file.Status(c.context())
	if err != nil {
		return "", err
	}
	var own event.SubscriptionState
	var names []string
	for _, s := range status.Subscriptions {
		if names = append(names, s.Name); s.Name == c.args[0] {
			own = s
		}
	}
	reasons, known := standing.Of(status, c.args[0])
	if !known {
		return "", &event.NotFoundError{Thing: "subscription", Name: c.args[0], Known: names}
	}
	groups, err := c.file.FailureGroups(c.context(), event.Filter{Subscriptions: []string{own.Name}})
	if err != nil {
		return "", err
	}
	if c.json {
		return cli.Document(struct {
			event.SubscriptionState
			Why    []standing.Reason    `json:"why"`
			Groups []event.FailureGroup `json:"groups"`
		}{own, reasons, append([]event.FailureGroup{}, groups...)})
	}
	var b strings.Builder
	for _, r := range reasons {
		style := map[string]terminal.Style{standing.Bad: terminal.Red, standing.Warn: terminal.Yellow}[r.Level]
		b.WriteString(c.trouble(style, terminal.Clean(r.Text), ""))
	}
	b.WriteString("\n" + c.subscriptionTable([]event.SubscriptionState{own}, status.Breakers))
	if len(groups) > 0 {
		b.WriteString("\n" + c.groupTable(groups[:min(len(groups), causesShown)]))
	}
	if more := len(groups) - causesShown; more > 0 {
		b.WriteString(c.andLine("There are "+terminal.Counted(more, "more cause"), "dlq groups"))
	}
	return b.String(), nil
}
