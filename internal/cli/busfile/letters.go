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
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// letterFlags adds the flags that choose dead letters.
func letterFlags(on cli.Engines, cmd *cobra.Command, f *event.Filter) {
	flags := cmd.Flags()
	flags.StringVar(&f.Group, "group", "", "only those of this `group`, as \"busgen dlq groups\" names it")
	flags.StringSliceVar(&f.Types, "type", nil, "only events whose type matches one of these `globs`")
	flags.StringSliceVar(&f.Subscriptions, "subscription", nil, "only those of these subscriptions, by `name`")
	flags.StringSliceVar(&f.Reasons, "reason", nil,
		"only those with one of these `reasons`: max_attempts, permanent, decode, crash, expired, max_snoozes, max_steps, undone, undo")
	timeFlags(cmd, &f.Since, &f.Until, "only those that died")
	flags.Lookup("until").Usage = "only those that died at this `time` or earlier"
	flags.StringVar(&f.CorrelationID, "correlation", "", "only those of events with this correlation `id`")
	flags.StringVar(&f.Text, "text", "", "only those with this `text` in the payload or in an error")
	completeFlag(on, cmd, "group", groupNames)
	completeFlag(on, cmd, "type", typeNames)
	completeFlag(on, cmd, "subscription", subscriptionNames)
	cmd.RegisterFlagCompletionFunc("reason", cobra.FixedCompletions(inspect.Reasons(), cobra.ShellCompDirectiveNoFileComp))
}

// groupNames lists the groups of a file, each with its message.
func groupNames(ctx context.Context, file *inspect.File) (names []string, err error) {
	groups, err := file.FailureGroups(ctx, event.Filter{})
	for _, g := range groups {
		names = append(names, g.Fingerprint+"\t"+terminal.Clean(g.Message))
	}
	return names, err
}

// anyLetters takes any number of dead letters.
var anyLetters = arguments{most: -1, what: "the ids of dead letters", candidates: deadEvents}

// oneLetter takes exactly one.
var oneLetter = arguments{least: 1, most: 1, what: "the id of a dead letter", candidates: deadEvents}

func deadEvents(ctx context.Context, file *inspect.File) (ids []string, err error) {
	events, _, err := file.Events(ctx, event.Filter{Status: event.StatusDLQ}, event.Page{})
	for _, e := range events {
		ids = append(ids, e.ID.String()+"\t"+e.Type)
	}
	return ids, err
}

// letters returns the filter for the dead letters that the arguments and the
// conditions choose. Without either there must be --all.
func (c *call) letters(filter event.Filter, all bool) (event.Filter, error) {
	if !c.chooses(filter, all) {
		return filter, errors.New("say which dead letters: by id, with --group or another condition, or with --all and " +
			"nothing else")
	}
	for _, arg := range c.args {
		keys, err := c.keysOf(arg)
		if err != nil {
			return filter, err
		}
		filter.Keys = append(filter.Keys, keys...)
	}
	return c.known(filter)
}

// chooses reports whether there is either --all or something else that chooses.
func (c *call) chooses(filter event.Filter, all bool) bool {
	return all != (len(c.args) > 0 || filter.String() != (event.Filter{}).String())
}

// keysOf finds the dead letters that an argument names: those of an event for all
// subscriptions, unless the argument names one.
func (c *call) keysOf(arg string) (keys []event.Key, err error) {
	key, err := c.named(arg)
	if err != nil || key.Subscription != "" {
		return []event.Key{key}, err
	}
	e, err := c.file.Event(c.context(), key.EventID)
	if err != nil {
		return nil, err
	}
	states := []string{}
	for _, d := range e.Deliveries {
		states = append(states, d.Subscription+" "+d.State)
		if d.State == event.StateDead {
			keys = append(keys, event.Key{EventID: key.EventID, Subscription: d.Subscription})
		}
	}
	switch {
	case len(states) == 0:
		return nil, cli.NotFound(fmt.Errorf("event %s has no dead letter: it has no subscription", key.EventID))
	case len(keys) == 0:
		return nil, cli.NotFound(fmt.Errorf("event %s has no dead letter: %s", key.EventID, strings.Join(states, ", ")))
	}
	return keys, nil
}

// named finds an event and, if the argument has a slash, one of its subscriptions.
func (c *call) named(arg string) (key event.Key, err error) {
	prefix, subscription, found := strings.Cut(arg, "/")
	if key.EventID, err = c.file.FindEvent(c.context(), prefix); err != nil || !found {
		return key, err
	}
	key.Subscription = subscription
	err = beforehand.Subscriptions(c.context(), c.file, []string{subscription})
	if _, unknown := errors.AsType[*beforehand.UnknownError](err); unknown {
		err = cli.NotFound(err)
	}
	return key, err
}

// letter finds the one dead letter that the argument names.
func (c *call) letter() (key event.Key, err error) {
	keys, err := c.keysOf(c.args[0])
	if err != nil {
		return key, err
	}
	if len(keys) > 1 {
		var names []string
		for _, key := range keys {
			names = append(names, cli.ShortID(key.EventID)+"/"+key.Subscription)
		}
		return key, fmt.Errorf("event %s is dead for several subscriptions: name one of %s", keys[0].EventID,
			strings.Join(names, ", "))
	}
	return keys[0], nil
}
