package busfile

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
)

func newEventsTail(on cli.Engines) *cobra.Command {
	t := &tail{last: 10, interval: time.Second}
	cmd := onFile(on, &cobra.Command{
		Use:   "tail FILE",
		Short: "Print events as they are published",
		Long: `Tail prints the newest ten events (or as many as --limit says) and then, until
it is interrupted, every event that is published, in the order of the log. It
works beside a running program or without one, changes nothing, and needs no
permission to write. It looks at the file every second, or as --interval says;
nothing is missed or printed twice between two looks.

A line has the time (UTC), the id, which is cut as by "events list", the type,
when a delayed event is due, and the payload. A terminal shows as much of it as
fits into a line. "busgen events show" says what became of an event. The globs
of --type are those of the catalogue: a * at the end stands for one or more
parts of a name. Types of the bus itself, such as $dead.order.placed, are
printed only if --type names them.

Events that were pruned before tail could print them are counted on standard
error. If the file is replaced, or a backup is restored into it, tail says so
and goes on with what was published since its last look, by the time of the
events. It ends when the file can no longer be read, and when nobody reads what
it prints, as after "| head -1" (on Windows: when it prints the next event).

With --json: one line for each event, with the fields of "events list". They are
those of the moment at which it is printed: status is mostly pending.

Exit status: 0 it was interrupted or its reader has gone, 1 the file has no such
event type, 2 trouble, 3 there is no event with the id of --child-of.`,
		Example: `  busgen events tail shop.db
  busgen events tail shop.db --type 'order.*' --limit 0
  busgen events tail shop.db --since 10m --text ada@example.org
  busgen events tail shop.db --json --interval 200ms`,
	}, fileVerb{shows: true, opens: true, do: func(c *call) (string, error) {
		t.call = c
		return "", t.run()
	}})
	contentFlags(on, cmd, &t.filter)
	childOfFlag(cmd, &t.childOf)
	flags := cmd.Flags()
	flags.VarP((*cli.Number)(&t.last), "limit", "n", "begin with this `many` of the events that are there")
	flags.Var((*cli.Moment)(&t.filter.Since), "since",
		"begin with all events published at this `time` or later: 2026-03-14T12:30, 03:00, or 2h for two hours ago")
	flags.Var((*cli.Span)(&t.interval), "interval", "how long to wait between two looks (default 1s)")
	return cmd
}

// tail is one call of events tail.
type tail struct {
	*call
	filter   event.Filter
	childOf  string
	last     int
	interval time.Duration

	next      string    // where the next look begins; empty before the first one
	looked    time.Time // the last time
	busy      int       // looks in a row at which a program began to use the file
	typeWidth int       // of the longest type so far
}

// busyLooks is how many looks in a row may meet a program that begins to use the file.
const busyLooks = 5

// run looks again and again, until it is interrupted or the file cannot be read. Each look
// opens the file anew, because the file may have been replaced.
func (t *tail) run() error {
	changed := t.cmd.Flags().Changed
	switch {
	case t.interval < shortestInterval:
		return fmt.Errorf("--interval is %v: it must be at least %v", t.interval, shortestInterval)
	case t.last < 0:
		return fmt.Errorf("--limit is %d: it must not be negative", t.last)
	case changed("limit") && changed("since"):
		return errors.New("--limit and --since exclude each other: begin with so many events, or with those since a time")
	}
	alone := terminal.HangUp(t.cmd.OutOrStdout())
	ticker := time.NewTicker(t.interval)
	defer ticker.Stop()
	for {
		t.screen = terminal.ScreenOf(t.cmd.OutOrStdout()) // a window may be resized
		err := t.look()
		t.release() // between two looks, a program that ends can put its file in order
		switch {
		case t.context().Err() != nil:
			return nil
		case err != nil && !t.passes(err):
			return err
		}
		select {
		case <-t.context().Done():
			return nil
		case <-alone: // no one reads what it prints
			return nil
		case <-ticker.C:
		}
	}
}

// passes tells whether an error of a look may be gone at the next one: a program has begun
// to use the file, which takes a moment.
func (t *tail) passes(err error) bool {
	storage, ok := errors.AsType[*event.StorageError](err)
	t.busy++
	return ok && storage.Fault == event.Busy && t.busy < busyLooks && t.next != ""
}

// look prints what there is to print now.
func (t *tail) look() error {
	if err := t.open(); err != nil {
		return err
	}
	for more := true; more; {
		part, err := t.read()
		if err != nil {
			return err
		}
		if part.Restarted {
			t.tell("%s was replaced, or a backup was restored into it; this goes on with events published since %s",
				terminal.Clean(t.path), t.looked.UTC().Format("15:04:05 UTC"))
		}
		if part.Pruned > 0 {
			t.tell("%s pruned before this could look at them", wereEvents(part.Pruned))
		}
		text, err := t.lines(part.Events)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(t.cmd.OutOrStdout(), text); err != nil {
			return fmt.Errorf("cannot print the events: %w", err)
		}
		t.next, more, t.busy = part.Next, part.More, 0
	}
	t.looked = time.Now()
	return nil
}

func wereEvents(n int64) string {
	if n == 1 {
		return "1 event was"
	}
	return terminal.Number(int(n)) + " events were"
}

// read reads the next part of the log. The first one checks the conditions.
func (t *tail) read() (part event.Followed, err error) {
	if t.next != "" {
		return t.file.Follow(t.context(), t.filter, event.Page{After: t.next})
	}
	if t.filter, err = t.known(t.filter); err != nil {
		return part, err
	}
	if t.filter.ChildOf, err = t.parent(t.childOf); err != nil {
		return part, err
	}
	if !t.filter.Since.IsZero() {
		return t.file.Follow(t.context(), t.filter, event.Page{})
	}
	return t.file.Newest(t.context(), t.filter, t.last)
}

// lines formats events.
func (t *tail) lines(events []event.Event) (string, error) {
	if t.json {
		return cli.Lines(t.presentable(events))
	}
	for _, e := range events {
		t.typeWidth = max(t.typeWidth, min(terminal.Width(e.Type), longestType))
	}
	var text strings.Builder
	for _, e := range events {
		text.WriteString(t.line(e))
	}
	return text.String(), nil
}

// longestType is the longest type for which others are made longer, so that payloads begin
// in one column.
const longestType = 30

func (t *tail) line(e event.Event) string {
	name := terminal.Clean(e.Type)
	at := e.PublishedAt.UTC().Format(time.DateTime) + "  " + cli.ShortID(e.ID)
	payload := e.Payload
	if t.maxPayload > 0 && len(payload) > t.maxPayload {
		payload = append(payload[:t.maxPayload:t.maxPayload], "…"...)
	}
	rest := fmt.Sprintf("  %s%*s  ", name, max(0, t.typeWidth-terminal.Width(name)), "")
	if e.Due.After(time.Now()) {
		rest += "due " + e.Due.UTC().Format(time.DateTime) + "  "
	}
	rest += terminal.Clean(string(payload))
	if t.screen.Width > 0 {
		rest = terminal.Cut(rest, max(t.screen.Width-terminal.Width(at), len(name)+2))
	}
	return t.screen.Paint(terminal.Dim, at) + rest + "\n"
}
