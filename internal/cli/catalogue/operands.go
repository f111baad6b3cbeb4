package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/cli"
)

// operands describes the arguments of a verb after the catalogue, such as the name
// of an event.
type operands struct {
	least, most int
	what        string
	// candidates lists possible first operands, for the completion of shells.
	candidates func(*catalog.Catalogue) []string
}

// splitCatalogue separates the catalogue from the other arguments. It comes first,
// and may be left out.
func splitCatalogue(args []string) (catalogue, rest []string) {
	if len(args) > 0 && cli.IsCatalogue(args[0]) {
		return args[:1], args[1:]
	}
	return nil, args
}

// of makes a verb take a catalogue and these operands.
func (o operands) of(cmd *cobra.Command) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = o.check, o.complete
	return cmd
}

func (o operands) check(cmd *cobra.Command, args []string) error {
	catalogue, rest := splitCatalogue(args)
	excess := ""
	switch {
	case len(rest) > o.most:
		excess = fmt.Sprintf(", but got %q too", rest[o.most])
	case len(rest) >= o.least:
		return nil
	}
	if i := slices.IndexFunc(rest, cli.IsCatalogue); i >= 0 && catalogue == nil {
		return fmt.Errorf("the catalogue comes first, as in \"%s %s\"", cmd.CommandPath(),
			strings.Join(append([]string{rest[i]}, slices.Delete(slices.Clone(rest), i, i+1)...), " "))
	}
	return fmt.Errorf("%s takes %s%s: see \"%s --help\"", cmd.CommandPath(), o.what, excess, cmd.CommandPath())
}

// complete offers names in the catalogue or, where a catalogue may stand, files.
func (o operands) complete(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	catalogue, rest := splitCatalogue(args)
	if len(rest) > 0 || o.candidates == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	if c, _, _ := parse.Load(cli.CataloguePath(catalogue)); c != nil { // findings do not matter here
		names = slices.DeleteFunc(o.candidates(c), func(name string) bool { return !strings.HasPrefix(name, word) })
	}
	if len(names) == 0 && catalogue == nil {
		return cli.CompleteCatalogue(nil, nil, word)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// The names in a catalogue that verbs are about.

func declaredSubscriptions(c *catalog.Catalogue) []string {
	var names []string
	for _, e := range c.Events {
		for _, s := range e.Subscriptions {
			names = append(names, s.Name.V)
		}
	}
	for _, s := range c.Subscriptions {
		names = append(names, s.Name.V)
	}
	return names
}

func declaredGroups(c *catalog.Catalogue) []string {
	var names []string
	for _, g := range c.Groups {
		names = append(names, g.Name.V)
	}
	return names
}

func declaredLimits(c *catalog.Catalogue) []string {
	var names []string
	for _, l := range c.Limits {
		names = append(names, l.Name)
	}
	return names
}

func eventsAndSubscriptions(c *catalog.Catalogue) []string {
	return append(c.EventLabels(), declaredSubscriptions(c)...)
}

func declaredTypes(c *catalog.Catalogue) []string {
	var names []string
	for _, t := range c.Types {
		if !t.Inline {
			names = append(names, t.Name.V)
		}
	}
	return names
}

func fieldNames(c *catalog.Catalogue) []string {
	var names []string
	add := func(owner string, fields []*catalog.Field) {
		for _, f := range catalog.OwnFields(fields) {
			names = append(names, owner+"."+f.Label())
		}
	}
	for _, e := range c.Events {
		add(e.Label(), e.Fields)
	}
	for _, t := range c.Types {
		if !t.Inline {
			add(t.Name.V, t.Fields)
		}
	}
	return names
}

func valueNames(c *catalog.Catalogue) []string {
	var names []string
	for _, t := range c.Types {
		for _, v := range t.Values {
			names = append(names, t.Name.V+"."+v.Name.V)
		}
	}
	return names
}
