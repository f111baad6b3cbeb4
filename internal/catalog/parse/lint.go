package parse

import (
	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
)

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
		pattern, err := glob.Parse(text.V)
		if err != nil {
			r.names.syntaxOf(entry{text.V, item, item}, err, rules.BadGlob, "%s in "+what+" is not a pattern: %s")
			continue
		}
		all = append(all, pattern)
	}
	return all
}
