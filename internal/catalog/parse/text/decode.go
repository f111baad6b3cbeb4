package text

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// An Entry is a key of a mapping with its value.
type Entry struct {
	Name       string // the key's text
	Key, Value *yaml.Node
}

// An Object is a mapping whose keys the language knows.
type Object struct {
	Node    *yaml.Node
	What    string // for messages: event order.placed
	Entries map[string]Entry
}

// elsewhere says where a key belongs that people look for in other places too.
var elsewhere = map[string]string{
	"priority":      "priority belongs to an event, a policy or the defaults",
	"subscriptions": "subscriptions are declared under their event, or at the top of a file for patterns",
	"schedules":     "schedules are declared at the top of a file, beside the events",
	"pattern":       "a pattern belongs to a subscription at the top of a file; under an event it is for the event",
	"batch":         "a batch has events of one type, so it belongs to an event, a policy, the defaults or a subscription of an event",
	"at_once":       ofALimit,
	"rate":          ofALimit,
	"headers":       "headers are declared at the top of a file, or in a policy for some events",
	"max_attempts":  "it belongs under retry",
	"max_retries":   "it belongs under retry",
	"backoff":       "it belongs under retry",
	"base_delay":    "it belongs under retry",
	"max_delay":     "it belongs under retry",
	"threshold":     "it belongs under breaker",
	"min_samples":   "it belongs under breaker",
	"open_for":      "it belongs under breaker",
	"reasons":       "it belongs under redrive",
	"was":           "it belongs to a field",
	"mixins":        "it belongs beside the payload of an event, or beside the fields of a struct, and names structs that are declared under types",
	"reserved":      "it belongs beside the payload of an event, or beside the fields of a struct",
	"import_path":   ofTheWhole,
	"test_kit":      ofTheWhole,
	"initialisms":   ofTheWhole,
	"go_types":      ofTheWhole,
	"imports":       ofTheWhole,
	"cloudevents":   ofTheWhole,
	"lint":          ofTheWhole,
	"accepted":      ofTheWhole,
	"defaults":      ofTheWhole,
}

const ofALimit = "it belongs to a limit, which is declared under limits at the top of a file"

const ofTheWhole = "it is said once, of the whole catalogue: at the top of the file that includes the others"

// Object reads a mapping that may only have the known keys. It is empty, and the result false, if n is no mapping.
func (r *Reader) Object(n *yaml.Node, what string, known ...string) (Object, bool) {
	o := Object{Node: n, What: what, Entries: map[string]Entry{}}
	entries, ok := r.Mapping(n, what)
	for _, e := range entries {
		if !slices.Contains(known, e.Name) {
			f := r.Report(r.Place(e.Key), rules.UnknownKey, "unknown key %q in %s", e.Name, what)
			if f.Hint = elsewhere[e.Name]; f.Hint == "" {
				f.Hint = diag.DidYouMean(e.Name, known)
			}
			if f.Hint == "" && n.Style&yaml.FlowStyle != 0 && IsNull(e.Value) && e.Value.Value == "" {
				f.Hint = "a string with a comma in it needs quotes inside { }"
			}
			if f.Hint == "" {
				f.Hint = "its keys are " + strings.Join(known, ", ")
			}
			continue
		}
		o.Entries[e.Name] = e
	}
	return o, ok
}

// Mapping reads a mapping with any keys, in file order. The keys that it returns are text and differ from one another.
func (r *Reader) Mapping(n *yaml.Node, what string) ([]Entry, bool) {
	if n.Kind != yaml.MappingNode {
		r.WrongKind(n, what, "a mapping")
		return nil, false
	}
	var entries []Entry
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name, ok := r.Text(key, "a key of "+what)
		if !ok {
			continue
		}
		if before := first[name.V]; before != nil {
			r.Report(r.Place(key), rules.DuplicateKey, "key %q is already in %s", name.V, what).
				See(r.Place(before), "it is here")
			continue
		}
		first[name.V] = key
		entries = append(entries, Entry{name.V, key, value})
	}
	return entries, true
}

// MappingOf reads a mapping with any keys under a key of o, if there is one.
func (r *Reader) MappingOf(o Object, key string) []Entry {
	e, ok := o.Entries[key]
	if !ok {
		return nil
	}
	entries, _ := r.Mapping(e.Value, key+" of "+o.What)
	return entries
}

// Required returns the entry of a key, or reports that it is missing.
func (r *Reader) Required(o Object, key, hint string) (Entry, bool) {
	e, ok := o.Entries[key]
	if !ok {
		r.Report(r.Place(o.Node), rules.MissingKey, "%s has no %q", o.What, key).Hint = hint
	}
	return e, ok
}

// Text reads a scalar that YAML takes for text. It refuses what YAML takes for something else, such as true or 1: either
// may be meant.
func (r *Reader) Text(n *yaml.Node, what string) (catalog.Value[string], bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		r.WrongKind(n, what, "a string")
		return catalog.Value[string]{}, false
	}
	return catalog.Value[string]{V: n.Value, Pos: r.Position(n)}, true
}

// TextOf reads the text under a key. The node is nil without one, and after a finding.
func (r *Reader) TextOf(o Object, key string) (catalog.Value[string], *yaml.Node) {
	if e, ok := o.Entries[key]; ok {
		if v, ok := r.Text(e.Value, key+" of "+o.What); ok {
			return v, e.Value
		}
	}
	return catalog.Value[string]{}, nil
}

// Texts reads the texts of a list, if e is one. Other items are left out.
func (r *Reader) Texts(e Entry, what, want string) iter.Seq2[*yaml.Node, catalog.Value[string]] {
	return func(yield func(*yaml.Node, catalog.Value[string]) bool) {
		switch {
		case e.Value == nil:
			return
		case e.Value.Kind != yaml.SequenceNode:
			r.WrongKind(e.Value, what, want)
			return
		}
		for _, item := range e.Value.Content {
			if v, ok := r.Text(item, "one of "+what); ok && !yield(item, v) {
				return
			}
		}
	}
}

// WrongKind reports that n is not what it should be.
func (r *Reader) WrongKind(n *yaml.Node, what, want string) *diag.Finding {
	switch {
	case n.Kind == yaml.AliasNode || n.ShortTag() == "!!merge":
		f := r.Report(r.Place(n), rules.Alias, "catalogues have no YAML aliases and merge keys")
		f.Hint = "share settings through defaults and policies, and fields through types"
		return f
	case IsNull(n) && n.Value == "":
		return r.Report(r.Place(n), rules.WrongKind, "%s must be %s, but nothing is written", what, want)
	}
	f := r.Report(r.Place(n), rules.WrongKind, "%s must be %s, not %s", what, want, kindOf(n))
	switch {
	case want == "a string" && n.Kind == yaml.ScalarNode && n.Style&yaml.TaggedStyle == 0:
		f.Hint = "to make it a string, put it in quotes: " + strconv.Quote(n.Value)
	case want != "a string" && IsQuoted(n):
		f.Hint = "what is in quotes is a string"
	}
	return f
}

// IsNull reports whether n is null, or nothing.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// kindOf names what YAML takes n for.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!str":
		return "a string"
	case "!!int":
		return "a whole number"
	case "!!float":
		return "a decimal number"
	case "!!bool":
		return "true or false"
	case "!!null":
		return "null"
	case "!!timestamp":
		return "a date"
	}
	return "a value tagged " + diag.Label(n.ShortTag())
}

// IsWord reports whether text could be the name of a type.
func IsWord(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_')
	})
}
