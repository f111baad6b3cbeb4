package catalogue

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/glob"
)

func newDescribe() *cobra.Command {
	var asJSON bool
	cmd := operands{most: 1, what: "one type or pattern", candidates: (*catalog.Catalogue).EventLabels}.of(&cobra.Command{
		Use:   "describe [events.yaml] [type | pattern]",
		Short: "List the events of a catalogue, or show one in full",
		Long: `Describe lists the events of a catalogue: how many fields each has, how it is
retried, its owner, and the subscriptions that are declared for it; and then the
subscriptions that are declared for patterns. A pattern
such as order.* chooses some. The name of one event shows it in full; "busgen
policy" has its settings in detail.

POLICY is the number of attempts, the sum of the waits between them and the
timeout of each; then the priority, the expiry, the limits and the redrive, if
they are set, and the concurrency and the batches of declared subscriptions.
REMARKS says if a schedule publishes the event.

With --json the output is a list with an object for each event: name, wire,
schema, cloudevent (type, source, dataschema), doc, deprecated, owner, tags, at
(file and line), version, aliases, partition_by, dedupe_by, await_by, headers
(name, type, required, doc), result (type, optional, nullable, doc), mixins,
payload (name, json, mixin, type, optional, nullable, doc, deprecated, was,
default of each field), reserved, history (version, doc, mixins, payload),
subscriptions (name, doc, aliases, group, and pattern of one that is for
patterns), schedules (name, doc, cron or every, time_zone, missed, payload),
settings (by name, each with value and from) and examples.

Exit status: 0 done, 1 the catalogue has findings, 2 trouble with the command
line or with files, 3 nothing matches.`,
		Example: `  busgen describe
  busgen describe events/events.yaml
  busgen describe events/events.yaml 'order.*'
  busgen describe order.placed
  busgen describe --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			screen := terminal.ScreenOf(cmd.OutOrStdout())
			return cli.Report(func(args []string) (string, error) { return describe(args, asJSON, screen) })(cmd, args)
		},
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func describe(args []string, asJSON bool, screen terminal.Screen) (report string, err error) {
	catalogue, args := splitCatalogue(args)
	c, err := cli.LoadCatalogue(catalogue)
	if err != nil {
		return "", cli.Refused(err)
	}
	events := c.Events
	if len(args) > 0 {
		if events, err = eventsMatching(c, args[0]); err != nil {
			return "", err
		}
	}
	switch {
	case asJSON:
		return describeJSON(events)
	case len(args) > 0 && (events[0].Label() == args[0] || events[0].Name.V == args[0]):
		return describeOne(events[0], screen), nil
	}
	text := eventTable(events).Render(screen)
	if len(args) == 0 && len(c.Subscriptions) > 0 {
		text += "\n" + patternTable(c.Subscriptions).Render(screen)
	}
	return text, nil
}

// eventsMatching returns the events that a pattern matches.
func eventsMatching(c *catalog.Catalogue, pattern string) ([]*catalog.Event, error) {
	parsed, err := glob.Parse(pattern)
	if err != nil {
		return nil, err
	}
	var some []*catalog.Event
	for _, e := range c.Events {
		if parsed.Match(e.Label()) || parsed.Match(e.Name.V) {
			some = append(some, e)
		}
	}
	if some == nil {
		return nil, cli.NotFound(fmt.Errorf("no event type matches %s%s", pattern, diag.Nearest(pattern, c.EventLabels())))
	}
	return some, nil
}

func eventTable(events []*catalog.Event) *terminal.Table {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "EVENT", Least: 20},
		{Title: "FIELDS", Right: true},
		{Title: "POLICY", Least: 16},
		{Title: "OWNER", Least: 8},
		{Title: "SUBSCRIPTIONS", Least: 14},
		{Title: "REMARKS", Least: 10},
	}}
	for _, e := range events {
		table.Row(e.Label(), strconv.Itoa(len(e.Fields)), policyInShort(e.Settings), e.Owner.V, declaredNames(e), remarks(e))
	}
	return table
}

// policyInShort formats a policy in one line: 4× over 7s, 30s each.
func policyInShort(s catalog.Settings) string {
	steps := s.Policy().Schedule()
	text := strconv.Itoa(s.MaxAttempts.V) + "×"
	if waits := steps[len(steps)-1].Total; waits > 0 {
		text += " over " + catalog.Brief(waits)
	}
	if s.Timeout.V > 0 {
		text += ", " + catalog.Short(s.Timeout.V) + " each"
	} else {
		text += ", no timeout"
	}
	if s.Priority.V != catalog.Normal {
		text += ", " + s.Priority.V.String()
	}
	if s.ExpiresAfter.V > 0 {
		text += ", expires after " + catalog.Short(s.ExpiresAfter.V)
	}
	switch names := limitNames(s); len(names) {
	case 0:
	case 1:
		text += ", limit " + names[0]
	default:
		text += ", limits " + strings.Join(names, " and ")
	}
	if !s.Redrive.Off.V {
		text += ", redrive every " + catalog.Short(s.Redrive.Every.V)
	}
	return text
}

// limitNames lists the limits without what they count by.
func limitNames(s catalog.Settings) []string {
	var names []string
	for _, use := range s.Limits.V {
		names = append(names, use.Limit.Name)
	}
	return names
}

func declaredNames(e *catalog.Event) string {
	var names []string
	for _, s := range e.Declared() {
		names = append(names, s.Name.V)
	}
	return strings.Join(names, ", ")
}

// deliveryInShort is policyInShort, and how a subscription handles several events at once.
func deliveryInShort(s catalog.Settings) string {
	text := policyInShort(s)
	if s.Concurrency.V > 1 {
		text += ", " + strconv.Itoa(s.Concurrency.V) + " at once"
	}
	if s.StrictOrder.V {
		text += ", strict order"
	}
	if s.Batch.Written() {
		text += ", batches of up to " + strconv.Itoa(s.Batch.Size.V)
		if s.Batch.Wait.V > 0 {
			text += " within " + catalog.Short(s.Batch.Wait.V)
		}
	}
	return text
}

func remarks(e *catalog.Event) string {
	var all []string
	if e.Deprecated.Written() {
		all = append(all, "deprecated")
	}
	if len(e.Schedules) > 0 {
		all = append(all, "scheduled")
	}
	return strings.Join(all, ", ")
}
