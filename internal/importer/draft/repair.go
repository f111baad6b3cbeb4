package draft

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/setting"
)

// A repairer takes out of a catalogue what its reader refuses.
type repairer struct {
	*Catalogue
	root *yaml.Node
	all  []spotOf
	gone map[*yaml.Node]bool // what was taken out in this round
}

// A spotOf is a node of the catalogue as it was written, with the entries around it
// from the outside in.
type spotOf struct {
	line, column int
	path         []step
}

// A step is an entry of a mapping, or an item of a list, which has no key.
type step struct{ in, key, value *yaml.Node }

// put puts another value where that of the step was.
func (s step) put(value *yaml.Node) { s.in.Content[slices.Index(s.in.Content, s.value)] = value }

// spots finds out where everything was written.
func (m *repairer) spots(source []byte) {
	var written yaml.Node
	if err := yaml.Unmarshal(source, &written); err != nil {
		panic(fmt.Sprintf("importer: what was written is no YAML: %v\n%s", err, source))
	}
	m.walk(m.root, written.Content[0], nil)
}

func (m *repairer) walk(n, written *yaml.Node, path []step) {
	m.all = append(m.all, spotOf{written.Line, written.Column, path})
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content) && i+1 < len(written.Content); i += 2 {
			inner := append(slices.Clip(path), step{n, n.Content[i], n.Content[i+1]})
			m.all = append(m.all, spotOf{written.Content[i].Line, written.Content[i].Column, inner})
			m.walk(n.Content[i+1], written.Content[i+1], inner)
		}
	case yaml.SequenceNode:
		for i := 0; i < len(n.Content) && i < len(written.Content); i++ {
			m.walk(n.Content[i], written.Content[i], append(slices.Clip(path), step{n, nil, n.Content[i]}))
		}
	}
}

// at is the path to what is written at a position: the last that begins there or before.
func (m *repairer) at(pos diag.Position) []step {
	behind := sort.Search(len(m.all), func(i int) bool {
		return diag.Position{Line: m.all[i].line, Column: m.all[i].column}.Compare(pos) > 0
	})
	return m.all[max(behind-1, 0)].path
}

// droppable are the keys without which a thing is still that thing.
var droppable = append([]string{
	"doc", "deprecated", "owner", "tags", "examples", "partition_by", "dedupe_by", "await_by", "result", "go_name", "wire", "schema",
	"default", "subscriptions", "group",
	"min", "max", "min_length", "max_length", "pattern", "format", "min_items", "max_items", "unique",
}, setting.Keys...)

// repair does away with the reason of a finding.
func (m *repairer) repair(f *diag.Finding) {
	path := m.at(f.Pos)
	if slices.ContainsFunc(path, func(s step) bool { return m.gone[s.value] }) {
		return
	}
	if len(path) > 0 && path[0].key.Value == "schedules" {
		m.take(path[min(1, len(path)-1)], f, "is left out")
		return
	}
	if f.Rule == rules.Collision && strings.HasPrefix(f.Message, "namespace ") && len(f.Related) > 0 {
		// A namespace has the name that its events give it, so the other thing needs another one.
		if path := m.at(f.Related[0].Pos); !slices.ContainsFunc(path, func(s step) bool { return m.gone[s.value] }) &&
			m.rename(path) {
			return
		}
	}
	if (f.Rule == rules.Collision || f.Rule == rules.Reserved) && m.rename(path) {
		return
	}
	if f.Rule == rules.Example && len(path) == 2 && m.loosen(path[1], f) {
		return
	}
	for i, s := range slices.Backward(path) {
		if s.key == nil && len(s.in.Content) == 1 && i > 0 && path[i-1].value == s.in {
			continue // without its only item a list is nothing
		}
		inExamples := s.key == nil && i > 0 && path[i-1].key != nil &&
			(path[i-1].key.Value == "examples" || path[i-1].key.Value == "tags")
		if inExamples || s.key != nil && i > 0 && slices.Contains(droppable, s.key.Value) && !m.isName(path[:i+1]) {
			m.take(s, f, "is left out")
			return
		}
	}
	for i, s := range slices.Backward(path) {
		if m.isField(path[:i+1]) && !isAnyJSON(s.value) {
			m.refuse(s, f, "the field takes any JSON")
			m.gone[s.value] = true
			s.put(anyJSON(s.value))
			return
		}
	}
	for i, s := range slices.Backward(path) {
		if m.isName(path[:i+1]) {
			m.take(s, f, "is left out")
			return
		}
	}
	if len(path) > 0 {
		m.take(path[len(path)-1], f, "is left out")
	}
}

// refuse reports what the reader of catalogues has found.
func (m *repairer) refuse(s step, f *diag.Finding, outcome string) {
	at, ok := m.places[s.key]
	if s.key == nil {
		at, ok = m.places[s.value]
	}
	if !ok {
		at = m.whole
	}
	m.Report(at, rules.ImportRefused, "%s; %s", f.Message, outcome)
}

// take takes an entry or item out.
func (m *repairer) take(s step, f *diag.Finding, outcome string) {
	m.refuse(s, f, outcome)
	m.remove(s)
}

func (m *repairer) remove(s step) {
	m.gone[s.value] = true
	i := slices.Index(s.in.Content, s.value)
	switch {
	case i < 0:
	case s.key == nil:
		s.in.Content = slices.Delete(s.in.Content, i, i+1)
	default:
		s.in.Content = slices.Delete(s.in.Content, i-1, i+1)
	}
}

// isName tells whether a path leads to something that has a name of its own: an event, a
// type, a field, a value, a variant, a header or a subscription.
func (m *repairer) isName(path []step) bool {
	if len(path) < 2 || path[len(path)-1].key == nil || path[len(path)-2].key == nil {
		return false
	}
	around := path[len(path)-2].key.Value
	switch len(path) {
	case 2:
		return around == "events" || around == "types" || around == "limits" || around == "headers"
	case 4:
		if path[0].key.Value == "policies" {
			return around == "headers"
		}
	}
	return !m.isName(path[:len(path)-1]) &&
		slices.Contains([]string{"payload", "fields", "enum", "one_of", "subscriptions"}, around)
}

func (m *repairer) isField(path []step) bool {
	return len(path) > 2 && m.isName(path) && slices.Contains([]string{"payload", "fields"}, path[len(path)-2].key.Value)
}

// rename gives another Go name to the innermost thing that can have one.
func (m *repairer) rename(path []step) bool {
	for i, s := range slices.Backward(path) {
		inList := s.key == nil && i > 0 && path[i-1].key != nil && path[i-1].key.Value == "enum"
		if inList {
			m.detailed(path[i-1])
			return true
		}
		if !m.isName(path[:i+1]) {
			continue
		}
		body := s.value
		if body.Kind == yaml.ScalarNode {
			key := "type"
			if path[i-1].key.Value == "enum" {
				key = "number"
			}
			if path[i-1].key.Value == "one_of" {
				return false
			}
			inner := *body
			*body = *Mapping()
			Set(body, key, &inner)
		}
		m.gone[s.value] = true
		own := Get(body, "go_name")
		if own == nil {
			own = Text(catalog.GoName(s.key.Value))
			Set(body, "go_name", own)
		}
		own.Value += "X"
		return len(own.Value) < 200
	}
	return false
}

// detailed turns the list of an enum into the form in which values can have Go names.
func (m *repairer) detailed(s step) {
	values := Mapping()
	for _, item := range s.value.Content {
		m.Add(values, item.Value, Flow(Mapping()), m.places[item])
	}
	m.gone[s.value] = true
	s.put(values)
}

// loosen takes out constraints of an event of which no example can be made up: patterns
// at first, and then all.
func (m *repairer) loosen(event step, f *diag.Finding) bool {
	for _, keys := range [][]string{{"pattern"},
		{"min", "max", "min_length", "max_length", "format", "min_items", "max_items", "unique"}} {
		found := false
		for _, body := range append([]*yaml.Node{event.value}, m.typesOf(event.value, map[string]bool{})...) {
			m.strip(body, keys, f, &found)
		}
		if found {
			return true
		}
	}
	return false
}

// typesOf are the bodies of the types that fields below n are of.
func (m *repairer) typesOf(n *yaml.Node, seen map[string]bool) []*yaml.Node {
	var all []*yaml.Node
	if n.Kind == yaml.ScalarNode {
		name, _ := catalog.CutMark(n.Value[strings.LastIndexByte(n.Value, ']')+1:])
		if body := Get(Get(m.root, "types"), name); body != nil && !seen[name] {
			seen[name] = true
			all = append(append(all, body), m.typesOf(body, seen)...)
		}
	}
	for _, child := range n.Content {
		all = append(all, m.typesOf(child, seen)...)
	}
	return all
}

// strip takes keys out of the fields below n, and out of n if it is a named scalar.
func (m *repairer) strip(n *yaml.Node, keys []string, f *diag.Finding, found *bool) {
	from := func(body *yaml.Node) {
		for i := len(body.Content) - 2; i >= 0; i -= 2 {
			if slices.Contains(keys, body.Content[i].Value) {
				*found = true
				m.take(step{body, body.Content[i], body.Content[i+1]}, f, body.Content[i].Value+" is left out")
			}
		}
	}
	eachField(n, func(field **yaml.Node) { from(*field) })
	if Get(n, "type") != nil {
		from(n)
	}
}
