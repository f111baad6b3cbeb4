package edit

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/diag"
)

// RenameGroup renames a group in its members, and keeps the old name as an alias, so that the renamed group
// keeps its place in the log. Without an entry of groups it gets one.
func RenameGroup(c *Catalogue, from, to string) (*Change, error) {
	e, err := newEditor(c)
	if err != nil {
		return nil, err
	}
	members := e.members()
	entry := e.key("groups", from)
	names := e.names("groups")
	var home *document // of the first member
	for _, m := range members {
		names = append(names, m.Value)
		if m.Value == from {
			home = home.or(e.home[m])
			e.scalar(m, from, to)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case entry == nil && home == nil:
		return nil, &NotFoundError{What: "group", Name: from, Names: names}
	case slices.Contains(names, to) && to != from:
		return nil, &RefusedError{Finding: &diag.Finding{
			Message: fmt.Sprintf("there is a group %s, and the members of both would be in it", to), Hint: "choose another name",
		}}
	case entry != nil:
		e.keepName(former{e.home[entry], []string{"groups", from}, groupKeys}, from, to)
		e.scalar(entry, from, to)
	default:
		e.addGroup(home, quoted(to)+": { aliases: ["+quoted(from)+"] }")
	}
	return e.change()
}

// members returns the values of `group:` of all subscriptions.
func (e *editor) members() (all []*yaml.Node) {
	add := func(_, subscription *yaml.Node) {
		if group := below(subscription, "group"); group != nil {
			all = append(all, group)
		}
	}
	e.each("events", func(_, event *yaml.Node) { eachPair(below(event, "subscriptions"), add) })
	e.each("subscriptions", add)
	return all
}

// or returns d, or the other one if d is nil.
func (d *document) or(other *document) *document {
	if d != nil {
		return d
	}
	return other
}

// addGroup adds an entry to the groups of the first file that has some, or else to the file that is given.
func (e *editor) addGroup(otherwise *document, entry string) {
	for _, d := range e.documents {
		groups := d.at("groups")
		switch {
		case groups == nil:
			continue
		case isBlock(groups):
			at := d.place([]string{"groups"}, "", &context{})
			d.insertBefore(at, strings.Repeat(" ", groups.Content[0].Column-1)+entry)
		default:
			e.openBrace(d, groups, entry)
		}
		return
	}
	d := otherwise
	section := "groups:\n" + strings.Repeat(" ", indentation) + entry
	at := d.place(nil, "groups", rootKeys)
	if at == len(d.lines) || isBlank(d.lines[at]) {
		section = "\n" + section
	}
	d.insertBefore(at, section)
}
