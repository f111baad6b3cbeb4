package busfile

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/beforehand"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/standing"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

func newSubscriptions(on cli.Engines) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "subscriptions",
		Short: "List, show, pause, resume and remove the subscriptions of a file",
		Long: `A subscription is a durable name with which a program handles events of some
types. The file remembers for each subscription what it has handled; while no
program handles it, its events wait.

Exit status: that of the verb.`,
		Example: `  busgen subscriptions list shop.db
  busgen subscriptions show shop.db charge-card
  busgen subscriptions pause shop.db charge-card`,
	}
	cmd.AddCommand(newSubscriptionsList(on), newSubscriptionsShow(on), newSubscriptionsPause(on), newSubscriptionsResume(on),
		newSubscriptionsRemove(on))
	return cli.Family(cmd)
}

func newSubscriptionsList(on cli.Engines) *cobra.Command {
	return onFile(on, &cobra.Command{
		Use:   "list FILE",
		Short: "List the subscriptions of a file and how far they are behind",
		Long: `List shows every subscription of the file, and how far it is behind. "busgen
help status" explains the columns.

With --json: one line for each, with name, pattern, paused, backlog,
backlog_at_most, partial, running, waiting, later (how many of these are due
later than now), next_due, held, dead, oldest.

Exit status: 0 done, 2 trouble.`,
		Example: `  busgen subscriptions list shop.db
  busgen subscriptions list shop.db --json`,
	}, fileVerb{times: true, do: listSubscriptions})
}

func listSubscriptions(c *call) (string, error) {
	subscriptions, err := c.file.Subscriptions(c.context())
	switch {
	case err != nil:
		return "", err
	case c.json:
		return cli.Lines(subscriptions)
	case len(subscriptions) == 0:
		return "There are no subscriptions in this bus.\n", nil
	}
	return c.subscriptionTable(subscriptions, nil), nil
}

// aSubscription takes the name of a subscription, or none if there is --type.
var aSubscription = arguments{most: 1, what: "the name of a subscription", candidates: subscriptionNames}

func subscriptionNames(ctx context.Context, file *inspect.File) (names []string, err error) {
	subscriptions, err := file.Subscriptions(ctx)
	for _, s := range subscriptions {
		names = append(names, s.Name)
	}
	return names, err
}

func newSubscriptionsPause(on cli.Engines) *cobra.Command {
	var types, key, reason string
	cmd := onFile(on, &cobra.Command{
		Use:   "pause FILE (NAME [--key KEY] | --type GLOB)",
		Short: "Hold back a subscription, or events of some types",
		Long: `Pause stops deliveries until "busgen subscriptions resume". With a name it stops
one subscription. With --type it stops the events that match a glob, for every
subscription; other events go on. With --key it stops the events of a
subscription that have this value in the field of their partition_by, or in that
of a limit or a breaker; others go on.

Nothing is lost and nothing counts as an attempt: paused deliveries wait.
Running handlers are not interrupted. A running program notices the pause within
200 ms, and the pause survives restarts. Pausing again changes nothing. "busgen
status" shows who has paused what, when and, with --because, why.

Exit status: 0 it is paused, 1 the file has no such event type, 2 trouble, 3
there is no such subscription.`,
		Example: `  busgen subscriptions pause shop.db charge-card
  busgen subscriptions pause shop.db charge-card --because "the provider is down"
  busgen subscriptions pause shop.db send-receipt --key acme
  busgen subscriptions pause shop.db --type 'payment.*'`,
	}, fileVerb{takes: aSubscription, changes: true, do: func(c *call) (string, error) {
		if types != "" {
			if _, err := beforehand.Types(c.context(), c.file, []string{types}); err != nil {
				return "", unknownIsNo(err)
			}
		}
		return c.steer(types, key, "paused",
			func(f *inspect.File, ctx context.Context, name string) error {
				if key != "" {
					return f.PauseKey(ctx, name, key, reason)
				}
				return f.PauseSubscription(ctx, name, reason)
			},
			func(f *inspect.File, ctx context.Context, glob string) error { return f.PauseTypes(ctx, glob, reason) })
	}})
	cmd.Flags().StringVar(&key, "key", "", "only what has this `value` as a key")
	cmd.Flags().StringVar(&reason, "because", "", "the `reason`, in a few words; busgen status shows it")
	cmd.Flags().StringVar(&types, "type", "", "`glob` over event types, instead of a name")
	return cmd
}

func newSubscriptionsResume(on cli.Engines) *cobra.Command {
	var types, key string
	cmd := onFile(on, &cobra.Command{
		Use:   "resume FILE (NAME [--key KEY] | --type GLOB)",
		Short: "End a pause",
		Long: `Resume ends a pause, and makes the paused deliveries due at once. Name a pause
of types by the glob it was made with, and one of a key with --key. A type that
several pauses match is held until the last of them ends.

Exit status: 0 it is resumed, 2 trouble, 3 there is no such pause.`,
		Example: `  busgen subscriptions resume shop.db charge-card
  busgen subscriptions resume shop.db --type 'payment.*'`,
	}, fileVerb{takes: aSubscription, changes: true, do: func(c *call) (string, error) {
		return c.steer(types, key, "resumed", func(f *inspect.File, ctx context.Context, name string) error {
			if key != "" {
				return f.ResumeKey(ctx, name, key)
			}
			return f.ResumeSubscription(ctx, name)
		}, (*inspect.File).ResumeTypes)
	}})
	cmd.Flags().StringVar(&key, "key", "", "the pause of this `value`")
	cmd.Flags().StringVar(&types, "type", "", "`glob` over event types, instead of a name")
	return cmd
}

// steer pauses or resumes a subscription or types.
func (c *call) steer(types, key, done string,
	subscription, globbed func(*inspect.File, context.Context, string) error) (string, error) {
	if (len(c.args) == 0) == (types == "") {
		return "", errors.New("name a subscription, or event types with --type, and not both")
	}
	if types != "" && key != "" {
		return "", errors.New("a key is that of a subscription: name it, without --type")
	}
	what, do, target := "events of type %s are %s\n", globbed, types
	if types == "" {
		what, do, target = "subscription %s is %s\n", subscription, c.args[0]
	}
	if err := do(c.file, c.context(), target); err != nil {
		return "", err
	}
	if c.json {
		return cli.Document(withKey(map[string]string{done: target}, key))
	}
	return fmt.Sprintf(what, terminal.Clean(ofKey(target, key)), done), nil
}

func newSubscriptionsRemove(on cli.Engines) *cobra.Command {
	takes := aSubscription
	takes.least = 1
	return onFile(on, &cobra.Command{
		Use:   "remove FILE NAME",
		Short: "Delete a subscription from a file",
		Long: `Remove deletes a subscription that no program handles any more: its events would
wait for ever, and would never be pruned. Its open deliveries are settled, and
its dead letters and the record of its failures are deleted. The events
themselves stay.

First remove the name from the catalogue and the program: otherwise the next
start makes the subscription again, at the end of the log. No process may
dispatch from the file meanwhile.

With --json: open and dead, what was left behind.

Exit status: 0 it is removed, 1 the answer was no, 2 trouble (a process
dispatches), 3 there is no such subscription.`,
		Example: `  busgen subscriptions remove shop.db old-name --yes`,
	}, fileVerb{takes: takes, changes: true, asks: true, do: removeSubscription})
}

func removeSubscription(c *call) (string, error) {
	name := c.args[0]
	if err := c.confirmRemoval(name); err != nil {
		return "", err
	}
	removed, err := c.file.RemoveSubscription(c.context(), name)
	if err != nil {
		return "", err
	}
	if c.json {
		return cli.Document(removed)
	}
	return fmt.Sprintf("subscription %s is removed, with %s to settle and %s\n", terminal.Clean(name),
		terminal.Counted(removed.Open, "event"), terminal.Counted(removed.Dead, "dead letter")), nil
}

// confirmRemoval asks, and says what would be lost. It does not ask about a name
// that does not exist.
func (c *call) confirmRemoval(name string) error {
	subscriptions, err := c.file.Subscriptions(c.context())
	for _, s := range subscriptions {
		if s.Name == name {
			return c.confirm(fmt.Sprintf("Remove %s, with %s to settle and %s?", name,
				terminal.Counted(s.Backlog, "event"), terminal.Counted(s.Dead, "dead letter")))
		}
	}
	return err
}

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
