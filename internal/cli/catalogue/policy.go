package catalogue

import (
	"fmt"
	"reflect"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/glob"
)

func newPolicy() *cobra.Command {
	var asJSON bool
	cmd := operands{most: 1, what: "one type, pattern or subscription", candidates: eventsAndSubscriptions}.of(&cobra.Command{
		Use:   "policy [events.yaml] [type | pattern | subscription]",
		Short: "Show the settings in force, where they come from, and when retries happen",
		Long: `Policy shows how the events of a catalogue are delivered: each setting with its
value and the line that it comes from, the schedule of retries as a table, and
the same schedule as a line.

By itself it shows all event types and the subscriptions that the catalogue
declares. A pattern such as order.* chooses some of them, and so does
the name of a declared subscription. Event types and subscriptions with the same
settings from the same lines are shown together.

In the table, DELAY is the wait before an attempt, counted from the end of the
one before. JITTER WINDOW is the range of the delay, which differs from event to
event. CUMULATIVE is the sum of the delays, without the time that the attempts
take. While its circuit breaker is open, a subscription waits longer; the lines
below the table say when it opens. If a single event can open it, because
min_samples is 1, WITH BREAKER is the time of each attempt for an event that
fails alone. An attempt may also wait for its turn in a limit; a line for each
limit says what it allows.

The line has an attempt at each number and the delays between them: the longer
the line, the longer the delay, on a logarithmic scale that the lines of one
schedule share. It is for an event that fails alone. ✕ is the dead letter, ↻ the
automatic redrive. Each class of errors that is retried differently has a line
of its own.

The settings are those of the catalogue. Options of the call that subscribes
override them. WithSlowEventAfter of the bus replaces a slow_event_after that is
built in. Bus.Stats has the settings in force of a bus that is tuned while it
runs.

With --json the output is a list with an object for each event type and each
subscription: type, subscription, group (of a member), settings (by name, each
with value and from), schedule (attempt, delay, earliest, latest, cumulative,
and alone: when the attempt of an event that fails alone is made, breaker
included; in seconds) and classes (the schedules of error classes, by name).

Exit status: 0 done, 1 the catalogue has findings, 2 trouble with the command
line or with files, 3 nothing matches.`,
		Example: `  busgen policy
  busgen policy order.placed
  busgen policy events/events.yaml
  busgen policy events/events.yaml 'payment.*'
  busgen policy charge-card
  busgen policy order.placed --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			screen := terminal.ScreenOf(cmd.OutOrStdout())
			return cli.Report(func(args []string) (string, error) { return policy(args, asJSON, screen) })(cmd, args)
		},
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func policy(args []string, asJSON bool, screen terminal.Screen) (report string, err error) {
	catalogue, args := splitCatalogue(args)
	c, err := cli.LoadCatalogue(catalogue)
	if err != nil {
		return "", cli.Refused(err)
	}
	all := subjects(c)
	if len(args) > 0 {
		if all, err = matching(all, args[0]); err != nil {
			return "", err
		}
	}
	if asJSON {
		return policyJSON(all)
	}
	return policyText(all, screen), nil
}

// subject is an event type or a subscription of one, with its settings.
type subject struct {
	event        string
	wire         string // its name on the wire
	subscription string // empty for the event type itself
	group        string // whose member it is
	settings     catalog.Settings
}

func (s subject) String() string {
	if s.subscription == "" {
		return s.event
	}
	return s.event + " → " + s.member()
}

// member returns the subscription with its group.
func (s subject) member() string {
	if s.group == "" {
		return s.subscription
	}
	return s.subscription + " in group " + s.group
}

// subjects lists the subjects of a catalogue, in its order.
func subjects(c *catalog.Catalogue) []subject {
	var all []subject
	for _, e := range c.Events {
		all = append(all, subject{event: e.Label(), wire: e.Name.V, settings: e.Settings})
		for _, s := range e.Declared() {
			one := subject{event: e.Label(), wire: e.Name.V, subscription: s.Name.V, settings: s.Settings}
			if s.Group != nil {
				one.group = s.Group.Name.V
			}
			all = append(all, one)
		}
	}
	return all
}

// matching returns the subjects whose type matches the pattern, and the
// subscription of that name.
func matching(all []subject, pattern string) ([]subject, error) {
	parsed, err := glob.Parse(pattern)
	if err != nil {
		return nil, err
	}
	var some []subject
	var names []string
	for _, s := range all {
		if parsed.Match(s.event) || parsed.Match(s.wire) || s.subscription == pattern {
			some = append(some, s)
		}
		name := s.subscription
		if name == "" {
			name = s.event
		}
		names = append(names, name)
	}
	if some == nil {
		return nil, cli.NotFound(fmt.Errorf("no event type and no declared subscription matches %s%s", pattern, diag.Nearest(pattern, names)))
	}
	return some, nil
}

// group has subjects with the same settings from the same places.
type group struct {
	members  []subject
	settings catalog.Settings
}

func groups(all []subject) []*group {
	var found []*group
next:
	for _, s := range all {
		for _, g := range found {
			if reflect.DeepEqual(g.settings, s.settings) {
				g.members = append(g.members, s)
				continue next
			}
		}
		found = append(found, &group{[]subject{s}, s.settings})
	}
	return found
}
