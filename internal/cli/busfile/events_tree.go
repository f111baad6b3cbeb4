package busfile

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
)

func newEventsTree(on cli.Engines) *cobra.Command {
	var drawing drawing
	var fromRoot bool
	cmd := onFile(on, &cobra.Command{
		Use:   "tree FILE ID",
		Short: "Draw an event with everything that came of it",
		Long: `Tree draws an event, its delivery to each subscription, and beneath the delivery
the events that its handler has published, with their deliveries, and so on. Of
each delivery it shows the state and the failed attempts: how each has failed,
after how long, and its error. Of more than three it shows the last three. When
an attempt has succeeded is not in the file. With --root, the drawing begins
with the event that everything began with. The beginning of the id is enough if
no other id begins with it.

In a group, an event stands beneath its parent with the name of the member that
has published it. A dead-letter notice ($dead.order.placed) stands beneath the
delivery that is dead, if a subscription wants it. The tree has at most 10,000
events; "more events" stands where some are missing. Events whose parents were
pruned are not found.

With --json: what events show has, and for each event children and, if some of
them are missing, truncated.

Exit status: 0 done, 2 trouble, 3 there is no such event.`,
		Example: `  busgen events tree shop.db 018f4f2e-1c3a-7b21
  busgen events tree shop.db 018f4f2e-1c3a-7b21 --root --payload
  busgen events tree shop.db 018f4f2e-1c3a-7b21 --json`,
	}, fileVerb{shows: true, times: true, takes: oneEvent,
		do: func(c *call) (string, error) { return drawing.treeOf(c, fromRoot) }})
	cmd.Flags().BoolVar(&drawing.payloads, "payload", false, "show the payload of each event")
	cmd.Flags().BoolVar(&fromRoot, "root", false, "begin with the event that everything began with")
	return cmd
}

// drawing draws trees of events.
type drawing struct {
	*call
	payloads bool
}

func (d drawing) treeOf(c *call, fromRoot bool) (string, error) {
	d.call = c
	id, err := c.file.FindEvent(c.context(), c.args[0])
	if err == nil && fromRoot {
		id, err = c.file.Root(c.context(), id)
	}
	if err != nil {
		return "", err
	}
	tree, err := c.file.Tree(c.context(), id)
	if err != nil {
		return "", err
	}
	if c.json {
		c.shorten(tree)
		return cli.Document(tree)
	}
	var b strings.Builder
	d.event(tree, "").write(&b, c.screen, "", "")
	return b.String(), nil
}

// shorten cuts the payloads of a tree as --max-payload says.
func (c *call) shorten(tree *event.TreeNode) {
	tree.Event = c.presentable([]event.Event{tree.Event})[0]
	for _, child := range tree.Children {
		c.shorten(child)
	}
}

// twig is a line of a drawing, with the lines beneath it.
type twig struct {
	text    string
	more    string // follows the text, in the style
	style   terminal.Style
	beneath []twig
}

// write draws a twig; before stands before its line, and indent before the lines beneath.
func (t twig) write(b *strings.Builder, screen terminal.Screen, before, indent string) {
	text, more := terminal.Clean(t.text), terminal.Clean(t.more)
	if screen.Width > 0 {
		left := max(screen.Width-terminal.Width(before), 2)
		text = terminal.Cut(text, left)
		more = terminal.Cut(more, max(left-terminal.Width(text), 1))
	}
	b.WriteString(screen.Paint(terminal.Dim, before) + text + screen.Paint(t.style, more) + "\n")
	for i, one := range t.beneath {
		if i == len(t.beneath)-1 {
			one.write(b, screen, indent+"└─ ", indent+"   ")
		} else {
			one.write(b, screen, indent+"├─ ", indent+"│  ")
		}
	}
}

// event draws an event. The publisher is named if it is not the delivery above.
func (d drawing) event(node *event.TreeNode, publisher string) twig {
	t := twig{text: versioned(node.Type, node.Version) + "  " + cli.ShortID(node.ID) + "  " + d.ago(node.PublishedAt)}
	if node.Due.After(d.now) {
		t.text += ", due " + d.ago(node.Due)
	}
	if publisher != "" {
		t.text += ", published by " + publisher
	}
	if d.payloads {
		t.text += "  " + string(d.payload(node.Payload))
	}
	drawn := map[*event.TreeNode]bool{}
	for _, delivery := range node.Deliveries {
		one := d.delivery(delivery, node.Running)
		for _, child := range node.Children {
			if child.PublishedBy == delivery.Subscription {
				drawn[child] = true
				one.beneath = append(one.beneath, d.event(child, ""))
			}
		}
		t.beneath = append(t.beneath, one)
	}
	for _, child := range node.Children {
		if !drawn[child] { // by a member of a group, or by a subscription of another name now
			t.beneath = append(t.beneath, d.event(child, child.PublishedBy))
		}
	}
	if node.Truncated {
		t.beneath = append(t.beneath, twig{more: "more events", style: terminal.Yellow})
	}
	return t
}

// delivery draws a delivery with its failed attempts.
func (d drawing) delivery(one event.DeliveryState, running []event.Running) twig {
	const shown = 3
	t := twig{text: one.Subscription + "  ", more: one.State, style: styleOf(one.State)}
	switch {
	case one.State == event.StateDead:
		t.more += ", " + one.Reason
	case one.Reason != "":
		t.more += ": " + one.Reason
	case one.State == event.StateWaiting && !one.Due.IsZero():
		t.more += ", due " + d.ago(one.Due)
	}
	for _, r := range running {
		if r.Subscription == one.Subscription || r.Group == one.Subscription {
			t.more += fmt.Sprintf(", attempt %d since %s", r.Attempt, terminal.Span(d.now.Sub(r.Started)))
		}
	}
	if earlier := len(one.Attempts) - shown; earlier > 0 {
		t.beneath = append(t.beneath, twig{text: terminal.Counted(earlier, "failed attempt") + " before these"})
	}
	for i, a := range one.Attempts {
		if i < len(one.Attempts)-shown {
			continue
		}
		text := fmt.Sprintf("failed attempt %d: %s%s: ", i+1, a.Kind, duration(a))
		if a.Member != "" {
			text += a.Member + ": "
		}
		t.beneath = append(t.beneath, twig{text: text, more: a.Error, style: terminal.Red})
	}
	for _, crash := range one.Crashes {
		t.beneath = append(t.beneath, twig{
			text: fmt.Sprintf("the process ended while its handler ran, %s: ", d.ago(crash.At)),
			more: fmt.Sprintf("not counted, %s ran too", terminal.Counted(len(crash.Beside), "other handler")),
		})
	}
	return t
}
