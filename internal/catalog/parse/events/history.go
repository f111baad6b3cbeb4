package events

import (
	"fmt"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/catalog/parse/types"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// maxVersion limits the version of an event. A larger number is something else, such as a date.
const maxVersion = 1000

// dropped stands for an old version without a payload: no event of it is left anywhere.
const dropped = "dropped"

// eventVersion reads `version:` of an event; the default is 1.
func (r *Events) eventVersion(o text.Object) catalog.Value[int] {
	e, ok := o.Entries["version"]
	if !ok {
		return catalog.Value[int]{V: 1}
	}
	v, ok := r.WholeNumber(e, o.What)
	if ok && (v.V < 1 || v.V > maxVersion) {
		r.Report(r.Place(e.Value), rules.OutOfRange, "version of %s is %d; versions are numbered from 1 to %d", o.What, v.V, maxVersion)
		ok = false
	}
	if !ok {
		return catalog.Value[int]{Pos: r.Position(e.Value)}
	}
	return v
}

// history reads `history:`, which has an entry for each version before the present one.
func (r *Events) history(o text.Object, ev *catalog.Event, names catalog.JSONNames) []*catalog.OldShape {
	e, written := o.Entries["history"]
	if !written {
		if ev.Version.V > 1 {
			r.Report(r.Place(o.Entries["version"].Value), rules.History, "%s is at version %d but has no history", o.What, ev.Version.V).
				Hint = "keep the payloads of earlier versions under the key history, so that stored events can be read"
		}
		return nil
	}
	if e.Value.Kind != yaml.MappingNode {
		r.WrongKind(e.Value, "history of "+o.What, "a mapping of versions")
		return nil
	}
	shapes, entries := map[int]*catalog.OldShape{}, map[int]*yaml.Node{}
	for i := 0; i+1 < len(e.Value.Content); i += 2 {
		key, value := e.Value.Content[i], e.Value.Content[i+1]
		number, ok := r.versionNumber(key, "history of "+o.What)
		switch {
		case !ok:
			continue
		case entries[number.V] != nil:
			r.Report(r.Place(key), rules.DuplicateKey, "version %d is already in history of %s", number.V, o.What).
				See(r.Place(entries[number.V]), "it is here")
			continue
		case number.V < 1:
			r.Report(r.Place(key), rules.History, "history of %s has a version %d; versions are numbered from 1", o.What, number.V)
			continue
		case ev.Version.V > 0 && number.V >= ev.Version.V:
			r.Report(r.Place(key), rules.History, "history of %s has version %d, but the event is at version %d", o.What, number.V, ev.Version.V).
				Hint = fmt.Sprintf("history has earlier versions only: raise version to %d, or remove this", min(number.V+1, maxVersion))
			continue
		}
		entries[number.V] = key
		shapes[number.V] = r.oldShape(o, ev, names, number, key, value)
	}
	r.checkHistory(o, ev, e, entries, shapes)
	var all []*catalog.OldShape
	for _, shape := range shapes {
		if shape != nil {
			all = append(all, shape)
		}
	}
	slices.SortFunc(all, func(a, b *catalog.OldShape) int { return a.Version.V - b.Version.V })
	return all
}

// versionNumber reads a key of a history. In JSON, which is YAML too, keys are in quotes.
func (r *Events) versionNumber(key *yaml.Node, what string) (catalog.Value[int], bool) {
	number := *key
	if _, err := strconv.Atoi(key.Value); err == nil && text.IsQuoted(key) {
		number.Tag, number.Style = "!!int", 0
	}
	return r.WholeNumber(text.Entry{Name: "a key", Key: key, Value: &number}, what)
}

// oldShape reads the payload that an event had. It returns nil for one that was dropped.
func (r *Events) oldShape(o text.Object, ev *catalog.Event, names catalog.JSONNames, version catalog.Value[int],
	key, n *yaml.Node) *catalog.OldShape {
	what := fmt.Sprintf("version %d of %s", version.V, o.What)
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		if n.Value != dropped {
			r.Report(r.Place(n), rules.History, "%s is %s, which is not a payload", what, diag.Label(n.Value)).
				Hint = "write the payload of that version, or " + dropped + " if no file has events of it"
		}
		return nil
	}
	old, _ := r.Object(n, what, "doc", "json_names", "mixins", "payload")
	goName := ev.GoName + "V" + strconv.Itoa(version.V)
	t := &catalog.Type{Name: catalog.Value[string]{V: goName, Pos: version.Pos}, GoName: goName, Inline: true}
	t.Doc = fmt.Sprintf("%s is the payload that %s had in version %d.", goName, ev.Name.V, version.V)
	shape := &catalog.OldShape{Version: version, Doc: r.Doc(key, old), Type: t}
	if shape.Doc != "" {
		t.Doc += "\n\n" + shape.Doc
	}
	if _, ok := old.Entries["payload"]; ok {
		names = r.names.JSONNames(old, names)
	}
	r.types.StructOf(old, "payload", t, types.Owner{What: "payload of " + what, GoName: goName, JSONNames: names})
	return shape
}

// checkHistory reports versions that are missing, and ones that were dropped although the chain needs them.
func (r *Events) checkHistory(o text.Object, ev *catalog.Event, section text.Entry,
	entries map[int]*yaml.Node, shapes map[int]*catalog.OldShape) {
	kept := 0 // the first version that is kept
	for n := 1; n < ev.Version.V; n++ {
		switch {
		case entries[n] == nil:
			r.Report(r.Place(section.Key), rules.History, "%s is at version %d, but its history has no version %d", o.What, ev.Version.V, n).
				Hint = fmt.Sprintf("add the payload of that version, or \"%d: %s\" if no file has events of it", n, dropped)
		case shapes[n] != nil && kept == 0:
			kept = n
		case shapes[n] == nil && kept > 0:
			r.Report(r.Place(entries[n]), rules.History, "version %d of %s is dropped, but version %d is kept", n, o.What, kept).
				See(r.Place(entries[kept]), "it is kept here").
				Hint = "events are upgraded one version at a time: drop the older version first"
		}
	}
}
