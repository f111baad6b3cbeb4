package catalogue

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/edit"
	"github.com/busgen/busgen/internal/output"
)

// editing is shared by the verbs that change a catalogue.
type editing struct {
	catalogue []string // the argument that names it, if there is one
	diff      bool
}

// of takes the catalogue from the arguments of a verb, and returns the others.
func (e *editing) of(args []string) (rest []string) {
	e.catalogue, rest = splitCatalogue(args)
	return rest
}

func (e *editing) file() string { return cli.CataloguePath(e.catalogue) }

func (e *editing) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&e.diff, "diff", "d", false, "print what would change, and change nothing")
}

const editStatus = `
Exit status: 0 done, 1 the catalogue has findings or would have them, 2 trouble
with the command line or with the file, 3 there is nothing of that name.`

// change edits the catalogue. done returns the report for these files and this
// number of places.
func (e *editing) change(do func(*edit.Catalogue) (*edit.Change, error), done func(files string, places int) string) (report string, err error) {
	before, err := e.read()
	if err != nil {
		return "", err
	}
	change, err := do(before)
	var wrong *edit.RefusedError
	var missing *edit.NotFoundError
	switch {
	case errors.As(err, &wrong):
		return "", cli.No(fmt.Errorf("%w; nothing was changed", err))
	case errors.As(err, &missing):
		return "", cli.NotFound(fmt.Errorf("%s: %w%s", e.file(), err, diag.Nearest(missing.Name, missing.Names)))
	case err != nil:
		return "", fmt.Errorf("%s: %w", e.file(), err)
	case e.diff:
		return differences(before, change), nil
	}
	var names []string
	var files []output.File
	for _, file := range change.Files {
		files, names = append(files, output.File{Name: file.Name, Content: file.Text}), append(names, cli.WithTarget(file.Name))
	}
	if err := output.ReplaceAll(files); err != nil {
		return "", err
	}
	return done(strings.Join(names, ", "), change.Places) + "\n", nil
}

// read reads the catalogue and the files that it includes. It must not have
// findings.
func (e *editing) read() (*edit.Catalogue, error) {
	c, err := cli.LoadCatalogue(e.catalogue)
	if err != nil {
		return nil, cli.Refused(err)
	}
	all := &edit.Catalogue{Below: parse.Disk{}}
	for _, name := range c.Files {
		text, err := parse.Disk{}.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all.Files = append(all.Files, edit.File{Name: name, Text: text})
	}
	return all, nil
}

func differences(before *edit.Catalogue, change *edit.Change) string {
	var all strings.Builder
	for _, old := range before.Files {
		for _, file := range change.Files {
			if file.Name == old.Name {
				all.WriteString(edit.Diff(file.Name, old.Text, file.Text))
			}
		}
	}
	return all.String()
}

func newRename() *cobra.Command {
	cmd := cli.Family(&cobra.Command{
		Use:   "rename",
		Short: "Rename something in a catalogue",
		Long: `Rename changes a name in a catalogue, and everything in the catalogue that
refers to it, in all of its files. Comments and layout stay. After the next
generate the compiler shows what to change in programs. A name that is not valid
is refused, and nothing is changed.

Exit status: that of the verbs below.`,
		Example: `  busgen rename event order.placed order.accepted
  busgen rename subscription send-receipt mail-receipt
  busgen rename group credit-notes refund-notes
  busgen rename type Money Amount
  busgen rename field order.placed.gift present
  busgen rename value Carrier.DHL Deutsche_Post
  busgen rename limit bank bank-api`,
	})
	cmd.AddCommand(newRenameEvent(), newRenameSubscription(), newRenameGroup(), newRenameType(), newRenameField(), newRenameValue(), newRenameLimit())
	return cmd
}

func newRenameEvent() *cobra.Command {
	var keep bool
	cmd := renaming(&cobra.Command{
		Use:   "event [events.yaml] OLD NEW",
		Short: "Rename an event type",
		Long: `Event renames an event type, also in its schedules, and in the policies and
exceptions of lint rules that are for it alone. Patterns do not change, so that
other settings may apply to it: see "busgen policy".

The old name is kept among the aliases of the event: events that are stored
under it are delivered under the new name. Remove it if no file has such events.

With --keep-wire events are still stored under the old name: the event gets it
under wire. An event that has wire keeps its name on the wire anyway.
` + editStatus,
		Example: `  busgen rename event order.placed order.accepted
  busgen rename event order.placed order.accepted --keep-wire
  busgen rename event events/events.yaml order.placed order.accepted --diff`,
	}, func(c *edit.Catalogue, from, to string) (*edit.Change, error) {
		if keep {
			return edit.RenameEventInGo(c, from, to)
		}
		return edit.RenameEvent(c, from, to)
	}, (*catalog.Catalogue).EventLabels, "")
	cmd.Flags().BoolVar(&keep, "keep-wire", false, "keep the name on the wire")
	return cmd
}

func newRenameSubscription() *cobra.Command {
	return renaming(&cobra.Command{
		Use:   "subscription [events.yaml] OLD NEW",
		Short: "Rename a declared subscription",
		Long: `Subscription renames a subscription that the catalogue declares. The old name is
kept among its aliases: its pending deliveries and dead letters belong to the
new name from the next start of the program on.
` + editStatus,
		Example: `  busgen rename subscription send-receipt mail-receipt`,
	}, edit.RenameSubscription, declaredSubscriptions, "")
}

func newRenameGroup() *cobra.Command {
	return renaming(&cobra.Command{
		Use:   "group [events.yaml] OLD NEW",
		Short: "Rename a group of declared subscriptions",
		Long: `Group renames a group in the subscriptions that are its members, and its entry
of groups. The old name is kept among the aliases of that entry, which is added
if there is none: the pending deliveries and dead letters of the group belong to
the new name from the next start of the program on.

A group that only a program knows is not in the catalogue: there
runtime.InGroup takes the new name and the old one.
` + editStatus,
		Example: `  busgen rename group credit-notes refund-notes`,
	}, edit.RenameGroup, declaredGroups, "")
}

func newRenameType() *cobra.Command {
	return renaming(&cobra.Command{
		Use:   "type [events.yaml] OLD NEW",
		Short: "Rename a type",
		Long: `Type renames a type, and changes the fields that are of it. The name of a type
is not stored in events.
` + editStatus,
		Example: `  busgen rename type Money Amount`,
	}, edit.RenameType, declaredTypes, "")
}

func newRenameField() *cobra.Command {
	var keep bool
	cmd := renaming(&cobra.Command{
		Use:   "field [events.yaml] OWNER.OLD NEW",
		Short: "Rename a field of a payload or of a type",
		Long: `Field renames a field of the payload of an event, or of a type, as in
order.placed.gift or Money.amount, with partition_by, dedupe_by, await_by and
the examples and schedules of the event. A path leads to the fields of structs
in place and of variants in place, as in order.placed.ship_to.street.

If the name in JSON changes with it, the old one is kept under was: stored
events are read by it, and new ones are written under the new name. Old programs
do not see the new name: see "busgen breaking". Remove the old name if no file
has events with it.

With --keep-wire the field keeps its name in JSON: it gets that under json. A
field that has json keeps its name in JSON anyway.
` + editStatus,
		Example: `  busgen rename field order.placed.gift present
  busgen rename field order.placed.gift present --keep-wire
  busgen rename field Money.amount cents
  busgen rename field system.backup_finished.stored.bucket container`,
	}, func(c *edit.Catalogue, from, to string) (*edit.Change, error) {
		if keep {
			return edit.RenameFieldInGo(c, from, to)
		}
		return edit.RenameField(c, from, to)
	}, fieldNames, "")
	cmd.Flags().BoolVar(&keep, "keep-wire", false, "keep the name in JSON")
	return cmd
}

func newRenameValue() *cobra.Command {
	return renaming(&cobra.Command{
		Use:   "value [events.yaml] ENUM.OLD NEW",
		Short: "Rename a value of an enum",
		Long: `Value renames a value of an enum, with defaults, examples and schedules that
have it.

Stored events have its name, unless the enum has numbers. Events with the old
value can be read, but the field is not valid: see "busgen breaking". If only
the name in Go is wrong, give the value a go_name instead.
` + editStatus,
		Example: `  busgen rename value Carrier.DHL Deutsche_Post`,
	}, func(c *edit.Catalogue, from, to string) (*edit.Change, error) {
		enum, value, ok := strings.Cut(from, ".")
		if !ok {
			return nil, fmt.Errorf("%s is no value: name its enum too, as in Currency.%s", from, from)
		}
		return edit.RenameValue(c, enum, value, to)
	}, valueNames, "Unless it has a number, its text in the JSON changes: \"busgen breaking\" says what that means for stored events.\n")
}

func newRenameLimit() *cobra.Command {
	return renaming(&cobra.Command{
		Use:   "limit [events.yaml] OLD NEW",
		Short: "Rename a limit",
		Long: `Limit renames a limit, also in the settings that name it: those of defaults, of
policies, of events and of subscriptions; and among the exceptions of the lint
rule about limits.

Events do not have its name. If the limit has a rate, that begins anew: the file
knows by the old name what was used of it.
` + editStatus,
		Example: `  busgen rename limit bank bank-api`,
	}, edit.RenameLimit, declaredLimits, "")
}

// renaming completes a verb that takes an old name and a new one. It prints the
// remark after the change.
func renaming(cmd *cobra.Command, rename func(c *edit.Catalogue, from, to string) (*edit.Change, error), old func(*catalog.Catalogue) []string, remark string) *cobra.Command {
	var e editing
	operands{least: 2, most: 2, what: "the old name and the new one", candidates: old}.of(cmd)
	cmd.RunE = cli.Report(func(args []string) (string, error) {
		args = e.of(args)
		from, to := args[0], args[1]
		return e.change(
			func(c *edit.Catalogue) (*edit.Change, error) {
				change, err := rename(c, from, to)
				if change != nil && change.Remark != "" {
					remark = change.Remark
				}
				return change, err
			},
			func(files string, places int) string {
				return strings.TrimSuffix(fmt.Sprintf("%s: %s is %s now, in %s\n%s", files, from, to, terminal.Counted(places, "place"), remark), "\n")
			},
		)
	})
	e.flags(cmd)
	return cmd
}
