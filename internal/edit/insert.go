package edit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// An Event is an event to add.
type Event struct {
	Name          string
	Doc           string
	PartitionBy   string
	DedupeBy      string
	AwaitBy       string
	Fields        []Field
	Subscriptions []string
}

// A Field is a field of its payload.
type Field struct{ Name, Type, Doc string }

// AddEvent adds an event after the last one of its namespace, in the file that has that one, or else at the
// end of the events of the root. The events must be a block, and not in { }.
func AddEvent(c *Catalogue, e Event) (*Change, error) {
	ed, err := newEditor(c)
	if err != nil {
		return nil, err
	}
	if key := ed.key("events", e.Name); key != nil {
		return nil, fmt.Errorf("there is an event %s already, in line %d of %s", e.Name, key.Line, ed.home[key].name)
	}
	i := ed.fileFor(e.Name)
	d := ed.documents[i]
	events := d.at("events")
	switch {
	case events == nil:
		d.lines = append(append(d.lines, "", "events:"), e.lines(indentation)...)
	case !isBlock(events):
		return nil, errors.New("its events are in { }: write each on a line of its own first")
	default:
		lines := e.lines(events.Content[0].Column - 1)
		if d.spaced(events) {
			lines = append([]string{""}, lines...)
		}
		d.lines = slices.Insert(d.lines, d.behind(events, e.Name), lines...)
	}
	return c.checked([]File{{c.Files[i].Name, d.text()}}, 1)
}

// fileFor returns the index of the file in which an event belongs.
func (ed *editor) fileFor(name string) int {
	at := 0
	for i, d := range ed.documents {
		for _, other := range names(d.at("events")) {
			if namespace(name) != "" && namespace(other) == namespace(name) {
				at = i
			}
		}
	}
	return at
}

// behind returns the index of the line before which an event belongs.
func (d *document) behind(events *yaml.Node, name string) int {
	f := &formatter{document: d}
	_, end := d.section("events")
	chunks := f.chunks(events, events.Content[0].Line-1, end)
	after := len(chunks) - 1
	for i, c := range chunks {
		if namespace(c.key.Value) == namespace(name) {
			after = i
		}
	}
	c := chunks[after]
	return f.split(c, d.contentEnd(c), events.Content[0].Column-1)
}

// contentEnd returns the line where an entry ends, without blank lines.
func (d *document) contentEnd(c chunk) int {
	end := c.end
	for end > c.line+1 && isBlank(d.lines[end-1]) {
		end--
	}
	return end
}

// section returns the lines where a top-level key begins and ends.
func (d *document) section(name string) (start, end int) {
	f := &formatter{document: d}
	for _, c := range f.chunks(d.root, 0, len(d.lines)) {
		if c.key.Value == name {
			return c.line, f.split(c, c.end, 0)
		}
	}
	return 0, len(d.lines)
}

func namespace(name string) string { return name[:strings.LastIndexByte(name, '.')+1] }

// spaced reports whether there are blank lines between the events.
func (d *document) spaced(events *yaml.Node) bool {
	f := &formatter{document: d}
	_, end := d.section("events")
	for _, c := range f.chunks(events, events.Content[0].Line-1, end)[1:] {
		if !slices.ContainsFunc(d.lines[c.start:c.line], isBlank) {
			return false
		}
	}
	return len(events.Content) > 2
}

// lines returns the event in the form of [Format].
func (e Event) lines(indent int) []string {
	var all []string
	add := func(depth int, text string) {
		all = append(all, strings.Repeat(" ", indent+depth*indentation)+text)
	}
	if e.Doc == "" && e.PartitionBy == "" && e.DedupeBy == "" && e.AwaitBy == "" && e.Fields == nil && e.Subscriptions == nil {
		add(0, quoted(e.Name)+": {}")
		return all
	}
	add(0, quoted(e.Name)+":")
	if e.Doc != "" {
		add(1, "doc: "+quoted(e.Doc))
	}
	if e.PartitionBy != "" {
		add(1, "partition_by: "+quoted(e.PartitionBy))
	}
	if e.DedupeBy != "" {
		add(1, "dedupe_by: "+quoted(e.DedupeBy))
	}
	if e.AwaitBy != "" {
		add(1, "await_by: "+quoted(e.AwaitBy))
	}
	if e.Fields != nil {
		add(1, "payload:")
		for _, f := range e.Fields {
			if f.Doc == "" {
				add(2, quoted(f.Name)+": "+quoted(f.Type))
			} else {
				add(2, quoted(f.Name)+":")
				add(3, "type: "+quoted(f.Type))
				add(3, "doc: "+quoted(f.Doc))
			}
		}
	}
	if e.Subscriptions != nil {
		add(1, "subscriptions:")
		for _, name := range e.Subscriptions {
			add(2, quoted(name)+": {}")
		}
	}
	return all
}

// quoted returns a text as a YAML scalar on one line.
func quoted(text string) string {
	node := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if text == "<<" || strings.ContainsAny(text, "\n\r\u0085\u2028\u2029") {
		node.Style = yaml.DoubleQuotedStyle
	}
	out, err := yaml.Marshal(&node)
	if err != nil {
		return text // not reached: YAML can encode every text
	}
	return strings.TrimSuffix(string(out), "\n")
}
