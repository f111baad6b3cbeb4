package parse

import (
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// className matches error classes: a class must make a Go constant.
var className = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// errorRules reads `errors:`, in file order.
func (r *Settings) errorRules(settings object) []*catalog.ErrorRule {
	e, ok := settings.entries["errors"]
	if !ok {
		return nil
	}
	entries, _ := r.mapping(e.value, "errors of "+settings.what)
	var all []*catalog.ErrorRule
	for _, e := range entries {
		what := "error class " + diag.Label(e.name) + " of " + settings.what
		rule := r.errorRule(e, what)
		if !className.MatchString(e.name) {
			r.report(r.place(e.key), rules.BadName, "%s does not have a valid name", what).
				Hint = "begin with a lower-case letter and go on with lower-case letters, digits and single _ between them, as in card_declined"
			continue
		}
		r.declareClass(rule)
		all = append(all, rule)
	}
	return all
}

func (r *Settings) errorRule(e entry, what string) *catalog.ErrorRule {
	rule := &catalog.ErrorRule{Class: catalog.Value[string]{V: e.name, Pos: r.position(e.key)}, GoName: "Error" + r.names.goName(e.name)}
	rule.Permanent = catalog.Value[bool]{Pos: r.position(e.value)}
	n := e.value
	switch {
	case n.Kind == yaml.MappingNode:
		o, _ := r.object(n, what, "retry")
		if retry, ok := r.required(o, "retry", "write permanent, or retry with what is different for these errors"); ok {
			rule.Retry = r.retry(retry, "retry of "+what)
		}
	case n.ShortTag() == "!!str" && n.Value == catalog.Permanent:
		rule.Permanent.V = true
	case n.ShortTag() == "!!str":
		f := r.report(r.place(n), rules.UnknownValue, "%s is %q, which is not allowed", what, n.Value)
		if f.Hint = diag.DidYouMean(n.Value, []string{catalog.Permanent}); f.Hint == "" {
			f.Hint = "write permanent, or a mapping with retry"
		}
	default:
		r.wrongKind(n, what, "permanent or a mapping")
	}
	return rule
}

// declareClass records a class with the first place that names it.
func (r *Settings) declareClass(rule *catalog.ErrorRule) {
	i := slices.IndexFunc(r.classes, func(c *catalog.ErrorClass) bool { return c.Name.V == rule.Class.V })
	switch {
	case i < 0:
		r.classes = append(r.classes, &catalog.ErrorClass{Name: rule.Class, GoName: rule.GoName})
	case r.compare(rule.Class.Pos, r.classes[i].Name.Pos) < 0:
		r.classes[i].Name.Pos = rule.Class.Pos
	}
}

// errorClasses returns all classes in the order in which they are named.
func (r *Settings) errorClasses() []*catalog.ErrorClass {
	slices.SortFunc(r.classes, func(a, b *catalog.ErrorClass) int { return r.compare(a.Name.Pos, b.Name.Pos) })
	return r.classes
}
