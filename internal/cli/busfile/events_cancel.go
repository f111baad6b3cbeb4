package busfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
)

func newEventsCancel(on cli.Engines) *cobra.Command {
	return onFile(on, &cobra.Command{
		Use:   "cancel FILE ID[/SUBSCRIPTION] ...",
		Short: "Cancel events before they are handled",
		Long: `Cancel keeps events from being handled: by one subscription, or by all. When it
has said "cancelled", no handler is called for the event any more. It asks the
program that dispatches, which answers within 200 ms; if none dispatches, the
next one knows. "busgen events discard" takes a reason, and does not wait.

If a handler is at work at this moment, it goes on, and is not tried again if it
fails; cancel names its subscription. "busgen events discard --undo" undoes it.

With --json: one line for each event, with id, cancelled and running (names of
subscriptions).

Exit status: 0 done, 1 the answer was no, a handler runs, or the event has no
open delivery, 2 trouble (also a program that does not answer within 5 s), 3
there is no such event or subscription: then nothing is done. Of several events
each is tried, also if the answer about another one was no.`,
		Example: `  busgen events cancel shop.db 018f4f2e-1c3a-7b21 --yes
  busgen events cancel shop.db 018f4f2e-1c3a-7b21/send-receipt --yes`,
	}, fileVerb{takes: someEvents, changes: true, asks: true, do: cancelEvents})
}

func cancelEvents(c *call) (string, error) {
	all, err := c.events()
	if err != nil {
		return "", err
	}
	if err := c.confirm(fmt.Sprintf("Really cancel %s?", terminal.Counted(len(all), "event"))); err != nil {
		return "", err
	}
	return c.each(all, func(one event.Key) (string, error) {
		cancelled, err := c.file.CancelEvent(c.context(), one.EventID, one.Subscription)
		var begun *event.BegunError
		if err != nil && !errors.As(err, &begun) {
			return "", err
		}
		line := struct {
			ID        uuid.UUID `json:"id"`
			Cancelled []string  `json:"cancelled"`
			Running   []string  `json:"running"`
		}{one.EventID, append([]string{}, cancelled...), []string{}}
		if begun != nil {
			line.Running = begun.Running
			err = cli.No(err)
		}
		text := ""
		if len(cancelled) > 0 {
			text = fmt.Sprintf("cancelled event %s for %s\n", one.EventID, terminal.Clean(strings.Join(cancelled, ", ")))
		}
		if c.json {
			var lineErr error
			if text, lineErr = cli.Line(line); lineErr != nil {
				return "", lineErr
			}
		}
		return text, err
	})
}
