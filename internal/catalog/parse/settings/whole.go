package settings

import (
	"cmp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/cloudevent"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
)

// cloudEvents reads `cloudevents:`. It is nil without it, and after a finding about its kind.
func (r *Settings) cloudEvents(root text.Object) *catalog.CloudEvents {
	e, ok := root.Entries["cloudevents"]
	if !ok {
		return nil
	}
	o, ok := r.Object(e.Value, "cloudevents", "source", "type_prefix", "dataschema")
	if !ok {
		return nil
	}
	r.Required(o, "source", "say who publishes the events, as in \"source: https://shop.example\"")
	return &catalog.CloudEvents{
		Source:     r.outsideName(o, "source", cloudevent.CheckSource, "write a URI, such as https://shop.example or urn:example:shop"),
		TypePrefix: r.outsideName(o, "type_prefix", cloudevent.CheckTypePrefix, "write a domain backwards and a dot, such as com.example."),
		DataSchema: r.outsideName(o, "dataschema", cloudevent.CheckDataSchema, "write a URI, such as https://shop.example/schemas/{type}/{version}"),
		Pos:        r.Position(e.Key),
	}
}

// outsideName reads a key of `cloudevents:`.
func (r *Settings) outsideName(o text.Object, key string, check func(string) string,
	hint string) catalog.Value[string] {
	text, n := r.TextOf(o, key)
	if n == nil {
		return catalog.Value[string]{}
	}
	problem := check(text.V)
	if text.V == "" {
		problem = "it is empty"
	}
	if problem != "" {
		r.Report(r.Place(n), rules.CloudEvents, "%s of cloudevents cannot be %s: %s", key, diag.Label(text.V), problem).Hint = hint
		return catalog.Value[string]{}
	}
	return text
}

// ReadWhole reads what the root says of the whole catalogue, for tools and for other systems.
func (r *Settings) ReadWhole(root text.Object, c *catalog.Catalogue) {
	c.CloudEvents = r.cloudEvents(root)
	c.Lint = r.lint(root)
	c.Accepted = r.accepted(root)
}

// lint reads `lint:`. A rule has a severity, or a mapping.
func (r *Settings) lint(root text.Object) []*catalog.LintSetting {
	section, ok := root.Entries["lint"]
	if !ok {
		return nil
	}
	ids := rules.IDs(rules.Of(diag.Lint))
	o, _ := r.Object(section.Value, "lint", ids...)
	var all []*catalog.LintSetting
	for _, id := range ids {
		e, ok := o.Entries[id]
		if !ok {
			continue
		}
		s := &catalog.LintSetting{Rule: catalog.Value[string]{V: id, Pos: r.Position(e.Key)}}
		if e.Value.Kind == yaml.MappingNode {
			inner, _ := r.Object(e.Value, id+" of lint", "severity", "except")
			s.Severity = r.severity(inner, "severity")
			s.Except = r.exceptions(inner)
		} else {
			s.Severity = r.severity(text.Object{What: "lint", Entries: o.Entries}, id)
		}
		all = append(all, s)
	}
	return all
}

func (r *Settings) severity(o text.Object, key string) catalog.Value[diag.Severity] {
	return text.OneOf(r.Reader, o, key, diag.SeverityWords(), func(word string) (diag.Severity, bool) {
		severity, err := diag.ParseSeverity(word)
		return severity, err == nil
	})
}

// exceptions reads the patterns of names that a rule leaves alone.
func (r *Settings) exceptions(o text.Object) []glob.Pattern {
	what := "except of " + o.What
	var all []glob.Pattern
	for item, text := range r.Texts(o.Entries["except"], what, "a list") {
		if pattern, ok := r.names.Pattern(text.V, item, "%s in "+what+" is not a pattern: %s"); ok {
			all = append(all, pattern)
		}
	}
	return all
}

// accepted reads `accepted:`. Whether there is a finding of a key shows when two states of the catalogue are compared.
func (r *Settings) accepted(root text.Object) []*catalog.Accepted {
	section, ok := root.Entries["accepted"]
	if !ok {
		return nil
	}
	entries, _ := r.Mapping(section.Value, "accepted")
	var all []*catalog.Accepted
	for _, e := range entries {
		rule, about, _ := strings.Cut(e.Name, " ")
		switch {
		case !slices.Contains(rules.Changes(), rule):
			f := r.Report(r.Place(e.Key), rules.Accepted, "accepted has the key %s, but there is no rule %s", diag.Label(e.Name), diag.Label(rule))
			f.Hint = cmp.Or(diag.DidYouMean(rule, rules.Changes()), keyHint)
			continue
		case strings.TrimSpace(about) == "":
			r.Report(r.Place(e.Key), rules.Accepted, "accepted has the key %s, which names a rule but no finding", diag.Label(e.Name)).Hint = keyHint
			continue
		}
		a := &catalog.Accepted{Key: catalog.Value[string]{V: e.Name, Pos: r.Position(e.Key)}}
		a.Reason = r.Sentence(text.Object{What: "accepted", Entries: map[string]text.Entry{e.Name: e}}, e.Name)
		all = append(all, a)
	}
	return all
}

const keyHint = `copy the key of a finding of "busgen breaking", such as field-added order.placed 1 email`
