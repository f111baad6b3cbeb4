package catalog

import (
	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
)

// LintSetting is an entry of `lint:`: what a catalogue says of one rule of
// `busgen lint`.
type LintSetting struct {
	Rule     Value[string]
	Severity Value[diag.Severity] // not written if it stays what it is
	Except   []glob.Pattern
}

// LintRules lists the ids of the rules that `lint:` takes. They are those of
// package lint, in its order.
func LintRules() []string {
	return []string{
		"event-doc", "type-doc", "field-doc", "event-owner", "event-example", "deprecated-subscribed", "deprecated-type", "deprecated-key", "past-tense", "generic-name",
		"secret-field", "float-money", "unused-type", "sample-of-custom", "partition-gap", "flow-correlation",
		"slow-after-unreached", "timeout-beyond-expiry", "attempts-beyond-expiry", "never-retried", "no-jitter", "retry-delays", "one-budget",
	}
}

// LintSeverities lists the words for how bad a finding of `busgen lint` is.
func LintSeverities() []string { return []string{"off", "note", "warning", "error"} }

// lint reads `lint:`. A rule has a severity, or a mapping.
func (r *reader) lint(root object) []*LintSetting {
	section, ok := root.entries["lint"]
	if !ok {
		return nil
	}
	ids := rules.IDs(rules.Of(diag.Lint))
	o, _ := r.object(section.value, "lint", ids...)
	var all []*LintSetting
	for _, id := range ids {
		e, ok := o.entries[id]
		if !ok {
			continue
		}
		s := &LintSetting{Rule: Value[string]{V: id, Pos: r.position(e.key)}}
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

func (r *reader) severity(o object, key string) Value[diag.Severity] {
	return oneOf(r, o, key, diag.SeverityWords(), func(word string) (diag.Severity, bool) {
		severity, err := diag.ParseSeverity(word)
		return severity, err == nil
	})
}

// exceptions reads the patterns of names that a rule leaves alone.
func (r *reader) exceptions(o object) []glob.Pattern {
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
			r.syntaxOf(entry{text.V, item, item}, err, rules.BadGlob, "%s in "+what+" is not a pattern: %s")
			continue
		}
		all = append(all, pattern)
	}
	return all
}
