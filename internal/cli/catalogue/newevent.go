package catalogue

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/edit"
)

func newNew() *cobra.Command {
	cmd := cli.Family(&cobra.Command{
		Use:   "new",
		Short: "Add something to a catalogue",
		Long: `New adds to a catalogue.

Exit status: that of the verbs below.`,
		Example: `  busgen new event order.returned --doc "A parcel came back." --field order_id:uuid`,
	})
	cmd.AddCommand(newNewEvent(), newNewVersion())
	return cmd
}

func newNewEvent() *cobra.Command {
	var e editing
	var event edit.Event
	var fields []string
	cmd := operands{least: 1, most: 1, what: "the name of one event, as in order.placed"}.of(&cobra.Command{
		Use:   "event [events.yaml] NAME",
		Short: "Add an event type",
		Long: `Event adds an event type behind the last one of its namespace, also in an
included file, or at the end of the events. A field is written name:type or
name:type:doc, with the types of the language, as in lines:[]OrderLine or
"note:string?:What the customer wrote.". It is refused if it does not fit the
catalogue.
` + strings.Replace(editStatus, ", 3 there is nothing of that name.", ".", 1),
		Example: `  busgen new event order.returned
  busgen new event order.returned --doc "A parcel came back." --field order_id:uuid --field "note:string?" --partition-by order_id
  busgen new event events/events.yaml order.returned --subscription restock --diff`,
		RunE: cli.Report(func(args []string) (string, error) {
			event.Name = e.of(args)[0]
			for _, text := range fields {
				f, err := fieldOf(text)
				if err != nil {
					return "", err
				}
				event.Fields = append(event.Fields, f)
			}
			return e.change(
				func(c *edit.Catalogue) (*edit.Change, error) { return edit.AddEvent(c, event) },
				func(files string, _ int) string { return files + ": added " + event.Name },
			)
		}),
	})
	cmd.Flags().StringVar(&event.Doc, "doc", "", "what happened, a `text`")
	cmd.Flags().StringArrayVar(&fields, "field", nil, "a `name:type[:doc]`; may be given several times")
	cmd.Flags().StringVar(&event.PartitionBy, "partition-by", "", "the `field` by which events are kept in order")
	cmd.Flags().StringVar(&event.DedupeBy, "dedupe-by", "", "the `field` whose value is stored once")
	cmd.Flags().StringVar(&event.AwaitBy, "await-by", "", "the `field` by which handlers wait for events")
	cmd.Flags().StringArrayVar(&event.Subscriptions, "subscription", nil, "the `name` of a subscription to declare; may be given several times")
	e.flags(cmd)
	return cmd
}

func fieldOf(text string) (edit.Field, error) {
	parts := strings.SplitN(text, ":", 3)
	if len(parts) < 2 || parts[0] == "" || parts[1] == "" {
		return edit.Field{}, fmt.Errorf("--field %s: want name:type or name:type:doc, as in order_id:uuid", text)
	}
	return edit.Field{Name: parts[0], Type: parts[1], Doc: strings.Join(parts[2:], "")}, nil
}
