package busfile

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/runtime/event"
)

func newDLQShow(on cli.Engines) *cobra.Command {
	return onFile(on, &cobra.Command{
		Use:   "show FILE ID[/SUBSCRIPTION]",
		Short: "Show everything about one dead letter",
		Long: `Show prints a dead letter with its payload, every attempt with its error, the
stack of a panic, and the last lines that the handler wrote to the event's
logger, where it comes from, and what operators have done with it. Attempts
before the last one have three of these lines.

With --json: letter (what "busgen dlq list" has), made_from (the events that it
was made from by correcting their payloads), edited_into (event_id,
subscription), audit (id, at, actor, action, event_id, subscription, count,
detail).

Exit status: 0 done, 2 trouble, 3 there is no such dead letter.`,
		Example: `  busgen dlq show shop.db 018f4f2e-1c3a-7b21
  busgen dlq show shop.db 018f4f2e-1c3a-7b21/charge-card --json`,
	}, fileVerb{shows: true, times: true, takes: oneLetter, do: showLetter})
}

func showLetter(c *call) (string, error) {
	key, err := c.letter()
	if err != nil {
		return "", err
	}
	found, err := c.file.DeadLetter(c.context(), key)
	if err != nil {
		return "", err
	}
	if c.json {
		found.Payload = c.payload(found.Payload)
		return cli.Document(found)
	}
	return c.letterText(found), nil
}

func (c *call) letterText(l event.DeadLetterHistory) string {
	var into []string
	for _, key := range l.EditedInto {
		into = append(into, key.String())
	}
	redriven := ""
	if l.Redriven > 0 {
		redriven = strconv.Itoa(l.Redriven) + " times"
	}
	var b strings.Builder
	b.WriteString(c.facts(
		"Dead letter", l.Key.String(),
		"Type", versioned(l.Type, l.Version),
		"Reason", l.Reason,
		"Group", l.Fingerprint,
		"Died", c.moment(l.DeadAt),
		"Published", c.moment(l.PublishedAt),
		"Redriven", redriven,
		"Metadata", string(l.Metadata),
		"Made from", joinIDs(l.MadeFrom),
		"Edited into", strings.Join(into, ", "),
	))
	b.WriteString(c.attempts(l.Subscription, l.Attempts))
	b.WriteString(c.history(l.Audit))
	b.WriteString(c.payloadText(l.Payload))
	return b.String()
}
