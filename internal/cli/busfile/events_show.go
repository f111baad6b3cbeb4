package busfile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/standing"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

func newEventsShow(on cli.Engines) *cobra.Command {
	return onFile(on, &cobra.Command{
		Use:   "show FILE ID",
		Short: "Show one event and what became of it",
		Long: `Show prints an event with its payload, the state of its delivery to each
subscription, every failed attempt with what it wrote to the event's logger, and
what operators have done with it. The beginning of the id is enough if no other
id begins with it.

The state of a delivery is pending (on its way), running (a handler is at work,
or was when its process died), waiting (for a retry, a delay or a snooze, until
DUE), held (its type is paused, or its version newer than the program, until DUE
at the latest), dead, discarded, or done. FAILED counts the
attempts that failed. When the process ended while several handlers ran, that is
listed, and it counts for none of them. With --json, counted is how many of the
attempts count against max_attempts at the moment.

Of a handler that works in steps (package step), show prints whether it waits in
one, and what it has stored: the step, its kind (do, tx, sleep, event, none,
lost or undo), when, how long it took, in which attempt, and its result. RUN is
one more for each replay, and each retry from the start. A step with an undo
function has "yes" in UNDO, and "done" when it is undone. Results are hidden
without --show-sensitive, because no catalogue says what is sensitive in them.

With --json: what events list has, and made_from and made_into (events that an
operator has corrected), deliveries (subscription, state, due_at, held_since,
settled_at, reason, failures, counted, attempts with kind, started_at, ended_at,
error, error_type, member, stack, log, crashes with at and beside, suspended,
undoing, run, steps with run, member, name, kind, result, bytes, undoes,
attempt, started_at, at), running (as "busgen running list"), audit (id, at,
actor, action, event_id, subscription, count, detail).

Exit status: 0 done, 2 trouble, 3 there is no such event.`,
		Example: `  busgen events show shop.db 018f4f2e-1c3a-7b21
  busgen events show shop.db 018f4f2e-1c3a-7b21 --json`,
	}, fileVerb{shows: true, times: true, takes: oneEvent, do: showEvent})
}

func newestEvents(ctx context.Context, file *inspect.File) (ids []string, err error) {
	events, _, err := file.Events(ctx, event.Filter{}, event.Page{})
	for _, e := range events {
		ids = append(ids, e.ID.String()+"\t"+e.Type+", "+e.Status)
	}
	return ids, err
}

func showEvent(c *call) (string, error) {
	id, err := c.file.FindEvent(c.context(), c.args[0])
	if err != nil {
		return "", err
	}
	e, err := c.file.Event(c.context(), id)
	if err != nil {
		return "", err
	}
	if c.json {
		e.Event = c.presentable([]event.Event{e.Event})[0]
		return cli.Document(e)
	}
	var b strings.Builder
	b.WriteString(c.facts(
		"Event", e.ID.String(),
		"Type", versioned(e.Type, e.Version),
		"Status", e.Status,
		"Published", c.moment(e.PublishedAt),
		"Due", c.moment(e.Due),
		"Parent", parentOf(e.Event),
		"Metadata", string(e.Metadata),
		"Made from", idOrNothing(e.MadeFrom),
		"Made into", joinIDs(e.MadeInto),
	))
	if len(e.Deliveries) > 0 {
		b.WriteString("\n" + c.deliveryTable(e.Deliveries))
	}
	if len(e.Running) > 0 {
		b.WriteString("\n")
	}
	for _, r := range e.Running {
		b.WriteString(c.atWork(r))
	}
	for _, d := range e.Deliveries {
		b.WriteString(c.attempts(d.Subscription, d.Attempts))
		b.WriteString(c.crashes(d))
		b.WriteString(c.steps(d))
	}
	b.WriteString(c.history(e.Audit))
	b.WriteString(c.payloadText(e.Payload))
	return b.String(), nil
}

func (c *call) deliveryTable(deliveries []event.DeliveryState) string {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "SUBSCRIPTION"}, {Title: "STATE", Style: styleOf}, {Title: "FAILED", Right: true},
		{Title: "DUE"}, {Title: "SETTLED"}, {Title: "REASON", Least: 10},
	}}
	deliveries = slices.Clone(deliveries)
	slices.SortStableFunc(deliveries, func(a, b event.DeliveryState) int { return cmp.Compare(calm(a), calm(b)) })
	for _, d := range deliveries {
		reason := d.Reason
		if d.WaitsFor != "" {
			reason = "waits for " + d.WaitsFor
		}
		if !d.Held.IsZero() {
			reason = "no program that knows its version, since " + c.moment(d.Held)
		}
		table.Row(d.Subscription, d.State, some(d.Failures), c.ago(d.Due), c.ago(d.Settled), reason)
	}
	return table.Render(c.screen)
}

// calm sorts deliveries: dead letters first, then what is not settled, then the others.
func calm(d event.DeliveryState) int {
	switch styleOf(d.State) {
	case terminal.Red:
		return 0
	case terminal.Yellow:
		return 1
	}
	return 2
}

// attempts lists failed attempts, a paragraph for each. Only the last one has its
// stack and all that it logged, because attempts rarely differ.
func (c *call) attempts(subscription string, attempts []event.FailedAttempt) string {
	var b strings.Builder
	for i, a := range attempts {
		fmt.Fprintf(&b, "\n%s, failed attempt %d: %s%s, %s\n", terminal.Clean(subscription), i+1, a.Kind, duration(a),
			c.moment(a.Ended))
		text := a.Error
		if a.Member != "" {
			text = a.Member + ": " + text
		}
		if a.ErrorType != "" {
			text += " (" + a.ErrorType + ")"
		}
		fmt.Fprintf(&b, "  %s\n", c.screen.Paint(terminal.Red, terminal.Clean(text)))
		if a.Stack != "" && i == len(attempts)-1 {
			b.WriteString(indentedLines(terminal.CleanLines(ownFrames(a.Stack)), "    "))
		}
		b.WriteString(whatWasLogged(a.Log, i == len(attempts)-1))
	}
	return b.String()
}

// whatWasLogged shows what an attempt has logged: all of it, or the last lines.
func whatWasLogged(log string, all bool) string {
	const few = 3
	if log == "" {
		return ""
	}
	lines := strings.Split(strings.TrimRight(log, "\n"), "\n")
	text := "  Logged:\n"
	if more := len(lines) - few; !all && more > 0 {
		text = fmt.Sprintf("  Logged, without %s before (--json has them):\n", terminal.Counted(more, "line"))
		lines = lines[more:]
	}
	return text + indentedLines(terminal.CleanLines(strings.Join(lines, "\n")), "    ")
}

// crashes lists crashes that do not count as attempts, with some of the
// deliveries whose handlers ran at the time.
func (c *call) crashes(d event.DeliveryState) string {
	const named = 8
	var b strings.Builder
	for _, crash := range d.Crashes {
		var others []string
		for _, other := range crash.Beside[:min(named, len(crash.Beside))] {
			others = append(others, cli.ShortID(other.EventID)+" for "+terminal.Clean(other.Subscription))
		}
		if more := len(crash.Beside) - named; more > 0 {
			others = append(others, fmt.Sprintf("%d more", more))
		}
		fmt.Fprintf(&b, "\n%s, the process ended while its handler ran, %s\n  It does not count as an attempt, because "+
			"others ran too: %s\n",
			terminal.Clean(d.Subscription), c.moment(crash.At), strings.Join(others, ", "))
	}
	return b.String()
}

func duration(a event.FailedAttempt) string {
	if a.Started.IsZero() {
		return ""
	}
	return " after " + terminal.Span(a.Ended.Sub(a.Started))
}

// history lists what operators have done.
func (c *call) history(actions []event.AuditEntry) string {
	if len(actions) == 0 {
		return ""
	}
	table := &terminal.Table{Columns: []terminal.Column{{Title: "WHEN"}, {Title: "WHO"}, {Title: "ACTION"},
		{Title: "FOR"}, {Title: "DETAIL", Least: 10}}}
	for _, a := range actions {
		table.Row(c.ago(a.At), a.Actor, a.Action, a.Subscription, a.Detail)
	}
	return "\n" + table.Render(c.screen)
}

// facts formats pairs of a label and a text, one a line. A pair with an empty
// text is left out.
func (c *call) facts(pairs ...string) string {
	table := &terminal.Table{Columns: []terminal.Column{{}, {}}}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			table.Row(pairs[i], pairs[i+1])
		}
	}
	return table.Render(c.screen)
}

// parentOf names the event whose handler has published another, and that handler.
func parentOf(e event.Event) string {
	if e.ParentID == uuid.Nil {
		return ""
	}
	return e.ParentID.String() + ", whose handler " + e.PublishedBy + " has published it"
}

func idOrNothing(id *uuid.UUID) string {
	if id == nil {
		return ""
	}
	return id.String()
}

func joinIDs(ids []uuid.UUID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return strings.Join(texts, ", ")
}

// indented formats a payload on several lines if it is JSON.
func indented(payload []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, payload, "", "  ") != nil {
		b.Reset()
		b.Write(payload)
	}
	return indentedLines(terminal.CleanLines(b.String()), "  ")
}

func indentedLines(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+by) + "\n"
}

// presentable makes a JSON text of each payload that is not JSON, so that it can
// be part of a document.
func (c *call) presentable(events []event.Event) []event.Event {
	for i := range events {
		if !json.Valid(events[i].Payload) {
			events[i].Payload, _ = json.Marshal(string(events[i].Payload))
		}
		events[i].Payload = c.payload(events[i].Payload)
	}
	return events
}

// versioned returns an event type and, from version 2 on, the version of its
// payload.
func versioned(eventType string, version int) string {
	if version <= 1 {
		return eventType
	}
	return fmt.Sprintf("%s, version %d", eventType, version)
}

// ownFrames shortens the stack of a panic to the frames of the program: those
// between the panic and the runtime that called the handler. A stack without such
// frames stays whole.
func ownFrames(stack string) string {
	lines := strings.Split(strings.TrimRight(stack, "\n"), "\n")
	from := 0
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") {
			from = i + 2 // a frame has two lines
		}
	}
	to := from
	for to < len(lines) && !strings.HasPrefix(lines[to], busgenRuntime) {
		to++
	}
	if from == 0 || from == to || to > len(lines) {
		return stack
	}
	return strings.Join(lines[from:to], "\n")
}

// busgenRuntime begins the names of all functions of the runtime.
const busgenRuntime = "github.com/busgen/busgen/runtime"

// steps shows what the handler of a delivery has stored, if it works in steps.
func (c *call) steps(d event.DeliveryState) string {
	if len(d.Steps) == 0 {
		return ""
	}
	return fmt.Sprintf("\n%s, step by step: %s\n", terminal.Clean(d.Subscription), standing.InSteps(d, c.moment)) + c.stepTable(d)
}

func (c *call) stepTable(d event.DeliveryState) string {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "RUN", Right: true}, {Title: "MEMBER", Drop: 1}, {Title: "STEP"}, {Title: "KIND"}, {Title: "AT"}, {Title: "TOOK", Right: true},
		{Title: "ATTEMPT", Right: true, Drop: 2}, {Title: "UNDO"}, {Title: "RESULT", Least: 10},
	}}
	for _, s := range standing.Steps(d, c.moment) {
		table.Row(terminal.Number(s.Run), s.Member, s.Name, s.Kind, c.ago(s.At), terminal.Span(s.Took), terminal.Number(s.Attempt), s.Undo, s.Says)
	}
	return table.Render(c.screen)
}
