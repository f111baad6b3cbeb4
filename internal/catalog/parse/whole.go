package parse

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cloudevent"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
)

// cloudEvents reads `cloudevents:`. It is nil without it, and after a finding about its kind.
func (r *Settings) cloudEvents(root object) *catalog.CloudEvents {
	e, ok := root.entries["cloudevents"]
	if !ok {
		return nil
	}
	o, ok := r.object(e.value, "cloudevents", "source", "type_prefix", "dataschema")
	if !ok {
		return nil
	}
	r.required(o, "source", "say who publishes the events, as in \"source: https://shop.example\"")
	return &catalog.CloudEvents{
		Source:     r.outsideName(o, "source", cloudevent.CheckSource, "write a URI, such as https://shop.example or urn:example:shop"),
		TypePrefix: r.outsideName(o, "type_prefix", cloudevent.CheckTypePrefix, "write a domain backwards and a dot, such as com.example."),
		DataSchema: r.outsideName(o, "dataschema", cloudevent.CheckDataSchema, "write a URI, such as https://shop.example/schemas/{type}/{version}"),
		Pos:        r.position(e.key),
	}
}

// outsideName reads a key of `cloudevents:`.
func (r *Settings) outsideName(o object, key string, check func(string) string, hint string) catalog.Value[string] {
	e, ok := o.entries[key]
	if !ok {
		return catalog.Value[string]{}
	}
	text, ok := r.text(e.value, key+" of "+o.what)
	if !ok {
		return catalog.Value[string]{}
	}
	problem := check(text.V)
	if text.V == "" {
		problem = "it is empty"
	}
	if problem != "" {
		r.report(r.place(e.value), rules.CloudEvents, "%s of cloudevents cannot be %s: %s", key, diag.Label(text.V), problem).Hint = hint
		return catalog.Value[string]{}
	}
	return text
}

// readWhole reads what the root says of the whole catalogue, for tools and for other systems.
func (r *Settings) readWhole(root object, c *catalog.Catalogue) {
	c.CloudEvents = r.cloudEvents(root)
	c.Lint = r.lint(root)
	c.Accepted = r.accepted(root)
}

// lint reads `lint:`. A rule has a severity, or a mapping.
func (r *Settings) lint(root object) []*catalog.LintSetting {
	section, ok := root.entries["lint"]
	if !ok {
		return nil
	}
	ids := rules.IDs(rules.Of(diag.Lint))
	o, _ := r.object(section.value, "lint", ids...)
	var all []*catalog.LintSetting
	for _, id := range ids {
		e, ok := o.entries[id]
		if !ok {
			continue
		}
		s := &catalog.LintSetting{Rule: catalog.Value[string]{V: id, Pos: r.position(e.key)}}
		if e.value.Kind == yaml.MappingNode {
			inner, _ := r.object(e.value, id+" of lint", "severity", "except")
			s.Severity = r.severity(inner, "severity")
			s.Except = r.exceptions(inner)
		} else {
			s.Severity = r.severity(object{what: "lint", entries: o.entries}, id)
		}
		all = append(all, s)
	}
	return all
}

func (r *Settings) severity(o object, key string) catalog.Value[diag.Severity] {
	return oneOf(r.Reader, o, key, diag.SeverityWords(), func(word string) (diag.Severity, bool) {
		severity, err := diag.ParseSeverity(word)
		return severity, err == nil
	})
}

// exceptions reads the patterns of names that a rule leaves alone.
func (r *Settings) exceptions(o object) []glob.Pattern {
	e, ok := o.entries["except"]
	if !ok {
		return nil
	}
	what := "except of " + o.what
	if e.value.Kind != yaml.SequenceNode {
		r.wrongKind(e.value, what, "a list")
		return nil
	}
	var all []glob.Pattern
	for _, item := range e.value.Content {
		text, ok := r.text(item, "one of "+what)
		if !ok {
			continue
		}
		if pattern, ok := r.names.pattern(text.V, item, "%s in "+what+" is not a pattern: %s"); ok {
			all = append(all, pattern)
		}
	}
	return all
}

// accepted reads `accepted:`. Whether there is a finding of a key shows when two states of the
// catalogue are compared.
func (r *Settings) accepted(root object) []*catalog.Accepted {
	section, ok := root.entries["accepted"]
	if !ok {
		return nil
	}
	entries, _ := r.mapping(section.value, "accepted")
	var all []*catalog.Accepted
	for _, e := range entries {
		rule, about, _ := strings.Cut(e.name, " ")
		switch {
		case !slices.Contains(rules.Changes(), rule):
			f := r.report(r.place(e.key), rules.Accepted, "accepted has the key %s, but there is no rule %s", diag.Label(e.name), diag.Label(rule))
			if f.Hint = diag.DidYouMean(rule, rules.Changes()); f.Hint == "" {
				f.Hint = keyHint
			}
			continue
		case strings.TrimSpace(about) == "":
			r.report(r.place(e.key), rules.Accepted, "accepted has the key %s, which names a rule but no finding", diag.Label(e.name)).Hint = keyHint
			continue
		}
		a := &catalog.Accepted{Key: catalog.Value[string]{V: e.name, Pos: r.position(e.key)}}
		a.Reason = r.sentence(object{what: "accepted", entries: map[string]entry{e.name: e}}, e.name)
		all = append(all, a)
	}
	return all
}

const keyHint = `copy the key of a finding of "busgen breaking", such as field-added order.placed 1 email`
