package busfile

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/inspect"
)

func newDLQ() *cobra.Command {
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
	cmd.AddCommand(newDLQList(), newDLQGroups(), newDLQShow(), newDLQRetry(), newDLQEdit(), newDLQDiscard(), newDLQPurge(), newDLQExport(), newDLQImport())
	return cli.Family(cmd)
}

// letterFilter has the flags that choose dead letters.
type letterFilter struct {
	inspect.Filter
	since, until cli.Moment
}

func (f *letterFilter) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Group, "group", "", "only those of this `group`, as \"busgen dlq groups\" names it")
	flags.StringSliceVar(&f.Types, "type", nil, "only events whose type matches one of these `globs`")
	flags.StringSliceVar(&f.Subscriptions, "subscription", nil, "only those of these subscriptions, by `name`")
	flags.StringSliceVar(&f.Reasons, "reason", nil, "only those with one of these `reasons`: max_attempts, permanent, decode, crash, expired, max_snoozes")
	timeFlags(cmd, &f.since, &f.until, "only those that died")
	cmd.Flags().Lookup("until").Usage = "only those that died at this `time` or earlier"
	flags.StringVar(&f.CorrelationID, "correlation", "", "only those of events with this correlation `id`")
	flags.StringVar(&f.Text, "text", "", "only those with this `text` in the payload or in an error")
	completeFlag(cmd, "type", typeNames)
	completeFlag(cmd, "subscription", subscriptionNames)
	cmd.RegisterFlagCompletionFunc("reason", cobra.FixedCompletions(inspect.Reasons(), cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("group", completeGroups)
}

// filter returns the filter with these dead letters. It refuses names that the
// file does not have.
func (f *letterFilter) filter(c *call, keys []inspect.Key) (filter inspect.Filter, err error) {
	if err := c.knowTypes(f.Types); err != nil {
		return filter, err
	}
	if err := c.knowSubscriptions(f.Subscriptions); err != nil {
		return filter, err
	}
	filter = f.unchecked()
	filter.Keys = keys
	filter.Group, err = c.group(f.Group)
	return filter, err
}

// unchecked returns the filter as the flags have it.
func (f *letterFilter) unchecked() inspect.Filter {
	filter := f.Filter
	filter.Since, filter.Until = f.since.Time, f.until.Time
	return filter
}

// some reports whether any flag is set.
func (f *letterFilter) some() bool { return f.unchecked().String() != (inspect.Filter{}).String() }

// completeGroups offers the groups of a file, each with its message.
func completeGroups(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	file, err := inspect.Open(cmd.Context(), args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	groups, _ := file.FailureGroups(cmd.Context(), inspect.Filter{}) // none if it fails
	for _, g := range groups {
		names = append(names, g.Fingerprint+"\t"+terminal.Clean(g.Message))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// ofLetters takes any number of dead letters.
var ofLetters = arguments{most: -1, what: "the ids of dead letters", candidates: deadEvents}

// oneLetter takes exactly one.
var oneLetter = arguments{least: 1, most: 1, what: "the id of a dead letter", candidates: deadEvents}

func deadEvents(ctx context.Context, file *inspect.File) (ids []string, err error) {
	events, _, err := file.Events(ctx, inspect.Filter{Status: inspect.StatusDLQ}, inspect.Page{})
	for _, e := range events {
		ids = append(ids, e.ID.String()+"\t"+e.Type)
	}
	return ids, err
}

// keys finds the dead letters that the arguments name: the dead letters of an
// event for all subscriptions, unless the argument names one.
func (c *call) keys() ([]inspect.Key, error) {
	if len(c.args) == 0 {
		return nil, nil
	}
	file, err := c.open()
	if err != nil {
		return nil, err
	}
	var all []inspect.Key
	for _, arg := range c.args {
		keys, err := c.keysOf(file, arg)
		if err != nil {
			return nil, err
		}
		all = append(all, keys...)
	}
	return all, nil
}

func (c *call) keysOf(file *inspect.File, arg string) (keys []inspect.Key, err error) {
	prefix, subscription, named := strings.Cut(arg, "/")
	id, err := file.FindEvent(c.context(), prefix)
	if err != nil {
		return nil, err
	}
	if named {
		names, err := file.Names(c.context())
		if err == nil {
			err = knowSubscription(subscription, names)
		}
		if err != nil {
			return nil, cli.NotFound(err)
		}
		return []inspect.Key{{EventID: id, Subscription: subscription}}, nil
	}
	event, err := file.Event(c.context(), id)
	if err != nil {
		return nil, err
	}
	var states []string
	for _, d := range event.Deliveries {
		states = append(states, d.Subscription+" "+d.State)
		if d.State == inspect.StateDead {
			keys = append(keys, inspect.Key{EventID: id, Subscription: d.Subscription})
		}
	}
	if len(keys) == 0 {
		return nil, cli.NotFound(fmt.Errorf("event %s is not dead for any subscription: %s", id, orNone(strings.Join(states, ", "))))
	}
	return keys, nil
}

// key finds the one dead letter that the argument names.
func (c *call) key() (inspect.Key, error) {
	keys, err := c.keys()
	if err != nil {
		return inspect.Key{}, err
	}
	if len(keys) > 1 {
		var names []string
		for _, key := range keys {
			names = append(names, cli.ShortID(key.EventID)+"/"+key.Subscription)
		}
		return inspect.Key{}, fmt.Errorf("event %s is dead for several subscriptions: name one of %s", keys[0].EventID, strings.Join(names, ", "))
	}
	return keys[0], nil
}

func orNone(text string) string {
	if text == "" {
		return "it is for none"
	}
	return text
}

// sweepReport reports a change of many dead letters; what is the word for those
// that were changed, such as "retried".
func (c *call) sweepReport(counts inspect.Counts, what string) (string, error) {
	if c.json {
		return cli.Document(counts)
	}
	return fmt.Sprintf("matched %s, %s %s, skipped %s\n", terminal.Number(counts.Matched), what,
		terminal.Number(counts.Moved), terminal.Number(counts.Skipped)), nil
}
