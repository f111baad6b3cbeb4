package busfile

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

func newBreakers(on cli.Engines) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "breakers",
		Short: "List the circuit breakers of a file that are open, and close one",
		Long: `A subscription has a circuit breaker. It opens when the handler fails for too
many events. Then the events wait, except for one at a time that is tried; the
first success closes the breaker. "busgen policy" shows when the breakers of a
catalogue open.

Breakers live in the memory of the process that dispatches from the file, which
writes changes into the file. When the process ends, its breakers are gone; the
next one starts with all breakers closed.

Exit status: that of the verb.`,
		Example: `  busgen breakers list shop.db
  busgen breakers close shop.db charge-card`,
	}
	cmd.AddCommand(newBreakersList(on), newBreakersClose(on))
	return cli.Family(cmd)
}

func newBreakersList(on cli.Engines) *cobra.Command {
	return onFile(on, &cobra.Command{
		Use:   "list FILE",
		Short: "List the circuit breakers that are open or half-open",
		Long: `List shows the circuit breakers that are not closed, and the last error of each.
OPEN SINCE is when it opened, and NEXT TRY when one event is tried; "now" means
that it is being tried, or that the next event is. FAILED shows how many events
of its window had failed when it opened: an event counts once, however often it
was tried. If a subscription has a breaker for each value of a field, KEY is the
value; the 20 that opened first are listed, and how many there are besides.

With --json: one line for each, with subscription, group, key, state (open or
half-open), since, until, failures, deliveries, last_error, more.

Exit status: 0 done, 2 trouble.`,
		Example: `  busgen breakers list shop.db
  busgen breakers list shop.db --json`,
	}, fileVerb{quotes: true, times: true, do: listBreakers})
}

func listBreakers(c *call) (string, error) {
	breakers, err := c.file.Breakers(c.context())
	switch {
	case err != nil:
		return "", err
	case c.json:
		return cli.Lines(breakers)
	case len(breakers) == 0:
		return "No circuit breaker is open.\n", nil
	}
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "SUBSCRIPTION"}, {Title: "OPEN SINCE"}, {Title: "NEXT TRY"}, {Title: "FAILED", Right: true}, {Title: "GROUP"}, {Title: "KEY"},
	}}
	for _, b := range breakers {
		table.Row(b.Subscription, c.ago(b.Since), c.nextTry(b), fmt.Sprintf("%d of %d", b.Failures, b.Deliveries), b.Group, b.Key)
		table.Note(firstLine(b.LastError))
		if b.More > 0 {
			table.Note(moreKeys(b))
		}
	}
	return table.Render(c.screen), nil
}

// moreKeys says how many keys are not listed.
func moreKeys(b event.Breaker) string {
	return fmt.Sprintf("and those of %s of %s", terminal.Counted(b.More, "more key"), terminal.Clean(b.Subscription))
}

// nextTry formats when the breaker lets an event through.
func (c *call) nextTry(b event.Breaker) string {
	if !b.Until.After(c.now) {
		return "now"
	}
	return c.ago(b.Until)
}

// firstLine returns the first line of a text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func newBreakersClose(on cli.Engines) *cobra.Command {
	var key string
	cmd := onFile(on, &cobra.Command{
		Use:   "close FILE NAME",
		Short: "Close a circuit breaker when its cause is repaired",
		Long: `Close makes the process that dispatches close the circuit breaker of a
subscription, or of a member of a group. All its events are handled at once. If
the handler still fails, the breaker opens again. If the subscription has a
breaker for each value of a field, all of them are closed, or with --key one.

Close waits until that has happened. When no process dispatches, no breaker is
open; no request stays in the file.

Exit status: 0 it is closed, 2 trouble (the process does not answer within three
seconds), 3 it is not open, or no process dispatches.`,
		Example: `  busgen breakers close shop.db charge-card`,
	}, fileVerb{takes: arguments{least: 1, most: 1, what: "the name of a subscription", candidates: openBreakers},
		changes: true, do: func(c *call) (string, error) {
			return closeBreaker(c, key)
		}})
	cmd.Flags().StringVar(&key, "key", "", "only the breaker of this `value` of the field")
	return cmd
}

func openBreakers(ctx context.Context, file *inspect.File) (names []string, err error) {
	breakers, err := file.Breakers(ctx)
	for _, b := range breakers {
		names = append(names, b.Subscription)
	}
	return slices.Compact(names), err
}

func closeBreaker(c *call, key string) (string, error) {
	name := c.args[0]
	if err := c.file.CloseBreakerOf(c.context(), name, key); err != nil {
		return "", err
	}
	if c.json {
		return cli.Document(withKey(map[string]string{"closed": name}, key))
	}
	return "the circuit breaker of " + terminal.Clean(ofKey(name, key)) + " is closed\n", nil
}

// ofKey names a subscription, or its deliveries with a key.
func ofKey(name, key string) string {
	if key == "" {
		return name
	}
	return name + " for key " + key
}

// withKey adds a key to a document, unless it is empty.
func withKey(document map[string]string, key string) map[string]string {
	if key != "" {
		document["key"] = key
	}
	return document
}

// breakerLines lists open breakers in the status.
func (c *call) breakerLines(breakers []event.Breaker) string {
	var b strings.Builder
	for _, one := range breakers {
		opened := fmt.Sprintf(": circuit breaker of %s, since %s, next try %s: ", terminal.Clean(ofKey(one.Subscription, one.Key)),
			c.moment(one.Since), c.nextTry(one))
		cause := terminal.Clean(firstLine(one.LastError))
		if c.screen.Width > 0 {
			cause = terminal.Cut(cause, c.screen.Width-2) // with the other line it is two or three
		}
		b.WriteString(c.trouble(terminal.Red, "Open", opened+cause))
		if one.More > 0 {
			b.WriteString(c.trouble(terminal.Red, "Open", ": circuit breakers, "+moreKeys(one)))
		}
	}
	return b.String()
}
